/** What the differences between two configurations mean. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, judged } from "./kit.ts";

const BASE = `    credentials:
      - { name: main, provider: openai, api_key: "\${env:KEY}" }
    endpoint_defaults: { provider: openai, model: gpt-5-mini, credential: main, rate_limit_per_minute: 60 }
    endpoints:
      - { name: One }
      - { name: Two, temperature: 1 }
`;

test("equal configurations have an empty plan", async (t) => {
  assert.deepEqual(await judged(t, BASE, BASE), []);
});

test("what endpoints inherit is one change, at its cause, with all that it reaches", async (t) => {
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
  assert.equal(change?.message, "`rate_limit_per_minute` is lowered from 60 to 30: calls beyond it get 429.");
});

test("a removed endpoint breaks calls, and an added token weakens", async (t) => {
  const after = `${BASE.replace(/ {6}- \{ name: Two.*\n/, "")}    tokens:\n      - { name: web, hash: "sha256:${"0".repeat(64)}" }\n`;
  const changes = await judged(t, BASE, after);
  assert.deepEqual(
    changes.map(({ rule, side }) => `${rule} ${side}`),
    ["P202 to", "P101 from"],
  );
  assert.equal(changes[1]?.acceptedAt.line, 9, "it may be accepted where the list begins");
});

test("a host that was not talked to is told besides, once", async (t) => {
  const more = '      - { name: other, provider: anthropic, api_key: "${env:B}" }\n    endpoint_defaults';
  const changes = await judged(t, BASE, BASE.replace("    endpoint_defaults", more));
  assert.deepEqual(changes.map(brief), [
    "P502 support/other projects[0].credentials[1]",
    "P203 support/other projects[0].credentials[1].provider",
  ]);
});

test("a default that no endpoint inherits is safe, and so is one whose endpoints have their own", async (t) => {
  const own = BASE.replace("name: One", "name: One, rate_limit_per_minute: 5").replace("name: Two", "name: Two, rate_limit_per_minute: 5");
  const changes = await judged(t, own, own.replace("minute: 60", "minute: 30"));
  assert.deepEqual(changes.map(brief), ["P501 support/support projects[0].endpoint_defaults.rate_limit_per_minute"]);
  assert.equal(changes[0]?.object.kind, "endpoint_defaults");
});

test("what is gone is shown where it was, and may be accepted at what held it", async (t) => {
  const guarded = BASE.replace("temperature: 1", "guardrails: [{ use: secrets }, { use: pii }]");
  const changes = await judged(t, guarded, guarded.replace(", { use: pii }", ""));
  assert.deepEqual(changes.map(brief), ["P201 support/two projects[0].endpoints[1].guardrails[1]"]);
  assert.equal(changes[0]?.side, "from");
  assert.equal(changes[0]?.acceptedAt.line, 11);
  assert.equal(changes[0]?.message, "Guardrail `pii` is removed.");
});
