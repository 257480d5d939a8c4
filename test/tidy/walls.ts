/**
 * Who may import whom, as DESIGN lays the layers: each folder with the folders it may look into, by value or for types
 * alone. Knows import statements and no more.
 */
import type { Check } from "./checks.ts";

export interface Import {
  readonly from: string;
  readonly typesOnly: boolean;
}

interface Wall {
  readonly values: readonly string[];
  readonly types?: readonly string[];
}

/** Folders of src. `plugin` and `base` are open to all but each other. */
const WALLS: Readonly<Record<string, Wall>> = {
  plugin: { values: [] },
  base: { values: [], types: ["plugin"] },
  "plugin-guard": { values: ["plugin", "base"] },
  config: { values: ["plugin", "base"] },
  upstream: { values: ["plugin", "base"] },
  state: { values: ["plugin", "base"] },
  record: { values: ["plugin", "base"] },
  "plugins-host": { values: ["plugin", "base"], types: ["config"] },
  // A plugin is tested by the machinery that will run it.
  testing: { values: ["plugin", "base", "upstream", "state", "compile"] },
  compile: {
    values: ["plugin", "base", "plugin-guard", "config", "upstream", "state", "record", "plugins-host"],
  },
  pipeline: { values: ["plugin", "base", "plugin-guard"], types: ["compile", "state"] },
  http: { values: ["plugin", "base"] },
  surfaces: {
    values: ["plugin", "base", "http", "pipeline", "state", "record"],
    types: ["compile", "config"],
  },
  gateway: {
    values: [
      "plugin",
      "base",
      "plugin-guard",
      "config",
      "upstream",
      "state",
      "record",
      "compile",
      "pipeline",
      "http",
      "surfaces",
    ],
  },
  cli: { values: ["plugin", "base", "config", "state", "gateway"] },
};

/** Surfaces know nothing of each other; what they share are files of other names beside them (health is on both listeners). */
const SURFACES = ["chat", "listing", "wrapper", "proxy", "mcp", "control", "admin", "console"];

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
  if (top === "plugins") return ownDoor(from, /^\.\/[a-z0-9-]+\.ts$/);
  if (top === "providers")
    return ownDoor(from, path.startsWith("providers/wire/") ? /^\.\/[a-z0-9-]+\.ts$/ : /^\.\/wire\//);
  if (path.startsWith("examples/plugins/")) return from === "sluice/plugin" || from.startsWith("./");
  if (top !== "src" || !from.startsWith(".")) return true;
  const target = resolved(path, from);
  if (/^(?:plugins|providers)\//.test(target)) return path === "src/compile/builtin.ts";
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
    siblings.test(from) ||
    PURE_BUILTINS.includes(from) ||
    PLUGIN_PACKAGES.includes(from)
  );
}

function betweenSurfaces(path: string, target: string): boolean {
  const surfaceOf = (file: string): string => file.slice(file.lastIndexOf("/") + 1, -".ts".length);
  return SURFACES.includes(surfaceOf(path)) && SURFACES.includes(surfaceOf(target));
}

function resolved(path: string, from: string): string {
  return new URL(from, `file:///${path}`).pathname.slice(1);
}
