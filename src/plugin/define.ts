/**
 * Makers of plugins. The types of options follow from the plugin's schema, and the defaults of the schema are filled in
 * before the plugin sees options.
 */
import type { JsonSchema } from "./chat.ts";
import type { ConfigKeys, GuardrailPlugin, ProviderPlugin, StagePlugin, StorePlugin } from "./contract.ts";
import { fill, hasDefaults } from "./schema-defaults.ts";
import type { GivenOf, KeyValues, ValueOf } from "./schema-type.ts";

/** What an author writes of a plugin; `api` and `kind` are added. */
type Written<P> = Omit<P, "api" | "kind">;

/** The same with a schema whose constants are kept in its type. */
type WithSchema<P, S> = Omit<P, "api" | "kind" | "schema"> & { readonly schema: S };

type NoKeys = Readonly<Record<never, never>>;

/**
 * Makes a stage plugin. `setup` is handed options of the type that `schema` describes, with its defaults; the values of
 * `endpointKeys` are among them.
 * @since 0.1.0
 */
export function definePlugin<const S extends JsonSchema, const K extends ConfigKeys = NoKeys>(
  plugin: WithSchema<Omit<StagePlugin<ValueOf<S> & KeyValues<K>>, "endpointKeys">, S> & {
    readonly endpointKeys?: K;
  },
): StagePlugin<GivenOf<S>>;
/** Makes a stage plugin with options of a type of its own. */
export function definePlugin<C>(plugin: Written<StagePlugin<C>>): StagePlugin<C>;
export function definePlugin(plugin: Written<StagePlugin<never>>): StagePlugin<never> {
  return { api: 1, kind: "stage", ...plugin, ...withDefaults(plugin) };
}

/**
 * Makes a provider plugin. `setup` is handed options of the type that `schema` describes, with its defaults.
 * @since 0.1.0
 */
export function defineProvider<const S extends JsonSchema>(
  plugin: WithSchema<ProviderPlugin<ValueOf<S>>, S>,
): ProviderPlugin<GivenOf<S>>;
/** Makes a provider plugin with options of a type of its own. */
export function defineProvider<C>(plugin: Written<ProviderPlugin<C>>): ProviderPlugin<C>;
export function defineProvider(plugin: Written<ProviderPlugin<never>>): ProviderPlugin<never> {
  const { constraints } = plugin;
  const made: ProviderPlugin<never> = { api: 1, kind: "provider", ...plugin, ...withDefaults(plugin) };
  if (typeof constraints !== "function") return made;
  const filled = filling(plugin.schema);
  return { ...made, constraints: (options) => constraints(filled(options)) };
}

/**
 * Makes a guardrail. `setup` is handed options of the type that `schema` describes, with its defaults.
 * @since 0.1.0
 */
export function defineGuardrail<const S extends JsonSchema>(
  plugin: WithSchema<GuardrailPlugin<ValueOf<S>>, S>,
): GuardrailPlugin<GivenOf<S>>;
/** Makes a guardrail with options of a type of its own. */
export function defineGuardrail<C>(plugin: Written<GuardrailPlugin<C>>): GuardrailPlugin<C>;
export function defineGuardrail(plugin: Written<GuardrailPlugin<never>>): GuardrailPlugin<never> {
  const filled = filling(plugin.schema);
  return {
    ...{ api: 1, kind: "guardrail", ...plugin, ...withDefaults(plugin) },
    ...(plugin.buffersStream && {
      buffersStream: (options) => plugin.buffersStream?.(filled(options)) ?? false,
    }),
    ...(plugin.validateOptions && {
      validateOptions: (options, use) => plugin.validateOptions?.(filled(options), use) ?? [],
    }),
  };
}

/**
 * Makes a store. `setup` is handed options of the type that `schema` describes, with its defaults.
 * @since 0.1.0
 */
export function defineStore<const S extends JsonSchema, const K extends ConfigKeys = NoKeys>(
  plugin: WithSchema<Omit<StorePlugin<ValueOf<S> & KeyValues<K>>, "stateKeys">, S> & {
    readonly stateKeys?: K;
  },
): StorePlugin<GivenOf<S>>;
/** Makes a store with options of a type of its own. */
export function defineStore<C>(plugin: Written<StorePlugin<C>>): StorePlugin<C>;
export function defineStore(plugin: Written<StorePlugin<never>>): StorePlugin<never> {
  return { api: 1, kind: "store", ...plugin, ...withDefaults(plugin) };
}

interface SetUp<H, T> {
  readonly schema: JsonSchema;
  setup(options: never, host: H): T;
}

/** `setup` with the options filled in: the gateway does it once more, at load, and tests need not. */
function withDefaults<H, T>(plugin: SetUp<H, T>): Pick<SetUp<H, T>, "setup"> {
  // Its absence in JavaScript is reported at load.
  if (typeof plugin.setup !== "function") return plugin;
  const filled = filling(plugin.schema);
  return { setup: (options, host) => plugin.setup(filled(options), host) };
}

function filling(schema: JsonSchema): (options: never) => never {
  if (typeof schema !== "object" || !hasDefaults(schema)) return (options) => options;
  // What `fill` makes of options that the schema accepts is what the types above stand for.
  return (options) => fill(schema, options) as never;
}
