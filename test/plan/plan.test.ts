/** What the differences between two configurations mean. */
import assert from "node:assert/strict";
import { judge, type PlanChange } from "../../src/plan/plan.ts";
import { projectOf } from "../config/kit.ts";
import { verifies } from "../spec/verifies.ts";
import { brief, judged, OPTIONS, sideOfText } from "./kit.ts";

const BASE = `    credentials:
      - { name: main, provider: openai, api_key: "\${env:KEY}" }
    endpoint_defaults: { provider: openai, model: gpt-5-mini, credential: main, rate_limit_per_minute: 60 }
    endpoints:
      - { name: One }
      - { name: Two, temperature: 1 }
`;

verifies("plan.rules.mirror", "equal configurations have an empty plan", async (t) => {
  assert.deepEqual(await judged(t, BASE, BASE), []);
});

verifies(
  ["plan.cause", "plan.rules"],
  "what endpoints inherit is one change, at its cause, with all that it reaches",
  async (t) => {
    const changes = await judged(t, BASE, BASE.replace("minute: 60", "minute: 30"));
    assert.deepEqual(changes.map(brief), [
      "P107 support/support projects[0].endpoint_defaults.rate_limit_per_minute",
    ]);
    const [change] = changes;
    assert.deepEqual(change?.object, { kind: "endpoint_defaults", project: "support", name: "support" });
    assert.deepEqual(
      change?.reaches.map(({ name }) => name),
      ["one", "two"],
    );
    assert.equal(change?.at.line, 8);
    assert.equal(
      change?.message,
      "`rate_limit_per_minute` is lowered from 60 to 30: calls beyond it get 429.",
    );
  },
);

verifies("plan.place", "a removed endpoint breaks calls, and an added token weakens", async (t) => {
  const after = `${BASE.replace(/ {6}- \{ name: Two.*\n/, "")}    tokens:\n      - { name: web, hash: "sha256:${"0".repeat(64)}" }\n`;
  const changes = await judged(t, BASE, after);
  assert.deepEqual(
    changes.map(({ rule, side }) => `${rule} ${side}`),
    ["P202 to", "P101 from"],
  );
  assert.equal(changes[1]?.acceptedAt.line, 9, "it may be accepted where the list begins");
});

verifies("plan.place", "values before and after are those that the path leads to", async (t) => {
  const guarded = (entry: string): string =>
    BASE.replace("- { name: One }", `- { name: One, guardrails: [{ use: pii, ${entry} }] }`);
  const before = guarded("mode: mask, kinds: [email]");
  const [one] = await judged(t, before, guarded("mode: block, kinds: [email]"));
  assert.deepEqual(
    [one?.path.endsWith(".guardrails[0].mode"), one?.before, one?.after],
    [true, "mask", "block"],
  );
  const [several] = await judged(t, before, guarded("mode: block, kinds: [email, ssn]"));
  assert.deepEqual(
    [several?.path.endsWith(".guardrails[0]"), several?.before, several?.after],
    [true, { mode: "mask", kinds: ["email"] }, { mode: "block", kinds: ["email", "ssn"] }],
  );
});

verifies("plan.rules", "a guardrail that is added among equal ones changes the order of none", async (t) => {
  const recorded = (...uses: readonly string[]): string => {
    const list = uses.map((use) => `{ use: ${use}, shadow: true }`).join(", ");
    return BASE.replace("- { name: One }", `- { name: One, guardrails: [${list}] }`);
  };
  const changes = await judged(
    t,
    recorded("secrets", "pii", "secrets"),
    recorded("secrets", "secrets", "pii", "secrets"),
  );
  assert.deepEqual(
    changes.map(({ rule }) => rule),
    ["P402"],
  );
  const [first, second] = ["{ use: pii, shadow: true }", "{ use: pii }"];
  const list = (...uses: readonly string[]): string =>
    BASE.replace("- { name: One }", `- { name: One, guardrails: [${uses.join(", ")}] }`);
  const told = await judged(t, list(first, second), list(second, second));
  assert.deepEqual(
    told.map(({ rule }) => rule),
    ["P107"],
  );
});

verifies("plan.hosts", "a host that was not talked to is told besides what adds it", async (t) => {
  const more = '      - { name: other, provider: anthropic, api_key: "${env:B}" }\n    endpoint_defaults';
  const changes = await judged(t, BASE, BASE.replace("    endpoint_defaults", more));
  assert.deepEqual(changes.map(brief), [
    "P502 support/other projects[0].credentials[1]",
    "P203 support/other projects[0].credentials[1].provider",
  ]);
});

verifies(
  ["plan.cause", "plan.rules.idle"],
  "a default that no endpoint inherits is safe, and so is one whose endpoints have their own",
  async (t) => {
    const own = BASE.replace("name: One", "name: One, rate_limit_per_minute: 5").replace(
      "name: Two",
      "name: Two, rate_limit_per_minute: 5",
    );
    const changes = await judged(t, own, own.replace("minute: 60", "minute: 30"));
    assert.deepEqual(changes.map(brief), [
      "P501 support/support projects[0].endpoint_defaults.rate_limit_per_minute",
    ]);
    assert.equal(changes[0]?.object.kind, "endpoint_defaults");
  },
);

verifies(
  "plan.place",
  "what is gone is shown where it was, and may be accepted at what held it",
  async (t) => {
    const guarded = BASE.replace("temperature: 1", "guardrails: [{ use: secrets }, { use: pii }]");
    const changes = await judged(t, guarded, guarded.replace(", { use: pii }", ""));
    assert.deepEqual(changes.map(brief), ["P201 support/two projects[0].endpoints[1].guardrails[1]"]);
    assert.equal(changes[0]?.side, "from");
    assert.equal(changes[0]?.acceptedAt.line, 11);
    assert.equal(changes[0]?.message, "Guardrail `pii` is removed.");
  },
);

const TEMPLATED = `    credentials:
      - { name: main, provider: openai, api_key: "\${env:KEY}" }
    provider_templates:
      - { name: fast, provider: openai, model: gpt-5-mini, credential: main }
    endpoint_defaults: { provider_template: fast }
    endpoints: [{ name: One }, { name: Two }, { name: Off, is_active: false }]
`;

verifies(
  ["plan.cause", "plan.money"],
  "a template of another model is one change, with what it costs and all that it reaches",
  async (t) => {
    const [change, ...others] = await judged(t, TEMPLATED, TEMPLATED.replace("gpt-5-mini", "gpt-5"));
    assert.deepEqual(others, []);
    assert.equal(change?.rule, "P301");
    assert.deepEqual(
      change?.reaches.map(({ name }) => name),
      ["one", "two"],
    );
    assert.equal(
      change?.message,
      "The model is changed from `openai/gpt-5-mini` to `openai/gpt-5`; 1,000 calls cost USD 4.25 instead of USD 0.85, at 1,000 tokens in and 300 out (assumed).",
    );
  },
);

verifies("plan.money", "what a call costs is told at the tokens that were measured", async (t) => {
  const own = BASE.replace("name: One", "name: One, model: gpt-5-mini");
  const measured = { ...OPTIONS, tokensOf: () => ({ input: 10_000, output: 0 }) };
  const changes = await judged(t, own, own.replace("One, model: gpt-5-mini", "One, model: gpt-5"), measured);
  assert.match(
    changes[0]?.message ?? "",
    /cost USD 12\.50 instead of USD 2\.50, at 10,000 tokens in and 0 out \(measured\)/,
  );
});

verifies(
  "plan.rules.unknown",
  "a value that is a reference on one side counts as stricter and as weaker, and says why",
  async (t) => {
    const changes = await judged(t, BASE, BASE.replace("minute: 60", 'minute: "${env:RATE}"'));
    assert.deepEqual(
      changes.map(({ rule }) => rule),
      ["P107", "P202"],
    );
    assert.match(changes[0]?.message ?? "", /known only where the gateway runs/);
  },
);

verifies(
  "plan.rules.idle",
  "a project that nobody called is removed safely, and any other takes its endpoints along",
  async (t) => {
    const off = BASE.replace("name: One", "name: One, is_active: false").replace(
      "name: Two",
      "name: Two, is_active: false",
    );
    const removed = async (body: string): Promise<PlanChange | undefined> => {
      const from = await sideOfText(t, projectOf(body), "before");
      const to = await sideOfText(t, "version: 1\nprojects: []\n", "after");
      const [change, ...others] = judge(from, to, OPTIONS);
      assert.deepEqual(others, []);
      return change;
    };
    assert.deepEqual([(await removed(off))?.rule, (await removed(off))?.risk], ["P101", "safe"]);
    const change = await removed(BASE);
    assert.equal(change?.risk, "breaking");
    assert.deepEqual(
      change?.reaches.map(({ name }) => name),
      ["one", "two"],
    );
  },
);
