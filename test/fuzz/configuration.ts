/**
 * Configurations, broken in seeded ways, as YAML and JSON: loading them must neither throw, take long, pollute a
 * prototype, nor show a secret in any of the four forms that diagnostics are printed in.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { type LoadRequest, loadConfig } from "../../src/config/load.ts";
import { renderGithub, renderJson, renderSarif, renderText } from "../../src/config/report/render.ts";
import { loadRegistry } from "../../src/plugins-host/registry.ts";
import type { FuzzSession, FuzzTarget, SeededRandom } from "./target.ts";

/** In every secret, in a form that survives slugs and lower case. */
const CANARY = "zq7xk9canary";
const CPU_MS_MAX = 500;

type Plain = { [key: string]: unknown };

function baseConfig(secretFile: string): Plain {
  return {
    version: 1,
    include: ["parts/*.yaml"],
    server: { port: 0, trusted_proxies: ["10.0.0.0/8"] },
    network: { allow: ["crm.internal", "10.1.0.0/16"] },
    prices: [{ provider: "openai", model: "special", input: 1, output: "2.5" }],
    control_plane: { tokens: [{ name: "ops", hash: `sha256:${"ab".repeat(32)}` }] },
    projects: [
      {
        uuid: "3e2f6c1a-58d4-4b5e-9a07-6f1d2c8b4e90",
        name: "Support",
        type: "ai_gateway",
        include: [{ path: "team.yaml", secrets: { allow: ["TEAM_*"] } }],
        credentials: [
          { name: "main", provider: "openai", api_key: "${env:API_KEY}" },
          { name: "spare", provider: "anthropic", api_key: `\${file:${secretFile}}` },
        ],
        provider_templates: [{ name: "fast", provider: "openai", model: "gpt-5-mini", credential: "main" }],
        tokens: [
          {
            id: 7,
            name: "web",
            hash: `sha256:${"cd".repeat(32)}`,
            scopes: ["chat"],
            monthly_budget_usd_cap: 5,
          },
        ],
        endpoint_defaults: { prompt: "${file:prompt.md}" },
        endpoints: [
          {
            ...{
              name: "Sum up",
              provider: "openai",
              model: "gpt-5-mini",
              credential: "main",
              temperature: 0.2,
            },
            failover: [{ credential: "spare", model: "claude-haiku-4-5" }],
            guardrails: [
              { use: "content_length", max: 8000 },
              { use: "pii", mode: "block" },
            ],
            input_schema: { type: "object", properties: { message: { type: "string", pattern: "^a+$" } } },
            monthly_budget_usd: "25.50",
            estimated_cost_per_1k_tokens_usd: 0.002,
          },
          { name: "Quick", provider_template: "fast", output_schema: { $ref: "schema.json" } },
        ],
        webhooks: [
          { name: "siem", url: "https://siem.example/in", events: ["token.revoked"], secret: "${env:HOOK}" },
        ],
        mcp_servers: [
          { name: "docs", url: "https://m.example/", headers: { Authorization: "Bearer ${env:TOKEN}" } },
        ],
      },
    ],
  };
}

function overlayConfig(): Plain {
  const tokens = [{ id: 7, monthly_budget_usd_cap: 9 }];
  const endpoints = [{ slug: "sum-up", guardrails: [{ use: "prompt_injection" }] }];
  return { log: { level: "warn" }, projects: [{ name: "Support", tokens, endpoints }] };
}

/** Values that some key will not like. Functions, so that no two places share one. */
const HOSTILE: readonly ((random: SeededRandom, outside: string) => unknown)[] = [
  () => null,
  () => true,
  () => -1,
  () => 1e308,
  () => "",
  () => [],
  () => ({}),
  () => "${env:API_KEY}",
  () => "${env:HOOK} and ${env:TOKEN}",
  () => "${env:NOT_SET:-x",
  () => "$${env:API_KEY} ${API_KEY} $API_KEY",
  () => ["${env:TOKEN}", "${env:TOKEN}"],
  () => ({ $ref: "schema.json" }),
  () => ({ "${env:HOOK}": "${env:HOOK}" }),
  () => "../".repeat(40),
  () => "/dev/zero",
  () => "**/**/**/*{a,b,c}{a,b,c}*a*a*a*b",
  (_, outside) => outside,
  (_, outside) => [outside, `${outside}/../*`, "/proc/self/environ"],
  (_, outside) => `\${file:${outside}}`,
  (random) => "k".repeat(random.below(20_000)),
  (random) => `${"a: ".repeat(random.below(200))}|`,
  (random) => nested(random.below(120)),
  (random) => Object.fromEntries(Array.from({ length: random.below(400) }, (_, at) => [`key${at}`, at])),
  (random) => Array.from({ length: random.below(400) }, () => ({ use: "pii", x: "${env:API_KEY}" })),
];

const KEYS = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "<<",
  "use",
  "slug",
  "hash",
  "include",
  "x y",
];

/** Pieces that break YAML or JSON where they fall. */
const PIECES = [
  "\t",
  "{",
  "}",
  "[",
  ":",
  " : ",
  "- ",
  "&a ",
  "*a",
  "!!x ",
  "|",
  ">",
  '"',
  "'",
  "#",
  "\n",
  "%",
  "\0",
];
const LONG_PIECES = [
  "<<<<<<< HEAD\n",
  "\n  ",
  "? ",
  "---\n",
  "\u{1f600}",
  "\ud800",
  ",".repeat(300),
  "x".repeat(5000),
];

function nested(depth: number): unknown {
  let value: unknown = "${env:TOKEN}";
  for (let at = 0; at < depth; at++) value = at % 2 === 0 ? [value] : { a: value };
  return value;
}

/** All maps and lists of a value. */
function containers(value: unknown, found: object[] = []): readonly object[] {
  if (typeof value !== "object" || value === null || found.length > 2000) return found;
  found.push(value);
  for (const child of Object.values(value)) containers(child, found);
  return found;
}

/** Changes one place. Own properties are defined, never assigned: `__proto__` is a key like others here. */
function mutate(root: Plain, random: SeededRandom, outside: string): void {
  const container = random.pick(containers(root));
  const keys = Object.keys(container);
  const key = keys.length === 0 || random.chance(0.2) ? random.pick(KEYS) : random.pick(keys);
  if (Array.isArray(container) && random.chance(0.3)) {
    container.push(random.pick(HOSTILE)(random, outside));
  } else if (random.chance(0.2)) {
    Reflect.deleteProperty(container, key);
  } else {
    const value = random.pick(HOSTILE)(random, outside);
    const target: object = Array.isArray(container) && !/^\d+$/.test(key) ? root : container;
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  }
}

function written(config: Plain, random: SeededRandom): string {
  if (random.chance(0.4)) return JSON.stringify(config, null, random.pick([0, 2]));
  return stringify(config, {
    aliasDuplicateObjects: false,
    defaultStringType: random.pick(["PLAIN", "QUOTE_DOUBLE"]),
  });
}

function scrambled(text: string, random: SeededRandom): string {
  let whole = text;
  for (let left = random.below(6); left > 0; left--) {
    const at = random.below(whole.length + 1);
    const piece = random.pick(random.chance(0.7) ? PIECES : LONG_PIECES);
    whole = whole.slice(0, at) + piece + whole.slice(at + random.pick([0, 0, 1, 20]));
  }
  return whole;
}

class ConfigurationSession implements FuzzSession {
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), "sluice-fuzz-")));
  readonly #outside = join(this.#folder, "outside", "secret.yaml");
  readonly #prototypes = prototypeKeys();

  constructor() {
    mkdirSync(join(this.#folder, "outside"));
    mkdirSync(join(this.#folder, "conf", "parts"), { recursive: true });
    writeFileSync(this.#outside, `${CANARY}: [1, ${CANARY}]\n`);
    this.#write("prompt.md", "Be brief.\n");
    this.#write("schema.json", '{"type": "object", "required": ["a"]}');
    this.#write("team.yaml", 'tokens:\n  - { name: team, hash: "${env:TEAM_HASH}" }\n');
  }

  async run(random: SeededRandom): Promise<void> {
    const [config, overlay] = [baseConfig(this.#outside), overlayConfig()];
    for (let left = random.below(4); left > 0; left--) mutate(config, random, this.#outside);
    if (random.chance(0.3)) mutate(overlay, random, this.#outside);
    const main = written(config, random);
    this.#write("gateway.config.yaml", random.chance(0.5) ? scrambled(main, random) : main);
    this.#write(
      "overlay.yaml",
      random.chance(0.1) ? scrambled(stringify(overlay), random) : stringify(overlay),
    );
    this.#write("parts/a.yaml", random.chance(0.1) ? scrambled("prices: []\n", random) : "prices: []\n");
    const startedAt = process.cpuUsage();
    await this.#load({
      path: join(this.#folder, "conf/gateway.config.yaml"),
      overlays: random.chance(0.3) ? [join(this.#folder, "conf/overlay.yaml")] : [],
      env: {
        ...{ API_KEY: `sk-${CANARY}-1`, HOOK: `Hook ${CANARY} Käse`, TOKEN: `${CANARY}\n"${CANARY}"` },
        TEAM_HASH: `sha256:${"ef".repeat(32)}`,
      },
      secrets: random.pick(["resolve", "skip"]),
      plugins: random.pick(["load", "skip"]),
      strict: random.chance(0.2),
    });
    const { user, system } = process.cpuUsage(startedAt);
    const cpuMs = (user + system) / 1000;
    if (cpuMs > CPU_MS_MAX) throw new Error(`loading took ${cpuMs.toFixed(0)} ms of CPU`);
  }

  async #load(request: LoadRequest): Promise<void> {
    const outcome = await loadConfig(request, loadRegistry);
    const { errors, warnings, omitted, config } = outcome;
    if ((config === undefined) !== errors.length > 0)
      throw new Error("a configuration with errors was returned");
    const all = [...errors, ...warnings];
    const reports = {
      text: renderText(all, true, "/", omitted),
      json: renderJson(outcome, "/"),
      github: renderGithub(outcome, "/"),
      sarif: renderSarif(outcome, "/"),
      plain: JSON.stringify(all),
    };
    for (const [form, report] of Object.entries(reports)) {
      const at = report.toLowerCase().indexOf(CANARY);
      if (at >= 0)
        throw new Error(`${form} shows a secret: …${report.slice(Math.max(0, at - 200), at + 60)}…`);
    }
    if (prototypeKeys() !== this.#prototypes) throw new Error("a prototype was changed");
  }

  #write(name: string, text: string): void {
    writeFileSync(join(this.#folder, "conf", name), text);
  }

  async close(): Promise<void> {
    rmSync(this.#folder, { recursive: true });
  }
}

function prototypeKeys(): string {
  const prototypes = [Object.prototype, Array.prototype, Function.prototype];
  return prototypes.map((prototype) => Reflect.ownKeys(prototype).map(String).join()).join(";");
}

export const configuration: FuzzTarget = {
  name: "configuration",
  description: "broken configurations are reported: no throw, no secret, no stall",
  async start() {
    const session = new ConfigurationSession();
    await loadRegistry([]); // What is loaded once is not part of a case's time.
    return session;
  },
};
