/** What one step must not say: two calls at once, answers that exclude each other, patterns that are none. */
import { patternRefusal } from "../base/linear-pattern.ts";
import { child, isPlainMap, type PlainMap, type Spot, type Tree } from "../config/read/tree.ts";
import type { Reporter } from "../config/report/diagnostic.ts";
import { nearestName } from "../config/report/suggest.ts";
import { isMatcher } from "./matchers.ts";
import type { TestStep } from "./model.ts";
import { hasPlaceholders } from "./placeholders.ts";
import { CALL_KEYS, CALL_TARGETS } from "./schema/call.ts";

interface Checking {
  readonly tree: Tree;
  readonly reporter: Reporter;
}

export function checkStep({ index, value, spot }: TestStep, checking: Checking): void {
  if (index === undefined && Object.hasOwn(value, "steps")) return;
  const isFaulty = ["call", "http", "advance"].some((key) => checking.tree.isFaulty(value, key));
  const given = ["call", "http", ...(index === undefined ? [] : ["advance"])].filter((key) =>
    Object.hasOwn(value, key),
  );
  if (given.length === 0 && !isFaulty) {
    const what = index === undefined ? "the case" : "the step";
    checking.reporter.report("E0501", spot, `${what} makes no call`, {
      help: `add \`call:\` or \`http:\`${index === undefined ? ", or `steps:` with several" : ", or `advance:`"}`,
    });
  }
  for (const key of given.slice(1))
    checking.reporter.report(
      "E0501",
      child(value, key, spot),
      `\`${given[0]}\` and \`${key}\` exclude each other`,
      {
        at: "key",
        help: "make two steps of it",
      },
    );
  if (isPlainMap(value["call"])) checkCall(value["call"], child(value, "call", spot), checking);
  checkAnswers(value, spot, checking);
  if (isPlainMap(value["expect"])) checkPatterns(value["expect"], child(value, "expect", spot), checking);
}

function checkCall(call: PlainMap, spot: Spot, { tree, reporter }: Checking): void {
  const targets = CALL_TARGETS.filter((key) => Object.hasOwn(call, key));
  const others = Object.keys(call).filter((key) => !CALL_KEYS.has(key));
  if (targets.length === 0 && !CALL_TARGETS.some((key) => tree.isFaulty(call, key))) {
    const near = others.find((key) => nearestName(key, CALL_TARGETS) !== undefined);
    const suggestion = near === undefined ? undefined : nearestName(near, CALL_TARGETS);
    reporter.report(
      "E0501",
      near === undefined ? spot : child(call, near, spot),
      "the call names no endpoint, alias, tool or proxy",
      { at: "key", suggestion, help: suggestion === undefined ? "add `endpoint: SLUG`" : undefined },
    );
    return;
  }
  for (const key of targets.slice(1))
    reporter.report("E0501", child(call, key, spot), `\`${targets[0]}\` and \`${key}\` exclude each other`, {
      at: "key",
    });
  if (Object.hasOwn(call, "message") && Object.hasOwn(call, "messages"))
    reporter.report("E0501", child(call, "messages", spot), "`message` and `messages` exclude each other", {
      at: "key",
    });
  for (const key of others) {
    const suggestion = nearestName(key, CALL_KEYS);
    if (suggestion === undefined || key.length < MISTYPED_CHARACTERS_MIN || BODY_KEYS.has(key)) continue;
    const message = `\`${key}\` goes into the body as it is: the key is not one of a call`;
    reporter.report("W0501", child(call, key, spot), message, { at: "key", suggestion });
  }
}

/** Of the body of OpenAI's clients. */
const BODY_KEYS: ReadonlySet<string> = new Set(["tools", "stream_options"]);
/** Shorter names are near to too many others. */
const MISTYPED_CHARACTERS_MIN = 4;

const ANSWERS = ["reply", "chunks", "json", "status", "timeout", "recording", "tool_calls"];
/** What may stand beside what. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  reply: ["usage", "finish_reason", "tool_calls", "headers", "disconnect"],
  chunks: ["usage", "finish_reason", "tool_calls", "headers", "disconnect"],
  tool_calls: ["usage", "finish_reason", "reply", "chunks", "headers", "disconnect"],
  json: ["headers", "status"],
  status: ["body", "headers", "json"],
  recording: ["headers", "disconnect"],
  timeout: [],
};

function checkAnswers(step: PlainMap, spot: Spot, checking: Checking): void {
  const { provider } = step;
  const at = child(step, "provider", spot);
  if (isPlainMap(provider)) checkAnswer(provider, at, checking);
  if (!Array.isArray(provider)) return;
  for (const [index, entry] of provider.entries())
    if (isPlainMap(entry)) checkAnswer(entry, child(provider, index, at), checking);
}

function checkAnswer(entry: PlainMap, spot: Spot, { reporter }: Checking): void {
  const keys = Object.keys(entry);
  const main = ANSWERS.find((key) => keys.includes(key));
  const allowed =
    main === undefined
      ? ["usage", "finish_reason", "headers", "disconnect"]
      : [main, ...(BESIDE[main] ?? [])];
  for (const key of keys) {
    if (allowed.includes(key)) continue;
    const subject = main === undefined ? "nothing that it belongs to" : `\`${main}\``;
    reporter.report("E0501", child(entry, key, spot), `\`${key}\` cannot stand beside ${subject}`, {
      at: "key",
      help: main === undefined ? "`body` belongs to `status`" : `beside \`${main}\`: ${listedKeys(main)}`,
    });
  }
}

function listedKeys(main: string): string {
  const keys = BESIDE[main] ?? [];
  return keys.length === 0 ? "nothing" : keys.join(", ");
}

/** Patterns are RE2. */
function checkPatterns(expected: object, parent: Spot, checking: Checking): void {
  for (const [key, value] of Object.entries(expected)) {
    const spot = child(expected, Array.isArray(expected) ? Number(key) : key, parent);
    if (isMatcher(expected) && key === "matches" && typeof value === "string" && !hasPlaceholders(value)) {
      const refusal = patternRefusal(value);
      if (refusal !== undefined)
        checking.reporter.report("E0504", spot, `the pattern cannot be used: ${refusal.message}`, {
          help: refusal.help,
        });
    } else if (typeof value === "object" && value !== null) checkPatterns(value, spot, checking);
  }
}
