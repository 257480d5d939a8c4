/**
 * Fills in what a configuration leaves out: first `endpoint_defaults`, then the defaults of the schema. The filled tree
 * is a copy that still knows where each value came from.
 */
import { fill } from "../../plugin/schema-defaults.ts";
import type { ValueOf } from "../../plugin/schema-type.ts";
import { isPlainMap, type Key, type PlainMap, type Spot, type Tree } from "../read/tree.ts";
import { declaredBy, type FilledConfig, type StageKeys, withKeys } from "./config.ts";
import { endpointDefaults } from "./endpoint.ts";
import type { SchemaNode } from "./keywords.ts";

/** What an endpoint chooses its model with: a template, or these. Choosing one way sets the other's default aside. */
const MANUAL_CHOICE = ["provider", "model", "credential"];

type EndpointDefaults = ValueOf<typeof endpointDefaults>;
const defaultsWith = new WeakMap<readonly StageKeys[], EndpointDefaults>();

/** An endpoint that sets nothing, with the keys of these stages: what aliases have for the keys that they lack. */
export function endpointDefaultsWith(stages: readonly StageKeys[]): EndpointDefaults {
  let defaults = defaultsWith.get(stages);
  if (defaults === undefined) {
    const schema = withKeys(endpointDefaults, declaredBy(stages));
    defaults = fill(schema, {}) as EndpointDefaults; // `fill` of a map is a map.
    defaultsWith.set(stages, defaults);
  }
  return defaults;
}

/** `schema`: of the whole configuration, with the keys of stages. */
export function fillDefaults(root: PlainMap, schema: SchemaNode, tree: Tree): FilledConfig {
  const { projects } = root;
  const { endpoint_defaults: inheritable } = schema.properties?.["projects"]?.items?.properties ?? {};
  const keys = Object.keys(inheritable?.properties ?? {});
  if (Array.isArray(projects)) {
    const parent = { container: root, key: "projects", parent: undefined };
    for (const [key, project] of projects.entries()) {
      if (isPlainMap(project)) inherit(project, { container: projects, key, parent }, keys, tree);
    }
  }
  // The tree was repaired to match the schema, and the schema's defaults match it too: a test holds them to it.
  return fill(schema, root, (copy, base) => tree.derived(copy, base)) as FilledConfig;
}

/** Puts the project's `endpoint_defaults` under its endpoints, in place. */
function inherit(project: PlainMap, projectSpot: Spot, keys: readonly string[], tree: Tree): void {
  const { endpoint_defaults: defaults, endpoints } = project;
  if (!isPlainMap(defaults) || !Array.isArray(endpoints)) return;
  const parent: Spot = { container: project, key: "endpoint_defaults", parent: projectSpot };
  const items = endpoints.map((endpoint) =>
    isPlainMap(endpoint) ? layUnder(endpoint, { defaults, keys, parent }, tree) : endpoint,
  );
  tree.derived(items, endpoints);
  project["endpoints"] = items;
}

interface Inheritance {
  readonly defaults: PlainMap;
  /** All keys that can be inherited. */
  readonly keys: readonly string[];
  readonly parent: Spot;
}

function layUnder(endpoint: PlainMap, { defaults, keys, parent }: Inheritance, tree: Tree): PlainMap {
  const whole: PlainMap = { ...endpoint };
  const moved = new Map<Key, Spot>();
  const isGiven = (map: PlainMap, key: string) => Object.hasOwn(map, key) || tree.isFaulty(map, key);
  const isTemplated = isGiven(endpoint, "provider_template") && endpoint["provider_template"] !== null;
  const isManual = MANUAL_CHOICE.some((key) => isGiven(endpoint, key));
  for (const key of keys) {
    if (isGiven(endpoint, key) || !isGiven(defaults, key)) continue;
    if (isTemplated && MANUAL_CHOICE.includes(key)) continue;
    if (isManual && key === "provider_template") continue;
    if (Object.hasOwn(defaults, key)) whole[key] = defaults[key];
    moved.set(key, { container: defaults, key, parent });
  }
  tree.derived(whole, endpoint, moved);
  return whole;
}
