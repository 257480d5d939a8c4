/** Configurations and single changes of them, from a seed: every key of the schema, with values that the checks accept. */
import { schemaWith } from "../../src/config/schema/config.ts";
import type { SchemaNode } from "../../src/config/schema/keywords.ts";
import { Registry } from "../../src/plugins-host/registry.ts";
import { seededFraction } from "../state/seeded.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonMap = { [key: string]: Json };

const schema = schemaWith(new Registry([]).stageKeys);
const { projects } = schema.properties ?? {};
const projectSchema: SchemaNode = projects?.items ?? {};

/** Draws from a seed. */
export class Random {
  readonly #next: () => number;
  constructor(seed: number) {
    this.#next = seededFraction(seed);
  }
  chance(share: number): boolean {
    return this.#next() < share;
  }
  below(count: number): number {
    return Math.floor(this.#next() * count);
  }
  of<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error("nothing to choose from");
    return items[this.below(items.length)] as T; // An index of the list.
  }
  some<T>(items: readonly T[], least = 0): T[] {
    const chosen = items.filter(() => this.chance(0.5));
    return chosen.length < least ? items.slice(0, least) : chosen;
  }
}

const HASHES = [..."abcdef0123"].map((digit) => `sha256:${digit.repeat(64)}`);
const MOMENTS = ["2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"];
const URLS = ["https://a.example/x", "https://b.example/y", "https://a.example/z", "https://${env:HOST}/x"];
const MODELS = ["gpt-5-mini", "gpt-5", "gpt-5-nano", "unheard-of"];
const WORDS = ["red", "green", "blue"];
const DESCRIBED = ["", "Be brief.", "Be friendly."];

/** Keys whose values are no free choice: what they may be. */
const POOLS: Readonly<Record<string, readonly Json[]>> = {
  hash: HASHES,
  metrics_token: [null, ...HASHES],
  expires_at: [null, ...MOMENTS],
  base_url: [null, ...URLS],
  proxy: [null, "http://proxy.example:3128", "http://other.example:3128"],
  url: URLS,
  upstream_url: URLS,
  token_url: URLS,
  endpoint: [null, ...URLS],
  api_key: ["${env:KEY}", "${env:OTHER}"],
  client_secret: ["${env:KEY}", "${env:OTHER}"],
  secret: ["${env:KEY}", "${env:OTHER}"],
  refresh_token: [null, "${env:KEY}"],
  client_id: WORDS,
  headers: [{}, { "X-Key": "${env:KEY}" }, { "X-Key": "${env:OTHER}" }],
  model: MODELS,
  host: ["127.0.0.1", "10.0.0.1", "10.0.0.2", "0.0.0.0"],
  trusted_proxies: [[], ["10.0.0.1"], ["10.0.0.0/24"], ["10.0.0.0/8", "192.168.0.1"]],
  allow: [[], ["10.1.0.0/16"], ["10.0.0.0/8"], ["crm.internal"]],
  user_prompt_template: ["", "Q: {{input}}", "Say: {{input}}"],
  prompt: DESCRIBED,
  description: DESCRIBED,
  estimated_cost_per_1k_tokens_usd: [0.001, 0.002, 0.004],
  uuid: [null],
  options: [{}],
  driver: ["memory"],
  listener: ["public", "admin"],
  scopes: [[], ["chat"], ["chat", "mcp"], ["mcp", "chat"], ["models", "proxy"]],
  allowed_fields: [null, [], ["seed"], ["seed", "stop"], ["user"]],
  events: [[], ["token.revoked"], ["token.revoked", "token.created"], ["guardrail.blocked"]],
  input_schema: [
    ...[null, { type: "object" }, { type: "object", required: ["message"] }, { type: "object", title: "A" }],
    { properties: { message: { type: "string", maxLength: 9 } } },
    { properties: { message: { type: "string", maxLength: 20 } } },
    { properties: { message: { type: "string", pattern: "a" } } },
  ],
  output_schema: [
    null,
    { type: "string" },
    { type: "string", maxLength: 9 },
    { type: "string", description: "A" },
  ],
};

/** Of identity, of files, of third parties' plugins, and those whose change changes others. */
const FIXED =
  /^(?:uuid|slug|alias|include|stages|plugins|version|type|ca|client_cert|client_key|provider|credential|provider_template|oauth_connection|grant|refresh_token|driver|options|failover|guardrails|port|model)$/;

/** Names by which something else is known. */
const NAMED: ReadonlySet<string> = new Set([
  "credentials",
  "provider_templates",
  "oauth_connections",
  "mcp_servers",
  "webhooks",
]);

export function randomValue(random: Random, key: string, node: SchemaNode): Json | undefined {
  const pool = POOLS[key];
  if (pool !== undefined) return random.of(pool);
  const { enum: choices, minimum, maximum, items } = node;
  const types = [node.type].flat();
  if (types.includes("null") && random.chance(0.3)) return null;
  // Enumerated values of the schema are plain JSON.
  if (Array.isArray(choices)) return random.of(choices as Json[]);
  if (types.includes("boolean")) return random.chance(0.5);
  if (types.includes("integer")) return numberWithin(random, node);
  if (types.includes("number"))
    return types.includes("string")
      ? random.of([1, 2, "2.0", 40])
      : random.of([Number(minimum), Number(maximum), 0.5]);
  if (types.includes("array") && Array.isArray(items?.["enum"]))
    // As above.
    return random.some(items["enum"] as Json[], Number(node["minItems"] ?? 0));
  if (types.includes("string")) return random.of(WORDS);
  return undefined;
}

function numberWithin(random: Random, { minimum, maximum, default: usual }: SchemaNode): number {
  const [least, most] = [Number(minimum), Number(maximum)];
  const values = [1, 5, 60, 3600, 5000, Number(usual ?? 100), Number(usual ?? 100) + 1];
  return Math.min(most, Math.max(least, random.of(values)));
}

/** Some of a section's keys. */
function randomKeys(random: Random, node: SchemaNode, share: number): JsonMap {
  const map: JsonMap = {};
  for (const [key, property] of Object.entries(node.properties ?? {})) {
    if (FIXED.test(key) || !random.chance(share)) continue;
    const value = randomValue(random, key, property);
    if (value !== undefined) map[key] = value;
  }
  return map;
}

const itemOf = (list: string): SchemaNode => projectSchema.properties?.[list]?.items ?? {};

const GUARDRAILS: readonly ((random: Random) => JsonMap)[] = [
  (random) => ({ use: "content_length", max: random.of([5, 20, 8000]) }),
  (random) => ({
    use: "keyword_blocklist",
    keywords: random.some(WORDS, 1),
    whole_word: random.chance(0.5),
    case_sensitive: random.chance(0.5),
  }),
  (random) => ({
    use: "pii",
    mode: random.of(["block", "mask"]),
    kinds: random.some(["email", "ssn", "iban"], 1),
  }),
  (random) => ({ use: "secrets", mode: random.of(["block", "mask"]) }),
  (random) => ({ use: "prompt_injection", threshold: random.of([0.5, 1, 2]) }),
  (random) => ({
    use: "patterns",
    mode: random.of(["block", "mask"]),
    patterns: random.of([{ a: "x+" }, { a: "x+", b: "y+" }]),
  }),
];

export function randomGuardrail(random: Random): JsonMap {
  const own: JsonMap = random.of(GUARDRAILS)(random);
  if (random.chance(0.3)) own["shadow"] = true;
  if (random.chance(0.3)) own["on"] = random.of<Json>([["output"], ["input", "output"]]);
  if (random.chance(0.2)) own["on_error"] = "allow";
  if (random.chance(0.2)) own["timeout_ms"] = random.of([50, 2000]);
  if (random.chance(0.2)) own["roles"] = random.of<Json>([["user"], ["user", "tool", "system"]]);
  return own;
}

export function randomGuardrails(random: Random): JsonMap[] {
  return Array.from({ length: random.below(4) }, () => randomGuardrail(random));
}

/** How a model is chosen. */
function randomChoice(random: Random): JsonMap {
  if (random.chance(0.3)) return { provider_template: random.of(["fast", "slow"]) };
  return { provider: "openai", model: random.of(MODELS), credential: random.of(["main", "spare"]) };
}

function callSettings(random: Random, list: string): JsonMap {
  return {
    ...randomKeys(random, itemOf(list), 0.25),
    ...randomChoice(random),
    ...(random.chance(0.3) && {
      failover: [{ credential: random.of(["main", "far"]), model: random.of(MODELS) }],
    }),
    ...(random.chance(0.6) && { guardrails: randomGuardrails(random) }),
    estimated_cost_per_1k_tokens_usd: random.of([0.001, 0.002]),
  };
}

function credentials(random: Random): JsonMap[] {
  return ["main", "spare", "far"].map((name) => ({
    ...randomKeys(random, itemOf("credentials"), 0.3),
    ...{ name, provider: name === "far" ? "anthropic" : "openai", api_key: "${env:KEY}" },
  }));
}

function named(random: Random, list: string, names: readonly string[], share = 0.5): JsonMap[] {
  const required = itemOf(list).required ?? [];
  return names
    .filter(() => random.chance(share))
    .map((name) => {
      const own = Object.fromEntries(
        required.map((key): [string, Json] => [
          key,
          randomValue(random, key, itemOf(list).properties?.[key] ?? {}) ?? "x",
        ]),
      );
      return { ...own, ...randomKeys(random, itemOf(list), 0.3), name };
    });
}

function tokens(random: Random, place: number): JsonMap[] {
  return [1, 2]
    .filter(() => random.chance(0.7))
    .map((id, index) => ({
      ...randomKeys(random, itemOf("tokens"), 0.4),
      ...{ id: 2 * place + id, name: `token ${id}`, hash: HASHES[2 * place + index] ?? "" },
    }));
}

/** Which project of the three types it is follows from its place. */
const TYPES = ["ai_gateway", "ai_wrapper", "proxy"] as const;
const uuidOf = (index: number): string => `3e2f6c1a-58d4-4b5e-9a07-6f1d2c8b4e9${index}`;

function project(random: Random, index: number): JsonMap {
  const type = TYPES[index] ?? "proxy";
  const own: JsonMap = {
    ...{ uuid: uuidOf(index), name: `Project ${index}`, type },
    credentials: credentials(random),
    provider_templates: ["fast", "slow"].map((name) => ({
      name,
      provider: "openai",
      model: random.of(MODELS),
      credential: "main",
    })),
    tokens: tokens(random, index),
    webhooks: named(random, "webhooks", ["siem", "pager"]),
  };
  if (random.chance(0.3)) own["error_format"] = "openai";
  if (type === "ai_gateway") {
    const { description: _, ...defaults } = randomKeys(random, itemOf("endpoints"), 0.2);
    const { name: _name, moved_from: _moved, ...inheritable } = defaults;
    own["endpoint_defaults"] = inheritable;
    own["endpoints"] = ["one", "two", "three"]
      .filter(() => random.chance(0.8))
      .map((slug) => ({
        ...{ ...callSettings(random, "endpoints"), name: `Endpoint ${slug}`, slug },
      }));
    own["mcp_servers"] = named(random, "mcp_servers", ["docs"]);
  } else if (type === "ai_wrapper") {
    own["aliases"] = ["default", "fast"]
      .filter(() => random.chance(0.8))
      .map((alias) => ({ ...callSettings(random, "aliases"), alias }));
  } else {
    own["oauth_connections"] = named(random, "oauth_connections", ["sso"], 1);
    own["proxy_endpoints"] = ["crm", "erp"]
      .filter(() => random.chance(0.8))
      .map((slug) => ({
        ...randomKeys(random, itemOf("proxy_endpoints"), 0.4),
        ...{ slug, upstream_url: random.of(URLS) },
        ...(random.chance(0.5) && { oauth_connection: "sso" }),
      }));
  }
  return own;
}

const SECTIONS = ["server", "admin", "state", "reload", "log", "network"];

export function randomConfig(random: Random): JsonMap {
  const config: JsonMap = { version: 1 };
  for (const name of SECTIONS)
    if (random.chance(0.3)) config[name] = randomKeys(random, schema.properties?.[name] ?? {}, 0.4);
  if (random.chance(0.3))
    config["telemetry"] = {
      otlp: randomKeys(random, schema.properties?.["telemetry"]?.properties?.["otlp"] ?? {}, 0.6),
    };
  if (random.chance(0.3)) config["providers"] = { openai: randomKeys(random, providerSchema, 0.3) };
  if (random.chance(0.3))
    config["prices"] = [
      {
        provider: "openai",
        model: random.of(MODELS),
        input: random.of([0.1, 0.25, 3]),
        output: random.of([1, 2, 9]),
      },
    ];
  if (random.chance(0.3))
    config["control_plane"] = {
      tokens: [{ name: "ops", hash: random.of(HASHES), expires_at: random.of<Json>([null, ...MOMENTS]) }],
    };
  config["projects"] = [0, 1, 2]
    .filter((index) => index === 0 || random.chance(0.4))
    .map((index) => project(random, index));
  return config;
}

const { additionalProperties: providerNode } = schema.properties?.["providers"] ?? {};
const providerSchema: SchemaNode = typeof providerNode === "object" ? providerNode : {};

/** One key of one map, and what it may be. */
interface Field {
  readonly map: JsonMap;
  readonly key: string;
  readonly node: SchemaNode;
}

function fieldsOf(map: JsonMap, node: SchemaNode, isNamed: boolean): Field[] {
  return Object.entries(node.properties ?? {})
    .filter(([key]) => !FIXED.test(key) && !(isNamed && (key === "name" || key === "id")))
    .map(([key, own]) => ({ map, key, node: own }));
}

const mapsIn = (value: Json | undefined): JsonMap[] => (Array.isArray(value) ? (value as JsonMap[]) : []); // Lists of the generator.

function allFields(config: JsonMap): Field[] {
  const fields: Field[] = [];
  for (const name of SECTIONS)
    fields.push(...fieldsOf(mapAt(config, name), schema.properties?.[name] ?? {}, false));
  const otlp = schema.properties?.["telemetry"]?.properties?.["otlp"] ?? {};
  fields.push(...fieldsOf(mapAt(mapAt(config, "telemetry"), "otlp"), otlp, false));
  if ("providers" in config)
    fields.push(...fieldsOf(mapAt(mapAt(config, "providers"), "openai"), providerSchema, false));
  for (const one of mapsIn(config["projects"])) {
    fields.push(...fieldsOf(one, { properties: pick(projectSchema, ["name", "id", "error_format"]) }, false));
    for (const [list, { items }] of Object.entries(projectSchema.properties ?? {})) {
      if (items === undefined || list === "stages" || list === "include") continue;
      const isNamed = NAMED.has(list) || list === "tokens";
      for (const item of mapsIn(one[list])) fields.push(...fieldsOf(item, items, isNamed));
      if (list === "provider_templates")
        for (const map of mapsIn(one[list]))
          fields.push({ map, key: "model", node: items.properties?.["model"] ?? {} });
    }
  }
  return fields;
}

function mapAt(map: JsonMap, key: string): JsonMap {
  const own = map[key];
  if (typeof own === "object" && own !== null && !Array.isArray(own)) return own;
  const empty: JsonMap = {};
  map[key] = empty;
  return empty;
}

const pick = ({ properties = {} }: SchemaNode, keys: readonly string[]): Record<string, SchemaNode> =>
  Object.fromEntries(keys.flatMap((key) => (properties[key] === undefined ? [] : [[key, properties[key]]])));

/** A copy in which one field has another value, and the field's name; undefined: none was found for this seed. */
export function mutated(
  random: Random,
  config: JsonMap,
): { readonly config: JsonMap; readonly what: string } | undefined {
  const copy = structuredClone(config);
  if (random.chance(0.3)) {
    const what = mutateChoiceOrGuardrails(random, copy);
    return what === undefined ? undefined : { config: copy, what };
  }
  const { map, key, node } = random.of(allFields(copy));
  // A project's name stands in the names of its objects: its slug remains.
  const isProject = "type" in map && key === "name";
  const value = isProject ? String(map[key]).toUpperCase() : randomValue(random, key, node);
  if (value === undefined || JSON.stringify(map[key]) === JSON.stringify(value)) return undefined;
  map[key] = value;
  return { config: copy, what: key };
}

function mutateChoiceOrGuardrails(random: Random, config: JsonMap): string | undefined {
  const callers = mapsIn(config["projects"]).flatMap((one) => [
    ...mapsIn(one["endpoints"]),
    ...mapsIn(one["aliases"]),
  ]);
  if (callers.length === 0) return undefined;
  const caller = random.of(callers);
  if (random.chance(0.2)) {
    caller["failover"] = random.chance(0.3)
      ? []
      : [{ credential: random.of(["main", "far"]), model: random.of(MODELS) }];
    return "failover";
  }
  if (random.chance(0.25) && caller["model"] !== undefined) {
    caller["model"] = random.of(MODELS);
    return "model";
  }
  const list = mapsIn(caller["guardrails"]);
  if (list.length === 0 || random.chance(0.3))
    list.splice(random.below(list.length + 1), 0, randomGuardrail(random));
  else if (random.chance(0.35)) list.splice(random.below(list.length), 1);
  else if (list.length > 1 && random.chance(0.4)) list.push(...list.splice(0, 1));
  else mutateGuardrail(random, random.of(list));
  caller["guardrails"] = list;
  return "guardrails";
}

function mutateGuardrail(random: Random, guardrail: JsonMap): void {
  const others = Array.from({ length: 20 }, () => randomGuardrail(random)).filter(
    ({ use }) => use === guardrail["use"],
  );
  if (others.length === 0) return;
  const other = random.of(others);
  const keys = Object.keys({ ...guardrail, ...other }).filter((key) => key !== "use");
  const key = random.of(keys);
  const value = other[key];
  if (value === undefined) delete guardrail[key];
  else guardrail[key] = value;
}
