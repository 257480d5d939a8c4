/**
 * Which plugins there are: the built-in ones and those that the config's `plugins:` modules export. Loads modules,
 * checks what they export, and keeps each loaded version, so that an unchanged module is never loaded twice.
 */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { LRUCache } from "lru-cache";
import type { PluginModule } from "../config/model.ts";
import type {
  GuardrailPlugin,
  JsonSchema,
  Plugin,
  ProviderPlugin,
  Refusal,
  StagePlugin,
  StorePlugin,
} from "../plugin/index.ts";
import { STAGES } from "../plugin/index.ts";
import { refusalsOf } from "../plugin/settings.ts";
import { BUILT_IN } from "./builtin.ts";
import { offerDoor } from "./door.ts";

/** Plugin modules kept in memory, newest use first. Node never unloads a module; this bounds our own part of it. */
const MODULES_MAX = 1000;
const loaded = new LRUCache<string, readonly Plugin[]>({ max: MODULES_MAX });

export interface LoadFailure {
  readonly module: PluginModule;
  readonly message: string;
}

/** All plugins of one configuration, by kind and name. */
export class Registry {
  readonly stages = new Map<string, StagePlugin<never>>();
  readonly guardrails = new Map<string, GuardrailPlugin<never>>();
  readonly providers = new Map<string, ProviderPlugin<never>>();
  readonly stores = new Map<string, StorePlugin<never>>();
  readonly failures: LoadFailure[] = [];

  constructor(plugins: readonly Plugin[]) {
    for (const plugin of plugins) this.#add(plugin);
  }

  /** For config checks: what is known of a plugin by its kind and name. */
  find(kind: string, name: string): PluginFacts | undefined {
    const plugin = this.#ofKind(kind)?.get(name);
    if (plugin === undefined) return undefined;
    const { schema } = plugin;
    if (plugin.kind !== "provider") return { schema };
    return {
      schema,
      needsApiKey: plugin.needsApiKey,
      hasBaseUrl: plugin.defaultBaseUrl !== undefined,
      // The options are a configuration's, in whatever state they are; whoever asks is ready for a throw.
      refusals: (options) => refusalsOf(plugin, options as never),
    };
  }

  /** Names that a config may use. The built-in stages stand by themselves and are not among them. */
  names(kind: string): readonly string[] {
    const own = kind === "stage" ? BUILT_IN_STAGES : undefined;
    return [...(this.#ofKind(kind)?.keys() ?? [])].filter((name) => !own?.has(name));
  }

  /** Adds what a module exports, or notes why it cannot. */
  addModule(module: PluginModule, plugins: readonly Plugin[]): void {
    for (const plugin of plugins) {
      if (this.#ofKind(plugin.kind)?.has(plugin.name)) {
        this.failures.push({ module, message: `there is a ${plugin.kind} named '${plugin.name}' already` });
      } else {
        this.#add(plugin);
      }
    }
  }

  #add(plugin: Plugin): void {
    if (plugin.kind === "stage") this.stages.set(plugin.name, plugin);
    else if (plugin.kind === "guardrail") this.guardrails.set(plugin.name, plugin);
    else if (plugin.kind === "provider") this.providers.set(plugin.name, plugin);
    else this.stores.set(plugin.name, plugin);
  }

  #ofKind(kind: string): ReadonlyMap<string, Plugin> | undefined {
    if (kind === "stage") return this.stages;
    if (kind === "guardrail") return this.guardrails;
    if (kind === "provider") return this.providers;
    return kind === "store" ? this.stores : undefined;
  }
}

export interface PluginFacts {
  readonly schema: JsonSchema;
  readonly needsApiKey?: boolean;
  readonly hasBaseUrl?: boolean;
  readonly refusals?: (options: object) => readonly Refusal[];
}

const BUILT_IN_STAGES: ReadonlySet<string> = new Set(
  BUILT_IN.filter((plugin) => plugin.kind === "stage").map((plugin) => plugin.name),
);

/** Loads the modules and returns all plugins. Modules that fail are in `failures`; the rest is usable. */
export async function loadRegistry(modules: readonly PluginModule[]): Promise<Registry> {
  const registry = new Registry(BUILT_IN);
  for (const module of modules) {
    try {
      registry.addModule(module, await loadModule(module));
    } catch (thrown) {
      registry.failures.push({
        module,
        message: thrown instanceof Error ? firstLine(thrown) : String(thrown),
      });
    }
  }
  return registry;
}

function firstLine(error: Error): string {
  return error.message.split("\n", 1)[0] ?? error.name;
}

async function loadModule(module: PluginModule): Promise<readonly Plugin[]> {
  const key = `${module.from}\n${module.specifier}\n${module.version}`;
  const known = loaded.get(key);
  if (known !== undefined) return known;
  offerDoor();
  const plugins = checkExports(await importModule(module));
  loaded.set(key, plugins);
  return plugins;
}

async function importModule(module: PluginModule): Promise<unknown> {
  const isFile = /^(?:\/|[A-Za-z]:\\)/.test(module.specifier);
  const file = isFile
    ? module.specifier
    : createRequire(pathToFileURL(`${module.from}/`)).resolve(module.specifier);
  const url = pathToFileURL(file).href;
  // Run from its sources (tests), the gateway leaves JavaScript to tsx as well: only one loader can have a thread's hooks.
  if (/\.[cm]?ts$/.test(file) || import.meta.url.endsWith(".ts")) {
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
    const fault = faultOf(plugin);
    if (fault !== undefined) throw new Error(`its default export is not a plugin: ${fault}`);
  }
  // Checked field by field just above.
  return list as readonly Plugin[];
}

const KINDS: readonly Plugin["kind"][] = ["stage", "guardrail", "provider", "store"];

function faultOf(plugin: unknown): string | undefined {
  const kind = property(plugin, "kind");
  if (property(plugin, "api") !== 1)
    return "make it with definePlugin, defineGuardrail, defineProvider or defineStore";
  if (!KINDS.some((known) => known === kind)) return `unknown kind '${String(kind)}'`;
  if (typeof property(plugin, "name") !== "string") return "it has no name";
  if (typeof property(plugin, "setup") !== "function") return "it has no setup function";
  const schema = property(plugin, "schema");
  if (typeof schema !== "object" && typeof schema !== "boolean") return "it has no schema";
  const stage = property(plugin, "stage");
  if (kind === "stage" && !STAGES.some((known) => known === stage)) {
    return `unknown stage '${String(stage)}'; stages are ${STAGES.join(", ")}`;
  }
  return undefined;
}

function property(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Reflect.get(value, key);
}
