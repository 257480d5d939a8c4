/** The guardrail tester: it lets a sound guardrail pass, and finds what is wrong with each of these. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { block, defineGuardrail, type Guardrail, refuse, replace } from "sluice/plugin";
import type { GuardrailPlugin } from "../../src/plugin/contract.ts";
import { type GuardrailCases, guardrailChecks, testGuardrail, testHost } from "../../src/testing/index.ts";

const WORD = "sombra";

type Fields = Partial<Omit<GuardrailPlugin<object>, "api" | "kind" | "setup">>;

function guardrail(guardrail: Guardrail, fields: Fields = {}): GuardrailPlugin<object> {
  return defineGuardrail<object>({
    name: "acme-word",
    description: "Looks for one word.",
    schema: { type: "object", additionalProperties: false },
    examples: [{}],
    setup: () => guardrail,
    ...fields,
  });
}

const REFUSED = block(refuse(422, "word", "Not that word."), "word");

function mask(text: string): ReturnType<typeof replace> | undefined {
  const start = text.indexOf(WORD);
  return start < 0 ? undefined : replace([{ start, end: start + WORD.length, text: "***" }], "word");
}

const masking = guardrail({ window: WORD.length, judge: mask });
const blocking = guardrail({
  window: WORD.length,
  judge: (text) => (text.includes(WORD) ? REFUSED : undefined),
});

testGuardrail(masking, {
  pass: ["sol", "", "\u{1f600} sombr\u{1f600}"],
  mask: [{ text: "al sombra aquí", becomes: "al *** aquí" }],
});
testGuardrail(blocking, {
  pass: [{ text: "sol", role: "assistant" }],
  block: ["sombra", { text: "a sombra b", message: "Not that word.", answerMessage: /word/ }],
});

/** All that is wrong, each with the name of its check. */
async function faults<C>(plugin: GuardrailPlugin<C>, cases: GuardrailCases<C>): Promise<string> {
  const found: string[] = [];
  for (const { name, run } of guardrailChecks(plugin, cases)) {
    await run().catch((error: Error) => found.push(`${name}: ${error.message}`));
  }
  return found.join("\n");
}

test("a sound guardrail has no faults", async () => {
  assert.equal(await faults(masking, { mask: [{ text: "sombra", becomes: "***" }], pass: ["sol"] }), "");
});

for (const [what, plugin, cases, words] of [
  [
    "a text that is blocked and should pass",
    blocking,
    { pass: [WORD] },
    /"sombra" as input is refused: Not that/,
  ],
  ["a text that passes and should be blocked", blocking, { block: ["sol"] }, /"sol" as input is not blocked/],
  ["another mask", masking, { mask: [{ text: WORD, becomes: "?" }] }, /becomes another text/],
  [
    "another message",
    blocking,
    { block: [{ text: WORD, message: "No." }] },
    /the refusal of "sombra" as input/,
  ],
  [
    "a window that is too short",
    guardrail({ window: 3, judge: mask }),
    { mask: [{ text: "al sombra", becomes: "al ***" }] },
    /as a stream of single characters \(window: 3\) becomes another text/,
  ],
  [
    "a window that judges pieces",
    guardrail({ window: 0, judge: (text) => (text.includes(WORD) ? REFUSED : undefined) }),
    { block: [WORD] },
    /as a stream .* is not blocked/,
  ],
  ["a window out of range", guardrail({ window: 9000, judge: mask }), {}, /its window is 9000/],
  [
    "a pattern that remembers where it stopped",
    guardrail({
      judge: (
        (word) => (text: string) =>
          word.test(text) ? REFUSED : undefined
      )(/sombra/g),
    }),
    { block: [WORD] },
    /as input a second time is not blocked/,
  ],
  [
    "an exception",
    guardrail({
      judge: () => {
        throw new Error("thrown by its author");
      },
    }),
    { pass: ["sol"] },
    /thrown by its author/,
  ],
  [
    "edits out of order",
    guardrail({
      judge: () =>
        replace(
          [
            { start: 2, end: 3, text: "" },
            { start: 0, end: 1, text: "" },
          ],
          "x",
        ),
    }),
    { mask: [{ text: "abc", becomes: "b" }] },
    /out of order/,
  ],
  [
    "an edit beyond the text",
    guardrail({ judge: () => replace([{ start: 0, end: 9, text: "" }], "x") }),
    { mask: [{ text: "abc", becomes: "" }] },
    /beyond the text/,
  ],
  [
    "a reason that tells what is hidden",
    guardrail({ judge: () => replace([{ start: 0, end: 6, text: "" }], `found ${WORD}`) }),
    { mask: [{ text: WORD, becomes: "" }] },
    /tells the log/,
  ],
  [
    "an example that its schema refuses",
    guardrail({ judge: mask }, { examples: [{ a: 1 }] }),
    {},
    /examples\[0\]/,
  ],
  [
    "a schema that does not compile",
    guardrail({ judge: mask }, { schema: { type: "objekt" } }),
    {},
    /schema does not compile/,
  ],
  ["a name that no config can use", guardrail({ judge: mask }, { name: "Acme Word" }), {}, /kebab-case/],
] satisfies readonly (readonly [string, GuardrailPlugin<object>, GuardrailCases<object>, RegExp])[]) {
  test(`the tester finds ${what}`, async () => {
    assert.match(await faults(plugin, cases), words);
  });
}

const restoring = guardrail({
  window: WORD.length,
  judge(text) {
    const start = text.indexOf(WORD);
    return start < 0
      ? undefined
      : replace([{ start, end: start + WORD.length, text: "[WORD]" }], "word", true);
  },
});

testGuardrail(restoring, { mask: [{ text: "al sombra", becomes: "al [WORD]" }] });
testGuardrail(restoring, { on: ["input"], mask: [{ text: "al sombra", becomes: "al [WORD_1]" }] });

test("a mask case of a guardrail with `restore` is wrong where the mask is", async () => {
  const checks = guardrailChecks(restoring, { mask: [{ text: "al sombra", becomes: "al [OTHER]" }] });
  await assert.rejects(async () => checks.at(-1)?.run(), /becomes another text/);
});

test("a judge that never settles fails its check, and does not end the process", async () => {
  const silent = guardrail({ window: 1, judge: () => new Promise<undefined>(() => undefined) });
  for (const on of ["input", "output"] as const) {
    const checks = guardrailChecks(silent, { on: [on], pass: ["sol"], settleMs: 5 });
    await assert.rejects(async () => checks.at(-1)?.run(), /judge has not settled within 5 ms/);
  }
});

test("what `host.fetch` refuses names the key that permits it", async () => {
  const outcome = await testHost({ allow: [] }).fetch("http://127.0.0.1:9/");
  assert.ok("failed" in outcome && outcome.failed === "blocked");
  assert.match(outcome.detail, /`network\.allow` can permit it$/);
});
