/** What of a request guardrails judge, how often, and what becomes of verdicts that are malformed, through the gateway. */
import assert from "node:assert/strict";
import { type Answer, assertAnswered, assertRefused, at } from "./kit/client.ts";
import { echoEntry } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const keyword = { use: "keyword_blocklist", keywords: ["sombra"] };
const refusal = "Request blocked: keyword 'sombra' detected in input.";

function say(g: Harness, ...turns: readonly (readonly [role: string, content: string])[]): Promise<Answer> {
  return g.call({ messages: turns.map(([role, content]) => ({ role, content })) });
}

verifies("guard.roles", "system texts are judged only where `roles` names them", async (t) => {
  const usual = await startGateway(t, { endpoint: { guardrails: [keyword] } });
  usual.provider.says("Fine.");
  assertAnswered(await say(usual, ["system", "the sombra"], ["user", "hi"]));
  assertRefused(await say(usual, ["system", "hi"], ["user", "the sombra"]), 422, refusal);
  assertRefused(await say(usual, ["assistant", "the sombra"], ["user", "hi"]), 422, refusal);
  const roles = ["user", "system"];
  const all = await startGateway(t, { endpoint: { guardrails: [{ ...keyword, roles }] } });
  assertRefused(await say(all, ["system", "the sombra"], ["user", "hi"]), 422, refusal);
});

verifies(
  "guard.judged-once",
  "a blocked text is withheld in later turns and the conversation continues",
  async (t) => {
    const g = await startGateway(t, { endpoint: { guardrails: [keyword] } });
    g.provider.says("Fine.");
    assertRefused(await say(g, ["user", "the sombra"]), 422, refusal);
    assertRefused(await say(g, ["user", "the sombra"]), 422, refusal);
    assertAnswered(await say(g, ["user", "the sombra"], ["assistant", "no"], ["user", "then without"]));
    const sent = [0, 1, 2].map((n) => at(g.provider.sent("messages"), n, "content"));
    assert.deepEqual(sent, ["[Removed: blocked by guardrail 'keyword_blocklist']", "no", "then without"]);
  },
);

verifies("guard.max-judged", "more text than guardrails may be given is refused", async (t) => {
  const root = { server: { port: 0, max_judged_characters: 20 } };
  const guarded = await startGateway(t, { root, endpoint: echoEntry({ guardrails: [keyword] }) });
  const tooLong = "Request blocked: content length 21 exceeds maximum 20.";
  assertAnswered(await guarded.call({ message: "a".repeat(20) }));
  assertRefused(await guarded.call({ message: "a".repeat(21) }), 422, tooLong);
  const bare = await startGateway(t, { root, endpoint: echoEntry({}) });
  assertAnswered(await bare.call({ message: "a".repeat(21) }));
  const answers = await startGateway(t, { root, endpoint: { guardrails: [{ ...keyword, on: ["output"] }] } });
  answers.provider.says("b".repeat(22));
  const answerTooLong = "Response blocked: content length 22 exceeds maximum 20.";
  assertRefused(await answers.call({ message: "hi" }), 422, answerTooLong);
});

type Entry = Readonly<Record<string, unknown>>;

/** A guardrail as a stranger writes it: no import, all by hand. */
function guardrailModule(name: string, returned: string): string {
  return `export default {
    api: 1, kind: "guardrail", name: "${name}", description: "A test's own.", examples: [],
    schema: { type: "object", additionalProperties: false, properties: {} },
    setup() { return { judge(text) { return (${returned}); } }; },
  };`;
}

verifies(
  "guard.verdict.malformed",
  "a malformed verdict is refused, allowed or recorded, isolated or not",
  async (t) => {
    const order = `{ verdict: "replace", reason: "r", edits: [{ start: 6, end: 12, text: "B" }, { start: 0, end: 5, text: "A" }] }`;
    const files = {
      "plugins/nothing.ts": guardrailModule("nothing", "null"),
      "plugins/disorder.ts": guardrailModule("disorder", order),
    };
    const root = { plugins: ["./plugins/nothing.ts", "./plugins/disorder.ts"] };
    const text = "order secret text";
    const cases = [
      ["nothing", false],
      ["disorder", false],
      ["disorder", true],
    ] as const;
    for (const [use, isolate] of cases) {
      const entry = (name: string, more: Entry): Entry =>
        echoEntry({ name, guardrails: [{ use, isolate, timeout_ms: 10_000, ...more }] });
      const g = await startGateway(t, {
        ...{ files, root, endpoint: entry("Closed", {}) },
        endpoints: [entry("Open", { on_error: "allow" }), entry("Trial", { shadow: true })],
      });
      const failed = `Request blocked: guardrail '${use}' could not judge it.`;
      assertRefused(await g.call({ message: text }, { slug: "closed" }), 422, failed);
      assert.equal(assertAnswered(await g.call({ message: text }, { slug: "open" })), text);
      assert.equal(assertAnswered(await g.call({ message: text }, { slug: "trial" })), text);
    }
  },
);

verifies(
  "guard.patterns.linear",
  "patterns that RE2 cannot run are refused at load with their place, and no pattern blocks the gateway",
  async (t) => {
    const schema = { type: "object", properties: { message: { type: "string", pattern: "^(a+)+$" } } };
    const g = await startGateway(t, { endpoint: echoEntry({ input_schema: schema }) });
    assertAnswered(await g.call({ message: "a".repeat(100_000) }));
    assertRefused(
      await g.call({ message: `${"a".repeat(100_000)}!` }),
      422,
      /^Validation failed: message must match/,
    );

    const plugin = guardrailModule("strict", "undefined").replace(
      "properties: {}",
      'properties: { word: { type: "string", pattern: "^(?!x)" } }',
    );
    const refused: unknown = await startGateway(t, {
      files: { "plugins/strict.ts": plugin },
      root: { plugins: ["./plugins/strict.ts"] },
      endpoint: {
        input_schema: { properties: { message: { pattern: "(?=a)b" } } },
        output_schema: { patternProperties: { "(?<!a)b": true } },
        guardrails: [
          { use: "strict", word: "y" },
          { use: "keyword_blocklist", patterns: { look: "a(?!b)" } },
        ],
      },
    }).catch((thrown) => thrown);
    const errors = at(refused, "errors");
    assert.ok(Array.isArray(errors), String(refused));
    const said = errors.map((error) => [at(error, "code"), at(error, "help"), at(error, "line")]);
    assert.equal(said.length, 4, JSON.stringify(errors));
    for (const [, help, line] of said) {
      assert.equal(help, "look-around: RE2 has none");
      assert.ok(Number(line) > 1, JSON.stringify(errors));
    }
    assert.deepEqual(said.map(([code]) => code).sort(), ["E0108", "E0315", "E0315", "E0316"]);
  },
);
