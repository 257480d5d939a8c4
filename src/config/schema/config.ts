/** The schema of a whole configuration: it validates YAML, is printed for editors, and is the reference in the docs. */

import type { ConfigKeys } from "../../plugin/contract.ts";
import type { FilledOf } from "../../plugin/schema-type.ts";
import {
  admin,
  calls,
  controlPlane,
  log,
  network,
  plugins,
  providers,
  reload,
  server,
  state,
  telemetry,
} from "./gateway.ts";
import { includes, integer, list, type SchemaNode, section } from "./keywords.ts";
import { prices } from "./prices.ts";
import { project } from "./project.ts";

export const configSchema = section(
  "Configuration of a Sluice gateway.",
  {
    version: { ...integer("Layout of this file.", 1, 1, { examples: [1] }), enum: [1] } as const,
    include: includes("Files that are parts of this configuration.", "conf.d/*.yaml"),
    server,
    admin,
    state,
    reload,
    log,
    calls,
    telemetry,
    network,
    plugins,
    providers,
    prices,
    control_plane: controlPlane,
    projects: list("Projects.", project, { maxItems: 10_000 }),
  },
  { required: ["version", "projects"] },
);

export type ConfigSchema = typeof configSchema;

/**
 * A configuration that has passed its schema and has its defaults, in the YAML's own values: amounts are numbers or
 * texts, references are names. `undefined`: required, and its absence reported.
 */
export type FilledConfig = FilledOf<ConfigSchema>;

/** Keys that a stage reads; those with a description are its own. See `StagePlugin`. */
export interface StageKeys {
  readonly endpointKeys?: ConfigKeys;
  readonly areAliasKeys?: boolean;
}

const whole = new WeakMap<readonly StageKeys[], SchemaNode>();

/** The schema with the keys that stages declare. The same list of stages gives the same object. */
export function schemaWith(stages: readonly StageKeys[]): SchemaNode {
  let schema = whole.get(stages);
  if (schema === undefined) whole.set(stages, (schema = composed(stages)));
  return schema;
}

function composed(stages: readonly StageKeys[]): SchemaNode {
  const ofEndpoints = declaredBy(stages);
  const ofAliases = declaredBy(stages.filter(({ areAliasKeys }) => areAliasKeys));
  const { endpoint_defaults, endpoints, aliases } = project.properties;
  return withKeys(configSchema, {
    projects: {
      ...configSchema.properties.projects,
      items: withKeys(project, {
        endpoint_defaults: withKeys(endpoint_defaults, ofEndpoints),
        endpoints: { ...endpoints, items: withKeys(endpoints.items, ofEndpoints) },
        aliases: { ...aliases, items: withKeys(aliases.items, ofAliases) },
      }),
    },
  });
}

/** A section with more keys, or others. */
export function withKeys(section: SchemaNode, keys: Readonly<Record<string, SchemaNode>>): SchemaNode {
  return { ...section, properties: { ...section.properties, ...keys } };
}

/** The keys that are the stages' own. */
export function declaredBy(stages: readonly StageKeys[]): Readonly<Record<string, SchemaNode>> {
  const keys = stages.flatMap(({ endpointKeys = {} }) => Object.entries(endpointKeys));
  return Object.fromEntries(keys.filter(([, schema]) => "description" in schema));
}
