/** Guardrails on streamed answers: whatever the cuts, the client sees what it would see of the whole answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import keywordBlocklist from "../../plugins/keyword-blocklist/index.ts";
import pii from "../../plugins/pii/index.ts";
import { guardrailHooks } from "../../src/guardrails/guardrail.ts";
import { HELD_MAX } from "../../src/guardrails/stream.ts";
import type { ToolCallDelta } from "../../src/plugin/chat.ts";
import { textChunk } from "../../src/plugin/chat.ts";
import type { ChatChunk, Exchange, Guardrail, Hooks, Verdict } from "../../src/plugin/index.ts";
import { block, isGatewayError, refuse, replace } from "../../src/plugin/index.ts";
import { testExchange, testHost } from "../../src/testing/test-host.ts";

interface Streamed {
  readonly text: string;
  readonly refusal: string | undefined;
  readonly calls: readonly ToolCallDelta[];
}

type Options = NonNullable<Parameters<typeof pii.setup>[0]>;

function hooksOf(guardrail: Guardrail, shadow = false): Hooks {
  const { clock, log } = testHost();
  const use = { on: ["output"], on_error: "block", timeout_ms: 1000, shadow, isolate: false } as const;
  return guardrailHooks({ name: "guard", guardrail, use, clock, log });
}

function piiHooks(options: Options): Hooks {
  // It is set up without a promise.
  return hooksOf(pii.setup(options, testHost()) as Guardrail);
}

async function stream(
  hooks: Hooks,
  pieces: readonly (string | ChatChunk)[],
  x: Exchange = testExchange({ stream: true }),
): Promise<Streamed> {
  const hook = hooks.stream?.(x);
  let text = "";
  const calls: ToolCallDelta[] = [];
  for (const piece of [...pieces, undefined]) {
    const chunk =
      piece === undefined
        ? await hook?.end?.()
        : await hook?.chunk(typeof piece === "string" ? textChunk(piece) : piece);
    if (isGatewayError(chunk)) return { text, refusal: chunk.message, calls };
    text += chunk?.text ?? "";
    calls.push(...(chunk?.toolCalls ?? []));
  }
  return { text, refusal: undefined, calls };
}

function callChunk(...toolCalls: ToolCallDelta[]): ChatChunk {
  return { ...textChunk(""), toolCalls };
}

const delta = (index: number, text: string, name?: string): ToolCallDelta => {
  return { index, id: name && `call_${index}`, name, arguments: text };
};

/** One of each kind, and what stands in its place. */
const DATA: readonly (readonly [string, string])[] = [
  ["ada.l+x@mail.example.org", "[EMAIL]"],
  ["用户@例子.广告", "[EMAIL]"],
  ["+44 20 7946 0958", "[PHONE]"],
  ["(415) 555-0134 ext. 12", "[PHONE]"],
  ["4012 8888 8888 1881", "[CREDIT_CARD]"],
  ["536-22-8726", "[SSN]"],
  ["NL91 ABNA 0417 1643 00", "[IBAN]"],
  ["203.0.113.77", "[IP_ADDRESS]"],
  ["2001:db8:85a3::8a2e:370:7334", "[IP_ADDRESS]"],
];

/** In many scripts, without any of it. */
const PLAIN = [
  "Well then",
  "über Straßen",
  "вот так",
  "καλημέρα",
  "你好世界",
  "こんにちは",
  "안녕하세요",
  "مرحبا بك",
  "שלום",
  "नमस्ते",
  "สวัสดี",
  "\u{1f600}\u{1f468}\u{200d}\u{1f469}",
  "e\u0301te\u0301",
  "on 12 May",
  "at 10:30",
  "costs 1 200.50",
  "ver. 2.4.1",
  "@home",
];

test("a stream cut at any position, in any script, shows what the whole answer would", async () => {
  const hooks = piiHooks({ mode: "mask" });
  for (const [word, next] of PLAIN.map((text, n) => [text, PLAIN[(n + 1) % PLAIN.length] ?? ""] as const)) {
    for (const [sample, mask] of DATA) {
      const text = `${word}: ${sample}, ${next}.`;
      for (let at = 1; at < text.length; at++) {
        const seen = await stream(hooks, [text.slice(0, at), text.slice(at)]);
        assert.equal(seen.text, `${word}: ${mask}, ${next}.`, `cut at ${at}`);
      }
    }
  }
});

const words = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...PLAIN).map((text) => [text, text] as const) },
    { weight: 1, arbitrary: fc.constantFrom(...DATA) },
  ),
  { minLength: 1, maxLength: 40 },
);
const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 12 });

function cutUp(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = lengths[pieces.length % lengths.length] ?? 1;
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

test("in mask mode only masks arrive in place of personal data, and all else as it was", async () => {
  const hooks = piiHooks({ mode: "mask" });
  await fc.assert(
    fc.asyncProperty(words, cuts, async (said, lengths) => {
      const text = said.map(([one]) => one).join("; ");
      const seen = await stream(hooks, cutUp(text, lengths));
      assert.equal(seen.text, said.map(([, mask]) => mask).join("; "));
    }),
    { numRuns: 300 },
  );
});

test("in block mode nothing of it arrives, and what does is what stood before it", async () => {
  const hooks = piiHooks({});
  await fc.assert(
    fc.asyncProperty(words, cuts, async (said, lengths) => {
      const text = said.map(([one]) => one).join("; ");
      const first = said.findIndex(([one, mask]) => one !== mask);
      const seen = await stream(hooks, cutUp(text, lengths));
      if (first < 0) {
        assert.deepEqual([seen.text, seen.refusal], [text, undefined]);
        return;
      }
      const before = said
        .slice(0, first)
        .map(([one]) => `${one}; `)
        .join("");
      assert.ok(before.startsWith(seen.text), seen.text);
      assert.match(seen.refusal ?? "", /^Response blocked: .+ detected in output\.$/);
    }),
    { numRuns: 300 },
  );
});

test("rows of digits of any length and grouping show no card, number or address that the whole has not", async () => {
  const hooks = piiHooks({ mode: "mask" });
  const digits = fc.array(
    fc.constantFrom("4012 8888 8888 1881", "1", "22", "4444", " ", "-", ".", "+", "(0)"),
    {
      minLength: 5,
      maxLength: 60,
    },
  );
  await fc.assert(
    fc.asyncProperty(digits, cuts, async (pieces, lengths) => {
      const text = `${pieces.join("")} then 4012 8888 8888 1881 ends`;
      const seen = await stream(hooks, cutUp(text, lengths));
      assert.ok(seen.text.endsWith("then [CREDIT_CARD] ends"), seen.text);
    }),
    { numRuns: 200 },
  );
});

test("arguments of tool calls are held until they are complete, and masked in what they say", async () => {
  const hooks = piiHooks({ mode: "mask" });
  const json = '{"to":"ada\\u0040mail.example.org","card":4012888888881881,"note":"hi \\"you\\""}';
  for (let at = 1; at < json.length; at++) {
    const seen = await stream(hooks, [
      "Sending. ",
      callChunk(delta(0, json.slice(0, at), "send")),
      callChunk(delta(0, json.slice(at)), delta(1, "{}", "wait")),
    ]);
    assert.equal(seen.text, "Sending. ");
    assert.deepEqual(
      seen.calls.map(({ index, id, name }) => [index, id, name]),
      [
        [0, "call_0", "send"],
        [1, "call_1", "wait"],
      ],
    );
    assert.deepEqual(JSON.parse(seen.calls[0]?.arguments ?? ""), {
      to: "[EMAIL]",
      card: "[CREDIT_CARD]",
      note: 'hi "you"',
    });
  }
});

test("a blocked argument ends the stream, and none of the calls is sent", async () => {
  // It is set up without a promise.
  const guardrail = keywordBlocklist.setup({ keywords: ["sombra"] }, testHost()) as Guardrail;
  const seen = await stream(hooksOf(guardrail), [
    callChunk(delta(0, '{"q":"som', "search")),
    callChunk(delta(0, '\\u0062ra"}')),
  ]);
  assert.deepEqual(seen.calls, []);
  assert.equal(seen.refusal, "Response blocked: keyword 'sombra' detected in output.");
});

test("a guardrail in shadow lets every chunk pass as it is, and is recorded", async () => {
  const x = testExchange({ stream: true });
  const verdicts: readonly [string, Verdict][] = [
    ["block", block(refuse(422, "no", "No."), "no")],
    ["replace", replace([{ start: 0, end: 1, text: "*" }], "star")],
  ];
  for (const [word, verdict] of verdicts) {
    const hook = hooksOf({ window: 4, judge: () => verdict }, true).stream?.(x);
    const chunks = [textChunk("some text"), { ...callChunk(delta(0, "{}", "f")), raw: "{}" }];
    for (const chunk of chunks) assert.equal(await hook?.chunk(chunk), chunk);
    assert.equal(await hook?.end?.(), null);
    assert.equal(x.verdicts.at(-1)?.verdict, word);
  }
  const greedy = hooksOf({ judge: () => undefined }, true).stream?.(x);
  const long = textChunk("x".repeat(HELD_MAX + 1));
  assert.equal(await greedy?.chunk(long), long);
  assert.equal(await greedy?.end?.(), null);
});

test("an answer held whole, text or arguments, is refused when it grows beyond what may be held", async () => {
  const whole = hooksOf({ judge: () => undefined });
  const piece = "x".repeat(HELD_MAX / 2);
  const tooLong = `Response blocked: longer than ${HELD_MAX} characters.`;
  assert.equal((await stream(whole, [piece, piece, "x"])).refusal, tooLong);
  assert.equal((await stream(whole, [piece, piece])).refusal, undefined);
  const args = [delta(0, piece, "f"), delta(0, piece), delta(0, "x")].map((one) => callChunk(one));
  assert.equal((await stream(whole, args)).refusal, tooLong);
});

test("a guardrail that answers later guards text and calls in their order", async () => {
  const judged: string[] = [];
  const later: Guardrail = {
    window: 4,
    async judge(text) {
      judged.push(text);
      return undefined;
    },
  };
  const seen = await stream(hooksOf(later), ["Hello ", "world", callChunk(delta(0, '{"a":"b"}', "f"))]);
  assert.equal(seen.text, "Hello world");
  assert.equal(seen.calls[0]?.arguments, '{"a":"b"}');
  assert.equal(judged.at(-1), "a: b\n");
});
