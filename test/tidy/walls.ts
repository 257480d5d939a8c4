/**
 * Who may import whom, as DESIGN lays the layers: each folder with the folders it may look into, by value or for types
 * alone. Knows import statements and no more.
 */
import type { Check, SourceFile } from "./checks.ts";

export interface Import {
  readonly from: string;
  readonly typesOnly: boolean;
}

interface Wall {
  readonly values: readonly string[];
  readonly types?: readonly string[];
}

/** The public packages and what needs nothing else: open to every folder. */
const PUBLIC = ["plugin", "provider-kit", "base"];

/** Folders of src. Files at its root (main, index) put the rest together. */
const WALLS: Readonly<Record<string, Wall>> = {
  plugin: { values: [] },
  "provider-kit": { values: ["plugin"] },
  base: { values: [], types: ["plugin"] },
  "plugin-guard": { values: PUBLIC },
  config: { values: PUBLIC },
  net: { values: PUBLIC },
  state: { values: PUBLIC },
  telemetry: { values: PUBLIC },
  audit: { values: PUBLIC },
  webhooks: { values: [...PUBLIC, "net", "audit"], types: ["telemetry"] },
  upstream: { values: [...PUBLIC, "net"] },
  guardrails: { values: PUBLIC, types: ["config"] },
  "plugins-host": {
    values: [...PUBLIC, "plugin-guard", "config", "state"],
    types: ["audit", "net"],
  },
  compile: {
    values: [...PUBLIC, "plugin-guard", "config", "net", "upstream", "guardrails", "plugins-host"],
  },
  // A plugin is tested by the machinery that will run it.
  testing: { values: [...PUBLIC, "net", "state", "guardrails", "plugins-host", "plugin-guard", "upstream"] },
  pipeline: { values: [...PUBLIC, "plugin-guard"], types: ["compile", "state"] },
  http: { values: PUBLIC },
  surfaces: {
    values: [...PUBLIC, "http", "pipeline", "state", "audit", "history"],
    types: ["compile", "config", "plan", "webhooks", "telemetry"],
  },
  gateway: {
    values: [
      ...PUBLIC,
      ...["plugin-guard", "config", "net", "upstream", "state", "telemetry", "audit", "webhooks"],
      ...["guardrails", "plugins-host", "compile", "pipeline", "http", "surfaces", "history", "plan"],
    ],
  },
  plan: { values: [...PUBLIC, "config"] },
  history: { values: PUBLIC, types: ["pipeline"] },
  offline: {
    values: [
      ...PUBLIC,
      ...["config", "net", "upstream", "state", "audit", "plugins-host", "compile", "pipeline", "http"],
      ...["surfaces", "gateway"],
    ],
  },
  "config-tests": { values: [...PUBLIC, "config", "offline", "gateway"] },
  cli: { values: [...PUBLIC, "config", "config-tests", "net", "plan", "state", "gateway", "offline"] },
};

/** Each folder of surfaces/ is a surface, and imports no other one, except the folders of what several share. */
const SHARED_BY_SURFACES = ["jsonrpc"];

/** The stages that the gateway consists of: they may write to the call. */
const CORE_STAGES = /^plugins\/(?:authenticate|prepare|call)\//;
const CORE_EXCHANGE = "../../src/plugin/exchange.ts";

/** What plugins and providers get from the host, and may not take for themselves. */
const REACHING =
  /\bprocess\.env\b|\bDate\.now\b|\bMath\.random\b|\bperformance\.now\b|\bnew Date\(\)|(?<!\bhost\.)\bfetch\(/;
const PURE_BUILTINS = ["node:crypto", "node:buffer", "node:module"];
const PLUGIN_PACKAGES = [
  "libphonenumber-js",
  "libphonenumber-js/min",
  "libphonenumber-js/max",
  "libphonenumber-js/mobile",
  "re2js",
];

const STATEMENT = /^(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"/gm;
const DYNAMIC = /\bimport\(\s*"([^"]+)"/g;

export function importsOf(text: string): Import[] {
  const still = [...text.matchAll(STATEMENT)].map(([, type, from = ""]) => ({
    from,
    typesOnly: type !== undefined,
  }));
  const later = [...text.matchAll(DYNAMIC)].map(([, from = ""]) => ({ from, typesOnly: false }));
  return [...still, ...later];
}

export const importWalls: Check = ({ path, text }) => {
  const imports = importsOf(text);
  const refused = imports
    .filter((one) => !mayImport(path, one))
    .map(({ from }) => `${path} may not import ${from}.`);
  const outside =
    /^(?:plugins|providers)\//.test(path) && REACHING.test(text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ""));
  return outside ? [...refused, `${path} takes for itself what the host gives.`] : refused;
};

function mayImport(path: string, { from, typesOnly }: Import): boolean {
  const [top = "", folder = ""] = path.split("/");
  if (from === CORE_EXCHANGE && CORE_STAGES.test(path)) return typesOnly;
  if (top === "plugins") return ownDoor(from, /^\.\/[a-z0-9-]+\.ts$|^\.\.\/text\/[a-z0-9-]+\.ts$/);
  if (top === "providers")
    return ownDoor(from, path.startsWith("providers/wire/") ? /^\.\/[a-z0-9-]+\.ts$/ : /^\.\/wire\//);
  if (path.startsWith("examples/plugins/"))
    return /^sluice\/(?:plugin|provider)$/.test(from) || from.startsWith("./");
  if (top !== "src" || !from.startsWith(".")) return true;
  const target = resolved(path, from);
  if (/^(?:plugins|providers)\//.test(target)) return path === "src/plugins-host/builtin.ts";
  const [, into = ""] = target.split("/");
  const wall = WALLS[folder];
  // Files at the root of src (main, index) put the rest together.
  if (wall === undefined) return true;
  if (into === folder) return folder !== "surfaces" || !betweenSurfaces(path, target);
  return wall.values.includes(into) || (typesOnly && (wall.types?.includes(into) ?? false));
}

function ownDoor(from: string, siblings: RegExp): boolean {
  return (
    from === "sluice/plugin" ||
    from === "sluice/provider" ||
    siblings.test(from) ||
    PURE_BUILTINS.includes(from) ||
    PLUGIN_PACKAGES.includes(from)
  );
}

function betweenSurfaces(path: string, target: string): boolean {
  const surfaceOf = (file: string): string => {
    const [, , folder = "", ...rest] = file.split("/");
    return rest.length === 0 || SHARED_BY_SURFACES.includes(folder) ? "" : folder;
  };
  const from = surfaceOf(path);
  const to = surfaceOf(target);
  return from !== "" && to !== "" && from !== to;
}

function resolved(path: string, from: string): string {
  return new URL(from, `file:///${path}`).pathname.slice(1);
}

/** Cycles that are still to be removed. The test fails when one is removed and still listed, or when a new one appears. */
export const KNOWN_CYCLES: readonly (readonly string[])[] = [];

/**
 * Groups of files that import each other, directly or through others, imports of types included: the strongly connected
 * components of the import graph (Tarjan), each sorted.
 */
export function importCycles(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const graph = new Map(
    files.map(({ path, text }) => [
      path,
      importsOf(text).flatMap(({ from }) => (from.startsWith(".") ? [resolved(path, from)] : [])),
    ]),
  );
  const order = new Map<string, number>();
  const open: string[] = [];
  const cycles: string[][] = [];
  const visit = (path: string): number => {
    const at = order.size;
    order.set(path, at);
    open.push(path);
    let low = at;
    for (const next of graph.get(path) ?? []) {
      if (!graph.has(next)) continue;
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (open.includes(next)) low = Math.min(low, order.get(next) ?? low);
    }
    if (low === at) {
      const group = open.splice(open.indexOf(path));
      if (group.length > 1 || graph.get(path)?.includes(path)) cycles.push(group.sort());
    }
    return low;
  };
  for (const path of graph.keys()) if (!order.has(path)) visit(path);
  return cycles.sort(([a = ""], [b = ""]) => a.localeCompare(b));
}
