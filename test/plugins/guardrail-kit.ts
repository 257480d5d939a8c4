/** Puts texts to a guardrail outside any gateway: what tests of guardrails share. Knows no guardrail by name. */

import type { Guardrail, Host, TextContext, Verdict } from "sluice/plugin";
import type { GuardrailPlugin } from "../../src/plugin/contract.ts";

/** Only what is not the default of a user's single message. */
export type About = Partial<Omit<TextContext, "exchange">>;

export interface Judge {
  readonly guardrail: Guardrail;
  judge(text: string, about?: About): Verdict;
  /** The refusal's message, or undefined. */
  refusal(text: string, about?: About): string | undefined;
  /** The text as it would go on; blocked texts too go on as they are. */
  masked(text: string, about?: About): string;
}

/** Sets a guardrail up with these options. It must do so, and judge, without a promise. */
export function judgeOf<C>(plugin: GuardrailPlugin<C>, options: C): Judge {
  // Guardrails that are tested here ask nothing of the host, nor of the exchange below.
  const guardrail = plugin.setup(options, {} as Host) as Guardrail;
  const judge = (text: string, about: About = {}): Verdict =>
    guardrail.judge(text, {
      side: "input",
      role: "user",
      totalCharacters: text.length,
      partial: false,
      ...about,
      // See above: nothing reads it.
      exchange: {} as TextContext["exchange"],
    }) as Verdict;
  return {
    guardrail,
    judge,
    refusal: (text, about) => {
      const verdict = judge(text, about);
      return verdict?.verdict === "block" ? verdict.error.message : undefined;
    },
    masked: (text, about) => {
      const verdict = judge(text, about);
      if (verdict?.verdict !== "replace") return text;
      return verdict.edits.reduceRight(
        (out, edit) => out.slice(0, edit.start) + edit.text + out.slice(edit.end),
        text,
      );
    },
  };
}

/** Longer than what any guardrail reads in one piece: cutting a text into pieces is work that shorter ones do not cost. */
const SMALL_CHARACTERS = 40_000;
const TIMES = 4;

/**
 * How the work for a text grows when it becomes four times as long: about 4 where work is linear, 16 where it is
 * quadratic. Counts characters instead of time, so that a busy machine changes nothing.
 */
export function growth(unit: string, run: (text: string) => unknown): number {
  const small = unit.repeat(Math.ceil(SMALL_CHARACTERS / unit.length));
  // What is loaded or cached by the first run is not part of the work.
  run(small);
  return workOf(small.repeat(TIMES), run) / workOf(small, run);
}

/**
 * Characters that are read: those of the text, those that regular expressions pass over, and those that are searched,
 * copied or looked at one by one. What an expression does inside a single match is not seen here but proved by
 * test/expressions.test.ts.
 */
function workOf(text: string, run: (text: string) => unknown): number {
  const { exec } = RegExp.prototype;
  const { charCodeAt, codePointAt, indexOf, slice } = String.prototype;
  let work = text.length;
  RegExp.prototype.exec = function (this: RegExp, searched: string) {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const match = exec.call(this, searched);
    const end = match === null ? (this.sticky ? from : searched.length) : match.index + match[0].length;
    work += 1 + Math.max(0, end - from);
    return match;
  };
  String.prototype.charCodeAt = function (this: string, at) {
    work++;
    return charCodeAt.call(this, at);
  };
  String.prototype.codePointAt = function (this: string, at) {
    work++;
    return codePointAt.call(this, at);
  };
  String.prototype.indexOf = function (this: string, searched, from = 0) {
    const found = indexOf.call(this, searched, from);
    work += 1 + Math.max(0, (found === -1 ? this.length : found) - from);
    return found;
  };
  String.prototype.slice = function (this: string, start, end) {
    const piece = slice.call(this, start, end);
    work += piece.length;
    return piece;
  };
  try {
    run(text);
  } finally {
    Object.assign(RegExp.prototype, { exec });
    Object.assign(String.prototype, { charCodeAt, codePointAt, indexOf, slice });
  }
  return work;
}
