/**
 * Checks a guardrail: texts that pass, that are blocked, that are masked, each judged whole and as
 * streams cut at every position, by the machinery that will run it in the gateway.
 *
 *     testGuardrail(acmeTone, {
 *       options: { strictness: "high" },
 *       pass: ["Good morning."],
 *       block: ["You idiot!", { text: "Damn.", message: "Request blocked: please mind the tone." }],
 *     });
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { guardrailHooks } from "../guardrails/guardrail.ts";
import { WINDOW_MAX } from "../guardrails/stream.ts";
import type { Role } from "../plugin/chat.ts";
import { textChunk } from "../plugin/chat.ts";
import type { GuardrailPlugin } from "../plugin/contract.ts";
import { coreExchange } from "../plugin/exchange.ts";
import type { ChatResult, Guardrail, Hooks, Verdict } from "../plugin/index.ts";
import { andThen, isGatewayError } from "../plugin/index.ts";
import { checkPluginShape, type PluginCheck } from "./plugin-checks.ts";
import { type TestHost, testExchange, testHost } from "./test-host.ts";

/** A text alone, or with more to say of it. @since 0.1.0 */
export type PassCase = string | { readonly text: string; readonly role?: Role };

/** A text that is blocked, and the messages that clients get. @since 0.1.0 */
export type BlockCase =
  | string
  | {
      readonly text: string;
      readonly role?: Role;
      /** What the client gets when this was its input. Default: not looked at. */
      readonly message?: string | RegExp;
      /** The same of an answer. */
      readonly answerMessage?: string | RegExp;
    };

/** A text that is masked, and what it becomes. @since 0.1.0 */
export interface MaskCase {
  readonly text: string;
  readonly role?: Role;
  /**
   * What goes on in its place, on both sides. A guardrail with `restore` numbers its masks on input; here they are
   * written without numbers, and that the client gets the originals back is checked beside.
   */
  readonly becomes: string;
}

/** What a guardrail is tested with. @since 0.1.0 */
export interface GuardrailCases<C> {
  /** What `setup` is given; checked against the schema. Default `{}`. */
  readonly options?: C;
  /** Sides to judge on. Default: both. */
  readonly on?: readonly ("input" | "output")[];
  readonly pass?: readonly PassCase[];
  readonly block?: readonly BlockCase[];
  readonly mask?: readonly MaskCase[];
  /** Default: a new `testHost()`. */
  readonly host?: TestHost;
  /** How long `judge` may take before the check fails, in real milliseconds. Default 5000. */
  readonly settleMs?: number;
}

/** Longest text that is cut at every position; a longer one is cut at this many, evenly spaced. */
const CUTS_MAX = 1000;

/** Registers all checks with Node's test runner. @since 0.1.0 */
export function testGuardrail<C>(plugin: GuardrailPlugin<C>, cases: GuardrailCases<C>): void {
  for (const { name, run } of guardrailChecks(plugin, cases)) test(name, run);
}

/** The checks themselves, for other runners. @since 0.1.0 */
export function guardrailChecks<C>(
  plugin: GuardrailPlugin<C>,
  cases: GuardrailCases<C>,
): readonly PluginCheck[] {
  const { pass = [], block = [], mask = [] } = cases;
  const check = (verb: string, text: string, role: Role | undefined, wanted: Wanted): PluginCheck => ({
    name: `${plugin.name} ${verb}: ${shown(text)}`,
    run: async () => checkText(await prepare(plugin, cases), { text, role: role ?? "user", wanted }),
  });
  return [
    { name: `${plugin.name} is a guardrail`, run: () => checkPlugin(plugin, cases) },
    ...pass.map((one) => {
      const { text, role } = typeof one === "string" ? { text: one } : one;
      return check("lets pass", text, role, { becomes: text });
    }),
    ...block.map((one) => {
      const { text, role, message, answerMessage } = typeof one === "string" ? { text: one } : one;
      return check("blocks", text, role, { input: message, output: answerMessage });
    }),
    ...mask.map(({ text, role, becomes }) => check("masks", text, role, { becomes })),
  ];
}

/** What is to come of a text: this one, or a refusal, with these messages where they are given. */
type Wanted =
  | { readonly becomes: string }
  | { readonly input: string | RegExp | undefined; readonly output: string | RegExp | undefined };

interface Subject {
  readonly guardrail: Guardrail;
  readonly hooks: Hooks;
  /** The same with masks that are not numbered. */
  readonly plainHooks: Hooks;
  readonly settleMs: number;
  readonly host: TestHost;
  readonly on: readonly ("input" | "output")[];
}

interface Text {
  readonly text: string;
  readonly role: Role;
  readonly wanted: Wanted;
}

/** What came of a text. */
type Outcome =
  /** `numbered`: the same with the masks of `restore` numbered. */
  { readonly text: string; readonly numbered?: string } | { readonly refusal: string };

async function prepare<C>(plugin: GuardrailPlugin<C>, cases: GuardrailCases<C>): Promise<Subject> {
  const { on = ["input", "output"], host = testHost({ plugin: plugin.name }), settleMs = SETTLE_MS } = cases;
  // A guardrail without required options takes none.
  const guardrail = watched(await plugin.setup(cases.options ?? ({} as C), host));
  const roles = ["user", "tool", "system"] as const;
  const use = { on, roles, on_error: "block", timeout_ms: 1000, shadow: false, isolate: false } as const;
  const context = { name: plugin.name, use, clock: host.clock, log: host.log };
  const hooks = guardrailHooks({ ...context, guardrail });
  const plainHooks = guardrailHooks({ ...context, guardrail: withoutRestore(guardrail) });
  return { guardrail, hooks, plainHooks, host, on, settleMs };
}

async function checkPlugin<C>(plugin: GuardrailPlugin<C>, cases: GuardrailCases<C>): Promise<void> {
  const host = cases.host ?? testHost({ plugin: plugin.name });
  await checkPluginShape(plugin, { kind: "guardrail", options: cases.options ?? {}, host });
  const { guardrail } = await prepare(plugin, cases);
  const { window = "whole" } = guardrail;
  const isWindow =
    window === "whole" || (Number.isInteger(window) && Number(window) >= 0 && Number(window) <= WINDOW_MAX);
  assert.ok(isWindow, `its window is ${window}: a whole number from 0 to ${WINDOW_MAX}, or "whole"`);
  await guardrail.close?.();
}

async function checkText(subject: Subject, { text, role, wanted }: Text): Promise<void> {
  const { on, guardrail } = subject;
  if (on.includes("input")) {
    // Twice: a pattern that remembers where it stopped finds nothing the second time.
    for (const time of ["as input", "as input a second time"]) {
      compare(await asInput(subject, text, role), text, time, wanted);
    }
  }
  if (on.includes("output")) {
    compare(await asAnswer(subject, text), text, "as a whole answer", wanted);
    for (const { how, pieces } of cuts(text)) {
      compare(
        await asStream(subject, pieces),
        text,
        `as a stream ${how} (window: ${guardrail.window ?? "whole"})`,
        wanted,
      );
    }
  }
  await guardrail.close?.();
}

function compare(outcome: Outcome, text: string, how: string, wanted: Wanted): void {
  const what = `${shown(text)} ${how}`;
  if ("becomes" in wanted) {
    assert.ok("text" in outcome, `${what} is refused: ${"refusal" in outcome ? outcome.refusal : ""}`);
    if (outcome.numbered === wanted.becomes) return;
    assert.equal(outcome.text, wanted.becomes, `${what} becomes another text`);
    return;
  }
  assert.ok("refusal" in outcome, `${what} is not blocked`);
  const message = how.startsWith("as input") ? wanted.input : wanted.output;
  if (message instanceof RegExp) assert.match(outcome.refusal, message, `the refusal of ${what}`);
  else if (message !== undefined) assert.equal(outcome.refusal, message, `the refusal of ${what}`);
}

async function asInput(subject: Subject, text: string, role: Role): Promise<Outcome> {
  const { hooks, plainHooks, host, settleMs } = subject;
  const x = testExchange({ received: [{ role, content: text }] });
  const refusal = await settled(plainHooks.request?.(x), settleMs);
  throwFailure(host);
  if (isGatewayError(refusal)) return { refusal: refusal.message };
  const restoring = testExchange({ received: [{ role, content: text }] });
  await settled(hooks.request?.(restoring), settleMs);
  throwFailure(host);
  const { delivery } = coreExchange(restoring);
  const numbered = String(restoring.messages[0]?.content);
  if (delivery !== undefined) {
    const seen = delivery.push(numbered) + delivery.flush();
    assert.equal(seen, text, `${shown(text)} as input: the client does not get the originals back`);
  }
  return { text: String(x.messages[0]?.content), numbered };
}

/** Judged as without `restore`, so that one case states the masks of both sides. */
function withoutRestore(guardrail: Guardrail): Guardrail {
  return {
    ...guardrail,
    judge: (text, about) =>
      andThen(guardrail.judge(text, about), (verdict) =>
        verdict?.verdict === "replace" ? { ...verdict, restore: false } : verdict,
      ),
  };
}

const SETTLE_MS = 5000;

/** The value of a hook; fails when it takes too long, rather than let the process end with nothing left to wait for. */
async function settled<T>(value: T | Promise<T>, settleMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, fail) => {
    timer = setTimeout(() => {
      fail(new assert.AssertionError({ message: `judge has not settled within ${settleMs} ms` }));
    }, settleMs);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function asAnswer({ hooks, host, settleMs }: Subject, text: string): Promise<Outcome> {
  const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
  const result: ChatResult = { id: "1", model: "test", content: text, finishReason: "stop", usage };
  const answered = await settled(hooks.response?.(testExchange(), result), settleMs);
  throwFailure(host);
  if (isGatewayError(answered)) return { refusal: answered.message };
  return { text: answered?.content ?? "" };
}

async function asStream({ hooks, host, settleMs }: Subject, pieces: readonly string[]): Promise<Outcome> {
  const hook = hooks.stream?.(testExchange({ stream: true }));
  let text = "";
  for (const piece of [...pieces, undefined]) {
    const chunk = await settled(
      piece === undefined ? hook?.end?.() : hook?.chunk(textChunk(piece)),
      settleMs,
    );
    throwFailure(host);
    if (isGatewayError(chunk)) return { refusal: chunk.message };
    text += chunk?.text ?? "";
  }
  return { text };
}

function* cuts(text: string): Iterable<{ readonly how: string; readonly pieces: readonly string[] }> {
  yield { how: "of one piece", pieces: [text] };
  yield { how: "of single characters", pieces: [...text] };
  const step = Math.max(1, Math.ceil(text.length / CUTS_MAX));
  for (let at = 1; at < text.length; at += step) {
    yield { how: `cut at ${at}`, pieces: [text.slice(0, at), text.slice(at)] };
  }
}

/** The gateway logs a guardrail that fails and goes on; a test wants to hear of it. */
function throwFailure({ logged }: TestHost): void {
  const failure = logged.find(({ message }) => message === "a guardrail failed");
  if (failure !== undefined) throw failure.fields["err"];
}

/** The same guardrail, its verdicts looked at: the gateway relies on what they promise. */
function watched(guardrail: Guardrail): Guardrail {
  return {
    ...traitsOf(guardrail),
    judge: (text, about) => andThen(guardrail.judge(text, about), (verdict) => checkVerdict(text, verdict)),
    close: () => guardrail.close?.(),
  };
}

function traitsOf({
  window = "whole",
  slice,
  subject,
  cacheable,
}: Guardrail): Omit<Guardrail, "judge" | "close"> {
  return {
    window,
    ...(slice !== undefined && { slice }),
    ...(subject !== undefined && { subject }),
    ...(cacheable !== undefined && { cacheable }),
  };
}

function checkVerdict(text: string, verdict: Verdict): Verdict {
  if (verdict === undefined) return verdict;
  assert.match(String(verdict.reason), /\S/, "a verdict says its reason, for the log");
  if (verdict.verdict === "block") {
    assert.ok(isGatewayError(verdict.error), "a block's error is made with reject or refuse");
    return verdict;
  }
  assert.equal(verdict.verdict, "replace", "a verdict is made with block or replace, or undefined");
  let end = 0;
  for (const edit of verdict.edits) {
    const where = `the edit of ${edit.start} to ${edit.end} in ${shown(text)}`;
    assert.ok(edit.start >= end && edit.end >= edit.start, `${where} overlaps or is out of order`);
    assert.ok(edit.end <= text.length, `${where} goes beyond the text`);
    const hidden = text.slice(edit.start, edit.end);
    const tells = hidden.length > 3 && verdict.reason.includes(hidden);
    assert.ok(!tells, `the reason tells the log what ${where} hides`);
    end = edit.end;
  }
  return verdict;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}
