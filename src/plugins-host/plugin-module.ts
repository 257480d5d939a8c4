/**
 * Loads the modules that the config's `plugins:` names, and checks what they export. Keeps each loaded version, so that
 * an unchanged module is never loaded twice. Runs in the gateway and in the processes of isolated guardrails.
 */
import { readFileSync, statSync } from "node:fs";
import Module, { createRequire, register } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { LRUCache } from "lru-cache";
import type { PluginModule } from "../config/model.ts";
import { pluginFiles } from "../config/read/plugin-files.ts";
import type { Plugin } from "../plugin/contract.ts";
import { pluginFault } from "./plugin-shape.ts";

/**
 * Plugin modules kept in memory, most recently used first. Node never unloads a module: each changed version of a plugin
 * costs about 90 KB until the next restart (docs: plugins/README.md). This bounds our own part of it.
 */
const MODULES_MAX = 1000;
const loaded = new LRUCache<string, readonly Plugin[]>({ max: MODULES_MAX });

/** What a module exports. Rejects with a message for its author. */
export async function loadModule(module: PluginModule): Promise<readonly Plugin[]> {
  const key = `${module.from}\n${module.specifier}\n${module.version}`;
  const known = loaded.get(key);
  if (known !== undefined) return known;
  registerPluginResolver();
  forgetCommonJs(module);
  const plugins = checkExports(await importModule(module));
  if (isChanged(module)) throw new Error("its files changed while it was loaded");
  loaded.set(key, plugins);
  return plugins;
}

/** Node reads the files itself, later than the configuration was read: a version must be that of what was imported. */
function isChanged({ specifier, version, files }: PluginModule): boolean {
  if (files.length === 0) return false;
  const read = (path: string): string | undefined => {
    try {
      return decoder.decode(readFileSync(path));
    } catch {
      return undefined;
    }
  };
  const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  return pluginFiles(specifier, { read, isFile }).version !== version;
}

/** CommonJS modules are kept by their path alone: the helpers of before would be used with the module of now. */
function forgetCommonJs({ files }: PluginModule): void {
  const own = new Set(files);
  const { cache } = createRequire(import.meta.url);
  // tsx adds a query to the paths.
  for (const key of Object.keys(cache)) if (own.has(key.split("?", 1)[0] ?? "")) delete cache[key];
}

/** Like the configuration's files: a byte order mark is not part of the text. */
const decoder = new TextDecoder();

async function importModule(module: PluginModule): Promise<unknown> {
  const isFile = /^(?:\/|[A-Za-z]:\\)/.test(module.specifier);
  const file = isFile
    ? module.specifier
    : createRequire(pathToFileURL(`${module.from}/`)).resolve(module.specifier);
  const url = pathToFileURL(file).href;
  // Run from its sources (tests), the gateway leaves JavaScript to tsx as well: only one loader can have a thread's hooks.
  // So it does with modules of several files: tsx loads each of them anew, Node would keep the helpers of before.
  const isOfMany = module.files.length > 1;
  if (/\.[cm]?ts$/.test(file) || isOfMany || import.meta.url.endsWith(".ts")) {
    const { tsImport } = await import("tsx/esm/api");
    return tsImport(url, { parentURL: import.meta.url });
  }
  // The version in the query makes a changed file a new module: ESM has no other way to load one again.
  return import(`${url}?version=${module.version}`);
}

/** A default export made with a define function, or an array of them. Throws with a message for the module's author. */
function checkExports(module: unknown): readonly Plugin[] {
  let exported = property(module, "default");
  // tsx hands a CommonJS module out as the default of the default.
  if (property(exported, "default") !== undefined) exported = property(exported, "default");
  if (exported === undefined)
    throw new Error("it has no default export; export a plugin, or an array of them");
  const list: readonly unknown[] = Array.isArray(exported) ? exported : [exported];
  for (const plugin of list) {
    const fault = pluginFault(plugin);
    if (fault !== undefined) throw new Error(`its default export is not a plugin: ${fault}`);
  }
  // Checked field by field just above.
  return list as readonly Plugin[];
}

function property(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Reflect.get(value, key);
}

const OFFERED = ["sluice/plugin", "sluice/provider", "sluice/testing"];
let offered = false;

/** Registers the resolvers once per thread, when the first plugin is loaded. */
function registerPluginResolver(): void {
  if (offered) return;
  offered = true;
  const packages = new Map(OFFERED.map((name) => [name, import.meta.resolve(name)]));
  offerToImport(packages);
  offerToRequire(packages);
}

function offerToImport(packages: ReadonlyMap<string, string>): void {
  const source = `const packages = new Map(${JSON.stringify([...packages])});
export function resolve(specifier, context, next) {
  const url = packages.get(specifier);
  return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
}`;
  register(`data:text/javascript,${encodeURIComponent(source)}`);
}

/** A TypeScript file in a folder without `"type": "module"` is loaded as CommonJS, which import hooks do not see. */
function offerToRequire(packages: ReadonlyMap<string, string>): void {
  const original: unknown = Reflect.get(Module, "_resolveFilename");
  if (typeof original !== "function") return;
  Reflect.set(
    Module,
    "_resolveFilename",
    function resolve(this: unknown, ...args: readonly unknown[]): unknown {
      // tsx adds a query to what it resolves.
      const url = packages.get(String(args[0]).split("?", 1)[0] ?? "");
      return url === undefined ? Reflect.apply(original, this, args) : fileURLToPath(url);
    },
  );
}
