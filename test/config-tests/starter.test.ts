/** `sluice test --init`: whatever the configuration, what it writes passes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { compileRules } from "../../src/base/json-schema.ts";
import { linearPattern } from "../../src/base/linear-pattern.ts";
import { patternSample } from "../../src/config-tests/starter/pattern-sample.ts";
import { schemaSample } from "../../src/config-tests/starter/schema-sample.ts";
import { verifies } from "../spec/verifies.ts";
import { CONFIG, PROXY, reportOf, type TestFolder, testFolder, WRAPPER } from "./kit.ts";

/** Writes a starter file and runs it. */
async function started(folder: TestFolder, args: readonly string[] = []) {
  const init = await folder.run(["--init"]);
  assert.equal(init.code, 0, init.stdout + init.stderr);
  const ran = await folder.run(["--output", "json", "--coverage", ...args]);
  return { init, ran, report: ran.code === 1 ? assert.fail(ran.stdout) : reportOf(ran) };
}

verifies(
  "tests.init",
  "the file covers every protection of a configuration, and all of its cases pass",
  async (t) => {
    for (const config of [CONFIG, WRAPPER, PROXY]) {
      const folder = testFolder(t, { "gateway.config.yaml": config });
      const { init, report, ran } = await started(folder, ["--mutate"]);
      assert.equal(ran.code, 0, ran.stdout);
      assert.match(init.stdout, /^written gateway\.test\.yaml: \d+ cases?, all of which pass\n/);
      assert.deepEqual(report.coverage?.uncovered, []);
      assert.deepEqual(report.mutations?.survived, []);
      assert.equal(report.failed, 0);
    }
  },
);

verifies("tests.init", "the demo configuration gets a file that covers it", async (t) => {
  const demo = readFileSync(new URL("../../gateway.config.yaml", import.meta.url), "utf8");
  const { report, init } = await started(testFolder(t, { "gateway.config.yaml": demo }));
  assert.deepEqual([report.failed, report.coverage?.percent], [0, 100], init.stdout);
});

verifies(
  "tests.init",
  "guardrails before an output schema are covered, those that block and those that mask",
  async (t) => {
    const guardrails =
      "guardrails: [{ use: keyword_blocklist, keywords: [sombra] }, { use: pii, mode: mask }]";
    const config = CONFIG.replace("usage_hard_limit_tokens: 50", guardrails);
    const { report } = await started(testFolder(t, { "gateway.config.yaml": config }));
    assert.deepEqual([report.failed, report.coverage?.uncovered], [0, []]);
  },
);

verifies(
  "tests.init",
  "an existing file is never overwritten, and a file of another name can be asked for",
  async (t) => {
    const folder = testFolder(t, { "gateway.config.yaml": CONFIG, "gateway.test.yaml": "tests: []\n" });
    const refused = await folder.run(["--init"]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /gateway\.test\.yaml exists already and is not overwritten/);
    assert.equal(folder.read("gateway.test.yaml"), "tests: []\n");
    assert.equal((await folder.run(["--init", "sub/first.test.yaml"])).code, 0);
    assert.equal((await folder.run(["sub/first.test.yaml"])).code, 0);
    const { code, stderr } = await folder.run(["--init", "first.yaml"]);
    assert.equal(code, 64);
    assert.match(stderr, /the name of a test file ends in \.test\.yaml or \.test\.yml/);
  },
);

verifies(
  "tests.init",
  "a configuration under another name is named in the file, and one with errors is reported",
  async (t) => {
    const folder = testFolder(t, { "conf/support.yaml": CONFIG });
    const env = { SLUICE_CONFIG: "conf/support.yaml" };
    assert.equal((await folder.run(["--init", "cases/a.test.yaml"], { env })).code, 0);
    assert.match(folder.read("cases/a.test.yaml"), /\nconfig: \.\.\/conf\/support\.yaml\ntests:\n/);
    assert.equal((await folder.run(["cases/a.test.yaml"])).code, 0);
    folder.write({ "conf/support.yaml": "version: 2\n" });
    const broken = await folder.run(["--init", "cases/b.test.yaml"], { env });
    assert.equal(broken.code, 1);
    assert.match(broken.stdout, /error\[E0010\]/);
  },
);

const word = fc.stringMatching(/^[a-z]{3,8}$/);
const limit = fc.option(fc.integer({ min: 1, max: 50 }), { nil: null });

const guardrail = fc.oneof(
  fc.record({ use: fc.constant("content_length"), max: fc.integer({ min: 1, max: 400 }), on: sides() }),
  fc.record({
    use: fc.constant("keyword_blocklist"),
    keywords: fc.array(word, { minLength: 1, maxLength: 3 }),
    on: sides(),
  }),
  fc.record({
    use: fc.constant("pii"),
    mode: fc.constantFrom("mask", "block"),
    on: sides(),
    shadow: fc.boolean(),
  }),
  fc.record({ use: fc.constant("secrets"), on: sides() }),
  fc.record({ use: fc.constant("prompt_injection") }),
  fc.record({
    use: fc.constant("patterns"),
    patterns: fc.constant({ ticket: "TCK-[0-9]{4,6}" }),
    mode: fc.constantFrom("mask", "block"),
  }),
);

function sides() {
  return fc.constantFrom(["input"], ["output"], ["input", "output"]);
}

const schema = fc.option(
  fc.record({
    type: fc.constant("object"),
    required: fc.constantFrom(["message"], ["message", "order"]),
    properties: fc.constant({
      order: { type: "integer", minimum: 3 },
      message: { type: "string", minLength: 1 },
    }),
  }),
  { nil: null },
);
const answer = fc.option(
  fc.constantFrom(
    { type: "object", required: ["total"], properties: { total: { type: "number" } } },
    { type: "array", items: { type: "string" }, minItems: 2 },
  ),
  { nil: null },
);

const endpoint = fc.record({
  provider: fc.constantFrom("openai", "anthropic", "google", "mock", "ollama", "cohere"),
  guardrails: fc.array(guardrail, { maxLength: 4 }),
  rate_limit_per_minute: limit,
  rate_limit_per_hour: limit,
  usage_hard_limit_tokens: fc.option(fc.integer({ min: 1, max: 300 }), { nil: null }),
  input_schema: schema,
  output_schema: answer,
  is_active: fc.boolean(),
  expose_as_mcp_tool: fc.boolean(),
  streaming_enabled: fc.boolean(),
  sessions_enabled: fc.boolean(),
  prompt: fc.constantFrom("", "You are brief."),
  budget: fc.option(fc.constantFrom("5", "0.01", "0"), { nil: null }),
  spare: fc.boolean(),
});

verifies("tests.init", "whatever the endpoints are, all cases that are written pass", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(endpoint, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      async (endpoints, hasToken) => {
        const config = {
          version: 1,
          projects: [
            {
              uuid: "6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11",
              name: "Any",
              type: "ai_gateway",
              tokens: hasToken
                ? [{ id: "t", hash: `sha256:${"a".repeat(64)}`, scopes: ["chat", "mcp"] }]
                : [],
              credentials: ["openai", "anthropic", "google", "ollama", "cohere"].map((provider) => ({
                ...{ name: provider, provider, api_key: "$" + "{env:KEY}" },
              })),
              endpoints: endpoints.map(({ budget, spare, provider, ...rest }, n) => ({
                ...rest,
                ...{ name: `E${n}`, provider, model: "m" },
                ...(provider === "mock" ? {} : { credential: provider }),
                ...(budget === null
                  ? {}
                  : { monthly_budget_usd: budget, estimated_cost_per_1k_tokens_usd: "0.5" }),
                ...(spare ? { failover: [{ credential: "openai", model: "spare" }] } : {}),
              })),
            },
          ],
        };
        const folder = testFolder(t, { "gateway.config.yaml": JSON.stringify(config) });
        const { report, ran } = await started(folder);
        assert.equal(report.failed, 0, `${ran.stdout}\n${folder.read("gateway.test.yaml")}`);
        const active = endpoints.filter(({ is_active }) => is_active).length;
        assert.ok(report.passed >= Math.max(1, active), "each active endpoint has a case");
      },
    ),
    { numRuns: 12 },
  );
});

test("a sample of a pattern matches it, or there is none", () => {
  const patterns = [
    "TCK-[0-9]{4}",
    "^(foo|bar)+$",
    "\\d{3}-\\w+",
    "a?b*c.",
    "[^x]y",
    "(?:ab){2}",
    "(?i)secret",
    "\\bname\\b",
  ];
  for (const pattern of patterns) {
    const sample = patternSample(pattern);
    assert.ok(sample !== undefined, pattern);
    const [, rest = pattern] = /^\(\?i\)(.*)$/.exec(pattern) ?? [];
    assert.ok(linearPattern(rest).test(sample), `${pattern}: ${sample}`);
  }
  for (const pattern of ["(?=x)y", "\\p{L}", "a{5000}", "[[:alpha:]]", "(a"])
    assert.equal(patternSample(pattern), undefined);
});

test("a sample of a schema is a document that it accepts", () => {
  const schemas = [
    {
      type: "object",
      required: ["a", "b"],
      properties: { a: { type: "integer", minimum: 5 }, b: { enum: ["x", "y"] } },
    },
    { type: "array", minItems: 2, items: { type: "string", format: "email", minLength: 5 } },
    { oneOf: [{ type: "object", required: ["k"], properties: { k: { const: 1 } } }, { type: "null" }] },
    { allOf: [{ type: "object", required: ["a"] }, { properties: { a: { type: "boolean" } } }] },
    { $ref: "#/$defs/x", $defs: { x: { type: "number", exclusiveMinimum: 3, multipleOf: 2 } } },
    { type: "string", pattern: "^[A-Z]{2}[0-9]{3}$" },
    { type: ["null", "string"] },
  ];
  for (const one of schemas) {
    const rules = compileRules(one);
    assert.ok(rules.ok);
    assert.deepEqual(rules.faultsOf(schemaSample(one)), [], JSON.stringify(one));
  }
});
