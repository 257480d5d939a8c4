/** Which targets a model name gets: deployments, fallbacks, wildcards, upstreams, and the settings that go with them. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { stringify } from "yaml";
import { CONFIG_FILE, convert } from "../../../src/cli/import/convert.ts";
import type { Finding } from "../../../src/cli/import/findings.ts";
import type { Product } from "../../../src/cli/import/upstreams.ts";
import type { ResolvedConfig } from "../../../src/config/model.ts";
import { verifies } from "../../spec/verifies.ts";
import { folderOf, validated } from "./kit.ts";

interface Made {
  readonly config: ResolvedConfig;
  readonly findings: readonly Finding[];
  readonly text: string;
  /** `credential/model` of each target, by alias. */
  readonly targets: Readonly<Record<string, readonly string[]>>;
}

async function made(t: TestContext, product: Product, source: object): Promise<Made> {
  const { findings, files } = convert(product, "config.yaml", stringify(source));
  const path = join(folderOf(t), CONFIG_FILE);
  writeFileSync(path, files[CONFIG_FILE]);
  const { config, errors } = await validated(path);
  assert.deepEqual(errors, []);
  assert.ok(config !== undefined);
  const targets = (config.projects[0]?.aliases ?? []).map(({ alias, model, credential, failover }) => {
    const all = [{ credential, model }, ...failover];
    return [alias, all.map((one) => `${one.credential}/${one.model}`)] as const;
  });
  return { config, findings, text: files[CONFIG_FILE], targets: Object.fromEntries(targets) };
}

const deployment = (name: string, model: string, more: object = {}) => ({
  model_name: name,
  litellm_params: { model, api_key: "os.environ/KEY", ...more },
});

function levelOf({ findings }: Made, key: string): string | undefined {
  return findings.find((finding) => finding.source.key === key)?.level;
}

verifies("import.models", "deployments are asked by order, then by weight, then as they stand", async (t) => {
  const { targets } = await made(t, "litellm", {
    model_list: [
      deployment("m", "openai/third"),
      deployment("m", "openai/second", { weight: 5 }),
      deployment("m", "openai/first", { order: 1 }),
      deployment("m", "openai/fourth"),
    ],
  });
  assert.deepEqual(targets, { m: ["openai/first", "openai/second", "openai/third", "openai/fourth"] });
});

verifies(
  "import.models",
  "fallbacks add the other model's own targets, once each, and not their fallbacks",
  async (t) => {
    const made_ = await made(t, "litellm", {
      model_list: [deployment("a", "openai/a"), deployment("b", "openai/b"), deployment("c", "openai/c")],
      router_settings: { fallbacks: [{ a: ["b", "a"] }, { b: ["c"] }, { "*": ["c"] }, { nobody: ["a"] }] },
      litellm_settings: { default_fallbacks: ["a"] },
    });
    assert.deepEqual(made_.targets, {
      a: ["openai/a", "openai/b", "openai/c"],
      b: ["openai/b", "openai/c", "openai/a"],
      c: ["openai/c", "openai/a"],
    });
    assert.equal(levelOf(made_, "router_settings.fallbacks[3].nobody"), "no effect");
  },
);

verifies(
  "import.models",
  "a fallback to a name without an alias says why: left out, matched by a wildcard, elsewhere, or nowhere",
  async (t) => {
    const source = (general_settings: object) => ({
      model_list: [deployment("a", "openai/a"), deployment("b", "bedrock/b"), deployment("groq/*", "groq/*")],
      general_settings,
      router_settings: {
        fallbacks: [{ a: ["b"] }, { a: ["groq/unheard-of"] }, { a: ["c"] }, { "groq/*": ["a"] }],
      },
    });
    const here = await made(t, "litellm", source({}));
    const levels = [0, 1, 2].map((index) => levelOf(here, `router_settings.fallbacks[${index}].a`));
    assert.deepEqual(levels, ["unsupported", "manual", "no effect"]);
    const names = Object.keys(here.targets).filter((name) => name.startsWith("groq/"));
    assert.ok(names.length > 0);
    for (const name of names) assert.equal(here.targets[name]?.at(-1), "openai/a");
    const stored = await made(t, "litellm", source({ store_model_in_db: true }));
    assert.equal(levelOf(stored, "router_settings.fallbacks[2].a"), "manual");
  },
);

verifies(
  "import.models",
  "the same target twice is one target, and a seventeenth failover entry is left out",
  async (t) => {
    const { targets } = await made(t, "litellm", {
      model_list: [
        ...[1, 2].map(() => deployment("twice", "openai/x")),
        ...Array.from({ length: 20 }, (_, index) => deployment("many", `openai/m${index}`)),
      ],
    });
    assert.deepEqual(targets["twice"], ["openai/x"]);
    assert.equal(targets["many"]?.length, 17);
  },
);

verifies(
  "import.models",
  "keys of several accounts are credentials of their own, named after what tells them apart",
  async (t) => {
    const { config } = await made(t, "litellm", {
      model_list: [
        deployment("a", "openai/x", { api_key: "os.environ/OPENAI_API_KEY" }),
        deployment("b", "openai/x", { api_key: "os.environ/OPENAI_API_KEY_RESEARCH" }),
        deployment("c", "azure/x", { api_key: "os.environ/K", api_base: "https://acme-eu.openai.azure.com" }),
        deployment("d", "azure/x", { api_key: "os.environ/K", api_base: "https://acme-us.openai.azure.com" }),
        deployment("e", "openai/x", { api_key: "os.environ/OPENAI_API_KEY" }),
      ],
    });
    const names = config.projects[0]?.credentials.map(({ name }) => name);
    assert.deepEqual(names, ["openai", "openai-research", "azure", "azure-acme-us"]);
  },
);

verifies(
  "import.wildcards",
  "a wildcard becomes an alias for each known model, with what stood in its place",
  async (t) => {
    const { targets } = await made(t, "litellm", {
      model_list: [
        deployment("claude/*", "anthropic/claude-haiku-*"),
        deployment("*", "groq/*"),
        deployment("any/*", "deepseek/*"),
      ],
    });
    assert.deepEqual(targets["claude/4-5"], ["anthropic/claude-haiku-4-5"]);
    assert.deepEqual(targets["claude/5-5"], ["anthropic/claude-haiku-5-5"]);
    const names = Object.keys(targets);
    assert.ok(names.some((name) => targets[name]?.[0] === `groq/${name}`));
    assert.ok(!names.some((name) => name.includes("*") || name.startsWith("any/")));
  },
);

verifies(
  "import.wildcards",
  "Bifrost's `*` gives each known model its provider's prefix; an empty list gives none",
  async (t) => {
    const key = (models: readonly string[]) => ({ keys: [{ name: "k", value: "env.K", models, weight: 1 }] });
    const open = await made(t, "bifrost", { providers: { groq: key(["*"]), cohere: key([]) } });
    assert.ok(Object.keys(open.targets).length > 0);
    for (const [name, [target]] of Object.entries(open.targets))
      assert.equal(name.replace("groq/", "k/"), target);
    const older = await made(t, "bifrost", { version: 1, providers: { cohere: key([]) } });
    assert.ok(Object.keys(older.targets).every((name) => name.startsWith("cohere/")));
    assert.notDeepEqual(older.targets, {});
  },
);

const UPSTREAM_CASES: readonly (readonly [
  model: string,
  more: object,
  provider: string,
  baseUrl: string | null,
])[] = [
  ["gpt-4o", {}, "openai", null],
  ["claude-haiku-4-5", {}, "anthropic", null],
  ["gemini/gemini-2.5-pro", {}, "google", null],
  ["ollama/llama3", { api_base: "http://gpu.internal:11434/" }, "ollama", "http://gpu.internal:11434"],
  [
    "anthropic/claude-haiku-4-5",
    { api_base: "https://proxy.example.com/v1/messages" },
    "anthropic",
    "https://proxy.example.com",
  ],
  ["openai/gpt-4o", { api_base: "https://api.openai.com/v1" }, "openai", null],
  ["xai/grok-4", {}, "openai", "https://api.x.ai/v1"],
  ["hosted_vllm/qwen", { api_base: "http://gpu.internal:8000/v1" }, "openai", "http://gpu.internal:8000/v1"],
  [
    "azure/dep",
    { api_base: "https://acme.openai.azure.com/openai/deployments/dep" },
    "openai",
    "https://acme.openai.azure.com/openai/v1",
  ],
  ["qwen", { custom_llm_provider: "deepinfra" }, "openai", "https://api.deepinfra.com/v1/openai"],
];

verifies(
  "import.upstreams",
  "each upstream becomes the provider that speaks its format, at its address",
  async (t) => {
    for (const [model, more, provider, baseUrl] of UPSTREAM_CASES) {
      const { config } = await made(t, "litellm", { model_list: [deployment("m", model, more)] });
      const [credential] = config.projects[0]?.credentials ?? [];
      assert.deepEqual([credential?.provider, credential?.base_url], [provider, baseUrl], model);
    }
  },
);

verifies(
  "import.upstreams",
  "a model whose upstream needs a plugin is left out, and the rest of its name stays",
  async (t) => {
    const made_ = await made(t, "litellm", {
      model_list: [
        deployment("mixed", "bedrock/claude"),
        deployment("mixed", "anthropic/claude-haiku-4-5"),
        deployment("cloud", "vertex_ai/gemini-2.5-pro"),
      ],
      litellm_settings: { fallbacks: [{ mixed: ["cloud"] }] },
    });
    assert.deepEqual(made_.targets, { mixed: ["anthropic/claude-haiku-4-5"] });
    assert.equal(levelOf(made_, "model_list[0].litellm_params.model"), "unsupported");
    assert.equal(levelOf(made_, "litellm_settings.fallbacks[0].mixed"), "unsupported");
  },
);

verifies(
  "import.upstreams",
  "a key for another server is never the variable of the vendor's own key",
  async (t) => {
    const { config } = await made(t, "litellm", {
      model_list: [
        { model_name: "m", litellm_params: { model: "openai/x", api_base: "https://llm.example.com/v1" } },
      ],
    });
    const [credential] = config.projects[0]?.credentials ?? [];
    assert.deepEqual([credential?.name, credential?.base_url], ["llm", "https://llm.example.com/v1"]);
    const { files } = convert(
      "litellm",
      "c.yaml",
      "model_list: [{ model_name: m, litellm_params: { model: openai/x, api_base: 'http://[::1]:9/v1' } }]",
    );
    assert.doesNotMatch(files[CONFIG_FILE], /env:OPENAI_API_KEY/);
  },
);

verifies(
  "import.settings",
  "prices are per million tokens, limits the sum of the deployments', timeouts the longest",
  async (t) => {
    const { config, text } = await made(t, "litellm", {
      model_list: [
        deployment("m", "openai/a", {
          rpm: 10,
          timeout: 200,
          input_cost_per_token: 1.5e-7,
          output_cost_per_token: "0.000001",
        }),
        deployment("m", "openai/b", { rpm: 20, timeout: 90 }),
        deployment("n", "openai/c", { rpm: 5, temperature: 0.5, top_p: 7 }),
        deployment("n", "openai/d"),
      ],
    });
    const [, n] = config.projects[0]?.aliases ?? [];
    assert.match(text, /alias: m\n(?:.+\n){4,6}\s+rate_limit_per_minute: 30\n/);
    assert.equal(text.match(/rate_limit_per_minute/g)?.length, 1);
    assert.deepEqual([n?.temperature, n?.top_p], [0.5, null]);
    assert.equal(config.providers["openai"]?.timeout_ms, 200_000);
    assert.equal(config.server.request_timeout_ms, 400_000);
    const [price] = config.prices;
    assert.deepEqual([price?.model, price?.input.text, price?.output.text], ["a", "0.15", "1"]);
  },
);

verifies(
  "import.settings",
  "a monthly budget becomes the token's cap; one of another period is left to a person",
  async (t) => {
    const source = (budget_duration: string) => ({
      model_list: [deployment("m", "openai/gpt-5-mini")],
      litellm_settings: { max_budget: 50, budget_duration },
    });
    const month = await made(t, "litellm", source("30d"));
    const week = await made(t, "litellm", source("7d"));
    assert.equal(month.config.projects[0]?.tokens[0]?.monthly_budget_usd_cap?.text, "50");
    assert.equal(week.config.projects[0]?.tokens[0]?.monthly_budget_usd_cap, null);
    assert.equal(levelOf(month, "litellm_settings.max_budget"), "approximate");
    assert.equal(levelOf(week, "litellm_settings.max_budget"), "manual");
  },
);

verifies(
  "import.settings",
  "guardrails of Portkey become those of the alias, `deny: false` as shadow",
  async (t) => {
    const { config } = await made(t, "portkey", {
      provider: "openai",
      api_key: "$KEY",
      override_params: { model: "gpt-5-mini" },
      input_guardrails: [{ "default.contains": { operator: "none", words: ["nightjar"] }, deny: true }],
      output_guardrails: [{ "default.characterCount": { maxCharacters: 500 }, deny: false }],
    });
    const uses = config.projects[0]?.aliases[0]?.guardrails.map(({ use, on, shadow }) => ({
      use,
      on,
      shadow,
    }));
    assert.deepEqual(uses, [
      { use: "keyword_blocklist", on: ["input"], shadow: false },
      { use: "content_length", on: ["output"], shadow: true },
    ]);
  },
);

verifies("import.settings", "what looks like a reference of Sluice in the source stays text", async (t) => {
  const { config } = await made(t, "litellm", {
    model_list: [deployment("${env:HOME}", "openai/${file:/etc/passwd}")],
  });
  const [alias] = config.projects[0]?.aliases ?? [];
  assert.deepEqual([alias?.alias, alias?.model], ["${env:HOME}", "${file:/etc/passwd}"]);
});
