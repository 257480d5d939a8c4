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

/** Less than that is not told apart; work in the square of 64 KB takes a thousand times as long. */
const NOISE_MS = 0.5;

/**
 * How the time for a text grows when it becomes four times as long: about 4 where work is linear, 16 where it is
 * quadratic. Takes the least of several tries on each side, and more of them while the machine's other work shows.
 */
export function growth(unit: string, run: (text: string) => unknown): number {
  const small = unit.repeat(Math.ceil((1 << 16) / unit.length));
  const large = small.repeat(4);
  let smallMs = Number.POSITIVE_INFINITY;
  const ratio = (): number => largeMs / Math.max(smallMs, NOISE_MS);
  let largeMs = Number.POSITIVE_INFINITY;
  run(large);
  for (let n = 0; n < 20; n++) {
    smallMs = Math.min(
      smallMs,
      tookMs(() => run(small)),
    );
    largeMs = Math.min(
      largeMs,
      tookMs(() => run(large)),
    );
    if (n >= 2 && ratio() < 6) break;
  }
  return ratio();
}

/** Processor time, not the clock's: what else runs on the machine does not count. */
function tookMs(run: () => unknown): number {
  const begun = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}
