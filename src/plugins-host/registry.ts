/**
 * Which plugins there are: the built-in ones and those that the config's `plugins:` modules export, by kind and name.
 */
import type { PluginModule, SourcePlace } from "../config/model.ts";
import type { KnownPlugin } from "../config/plugins.ts";
import type {
  GuardrailPlugin,
  Plugin,
  ProviderPlugin,
  StagePlugin,
  StorePlugin,
} from "../plugin/contract.ts";
import { constraintsOf } from "../plugin/settings.ts";
import { BUILT_IN } from "./builtin.ts";
import { loadModule } from "./plugin-module.ts";
import { syntaxErrorOf } from "./plugin-syntax.ts";

export interface LoadFailure {
  readonly module: PluginModule;
  readonly message: string;
  /** Where in the module's files, when its code does not parse. */
  readonly at?: SourcePlace;
}

/** All plugins of one configuration, by kind and name. */
export class Registry {
  readonly stages = new Map<string, StagePlugin<never>>();
  readonly guardrails = new Map<string, GuardrailPlugin<never>>();
  readonly providers = new Map<string, ProviderPlugin<never>>();
  readonly stores = new Map<string, StorePlugin<never>>();
  readonly failures: LoadFailure[] = [];
  /** The built-in stages of endpoints, which name the keys that they read. */
  readonly stageKeys = ENDPOINT_STAGES;
  readonly #modules = new Map<Plugin, PluginModule>();

  constructor(plugins: readonly Plugin[]) {
    for (const plugin of plugins) this.#add(plugin);
  }

  /** For config checks: what is known of a plugin by its kind and name. */
  find(kind: string, name: string): KnownPlugin | undefined {
    const plugin = this.#ofKind(kind)?.get(name);
    if (plugin === undefined) return undefined;
    const { schema } = plugin;
    if (plugin.kind === "guardrail") {
      return {
        schema,
        // See `constraints`.
        buffersStream: (options) => plugin.buffersStream?.(options as never) ?? false,
        validateOptions: (options, place) => plugin.validateOptions?.(options as never, place) ?? [],
        ...(plugin.strength === undefined ? {} : { strength: plugin.strength }),
      };
    }
    if (plugin.kind !== "provider") return { schema };
    return {
      schema,
      needsApiKey: plugin.needsApiKey,
      hasBaseUrl: plugin.defaultBaseUrl !== undefined,
      defaultBaseUrl: plugin.defaultBaseUrl,
      // The options are not validated yet; the caller handles exceptions.
      constraints: (options) => constraintsOf(plugin, options as never),
    };
  }

  /** Names that a config may use. Built-in stages are not among them. */
  names(kind: string): readonly string[] {
    const own = kind === "stage" ? BUILT_IN_STAGES : undefined;
    return [...(this.#ofKind(kind)?.keys() ?? [])].filter((name) => !own?.has(name));
  }

  /** Adds what a module exports, or notes why it cannot. */
  addModule(module: PluginModule, plugins: readonly Plugin[]): void {
    for (const plugin of plugins) {
      if (this.#ofKind(plugin.kind)?.has(plugin.name)) {
        this.failures.push({ module, message: `there is a ${plugin.kind} named '${plugin.name}' already` });
      } else if (plugin.kind === "stage" && plugin.endpointKeys !== undefined) {
        const message = `stage '${plugin.name}' has endpointKeys, which only built-in stages may have: use its options`;
        this.failures.push({ module, message });
      } else if (plugin.kind === "store" && plugin.stateKeys !== undefined) {
        const message = `store '${plugin.name}' has stateKeys, which only built-in stores may have: use its options`;
        this.failures.push({ module, message });
      } else {
        this.#add(plugin);
        this.#modules.set(plugin, module);
      }
    }
  }

  /** The module that a plugin came from; undefined: it is built in. */
  moduleOf(plugin: Plugin): PluginModule | undefined {
    return this.#modules.get(plugin);
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

const ENDPOINT_STAGES: readonly StagePlugin<never>[] = BUILT_IN.flatMap((plugin) =>
  plugin.kind === "stage" && plugin.endpointKeys !== undefined ? [plugin] : [],
);

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
      const message = thrown instanceof Error ? firstLine(thrown) : String(thrown);
      registry.failures.push({ module, message, ...syntaxErrorOf(thrown) });
    }
  }
  return registry;
}

function firstLine(error: Error): string {
  return error.message.split("\n", 1)[0] ?? error.name;
}
