/** Long texts are judged in pieces: the verdict is that on the whole text, other calls are served, and deadlines hold. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import keywordBlocklist from "../../plugins/keyword-blocklist/index.ts";
import pii from "../../plugins/pii/index.ts";
import promptInjection from "../../plugins/prompt-injection/index.ts";
import { edited } from "../../src/guardrails/edits.ts";
import { judge, verdictOn } from "../../src/guardrails/judge.ts";
import { Failure, type GuardContext } from "../../src/guardrails/verdict.ts";
import type { Clock, Guardrail, MaybePromise, TextContext, Verdict } from "../../src/plugin/index.ts";
import { isGatewayError, isPromise, replace } from "../../src/plugin/index.ts";
import { testExchange, testHost } from "../../src/testing/test-host.ts";

function contextOf(guardrail: Guardrail, clock: Clock = testHost().clock, timeout_ms = 1000): GuardContext {
  const use = { on: ["input"], on_error: "block", timeout_ms, shadow: false, isolate: false } as const;
  return { name: "guard", guardrail, use, clock, log: testHost().log };
}

function aboutOf(text: string): TextContext {
  const exchange = testExchange();
  return { side: "input", role: "user", totalCharacters: text.length, partial: false, exchange };
}

/** A clock on which every look takes a millisecond. */
function slowClock(): Clock {
  let ms = 0;
  return { ...testHost().clock, monotonicMs: () => ms++ };
}

/** Set up without a promise, as the built-in ones are. */
function builtIn(made: MaybePromise<Guardrail>): Guardrail {
  assert.ok(!isPromise(made));
  return made;
}

const masking = builtIn(pii.setup({ mode: "mask" }, testHost()));
const injection = builtIn(promptInjection.setup({}, testHost()));
const keywords = builtIn(
  keywordBlocklist.setup(
    { keywords: ["sombra", "blue moon"], patterns: { start: "^key \\d+", end: "over$" } },
    testHost(),
  ),
);

function verdictOf(verdict: MaybePromise<Verdict | Failure>): Verdict {
  assert.ok(!isPromise(verdict) && !(verdict instanceof Failure));
  return verdict;
}

const fragments = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("word ", "12 ", "a.b ", "\n", "é", "\u{1f600}", "penasombras ") },
    {
      weight: 1,
      arbitrary: fc.constantFrom("ada@mail.example.org", "203.0.113.77", "sombra", "blue \n moon"),
    },
    { weight: 1, arbitrary: fc.constantFrom("NL91 ABNA 0417 1643 00", "+44 20 7946 0958", "key 12", "over") },
  ),
  { minLength: 1, maxLength: 120 },
);

test("the verdict on a text in pieces is the verdict on the whole text", () => {
  let replaced = 0;
  fc.assert(
    fc.property(fragments, fc.integer({ min: 1, max: 80 }), (parts, slice) => {
      const text = parts.join("");
      for (const guardrail of [masking, keywords, injection]) {
        const whole = verdictOf(
          verdictOn(contextOf({ ...guardrail, slice: text.length + 1 }), text, aboutOf(text)),
        );
        const pieces = verdictOf(verdictOn(contextOf({ ...guardrail, slice }), text, aboutOf(text)));
        assert.equal(pieces?.verdict, whole?.verdict, JSON.stringify(text));
        if (whole?.verdict !== "replace" || pieces?.verdict !== "replace") continue;
        replaced++;
        assert.equal(edited(text, pieces.edits), edited(text, whole.edits));
      }
    }),
    { numRuns: 400, seed: 12 },
  );
  assert.ok(replaced > 50, `only ${replaced} texts were masked`);
});

test("a text of 1 KB is judged without a promise, on a clock however slow", () => {
  const text = "Send it to ada@mail.example.org. ".repeat(32).slice(0, 1024);
  for (const guardrail of [masking, injection, keywords]) {
    assert.ok(!isPromise(verdictOn(contextOf(guardrail, slowClock()), text, aboutOf(text))));
  }
});

test("while a long text is judged the event loop turns, and the verdict is the same", async () => {
  const text = "1-1.1(1)1/1 ".repeat(20_000);
  let turns = 0;
  let judging = true;
  const count = (): void => {
    turns++;
    if (judging) setImmediate(count);
  };
  setImmediate(count);
  const context = contextOf(masking, slowClock(), 1_000_000);
  const verdict = verdictOn(context, text, aboutOf(text));
  assert.ok(isPromise(verdict), "it gives up the thread");
  await verdict;
  judging = false;
  assert.ok(turns > 5, `${turns} turns`);
});

test("no run of a built-in guardrail is over a text longer than its slice and its windows", async () => {
  for (const guardrail of [masking, injection, keywords]) {
    const text = "a plain text of words and 1234 numbers, ".repeat(5000);
    const { slice: given = 0, window } = guardrail;
    const slice = typeof given === "number" ? given : given(text);
    assert.ok(slice > 1024 && typeof window === "number");
    let longest = 0;
    const watched: Guardrail = {
      ...guardrail,
      judge(text, about) {
        longest = Math.max(longest, text.length);
        return guardrail.judge(text, about);
      },
    };
    await verdictOn(contextOf(watched), text, aboutOf(text));
    assert.ok(longest > 0 && longest <= slice + 2 * window, `${longest} of ${slice} and ${window}`);
  }
});

test("`timeout_ms` holds for a synchronous guardrail on a long text", async () => {
  const context = contextOf(masking, slowClock(), 20);
  const text = "1-1.1(1)1/1 ".repeat(50_000);
  const about = aboutOf(text);
  const judgement = await judge(context, text, about);
  assert.ok(isGatewayError(judgement));
  assert.equal(judgement.code, "guardrail_failed");
  assert.deepEqual(
    about.exchange.verdicts.map(({ verdict, reason }) => [verdict, reason]),
    [["error", "timeout"]],
  );
});

test("a match longer than the declared window still ends the judgement", () => {
  const all = (text: string): Verdict => replace([{ start: 0, end: text.length, text: "*" }], "all");
  const text = "x".repeat(1000);
  const verdict = verdictOf(verdictOn(contextOf({ window: 8, slice: 16, judge: all }), text, aboutOf(text)));
  assert.ok(verdict?.verdict === "replace");
  assert.equal(edited(text, verdict.edits), "*");
});
