/** Makes hooks out of a guardrail: one `judge` guards what comes in, whole answers, and streams. */
import type { Hooks } from "../plugin/index.ts";
import { guardAnswer } from "./guardrail-answer.ts";
import { inputGuard } from "./guardrail-input.ts";
import type { GuardContext } from "./guardrail-judge.ts";
import { GuardedStream } from "./guardrail-stream.ts";

export function guardrailHooks(context: GuardContext): Hooks {
  const { on } = context.use;
  return {
    request: on.includes("input") ? inputGuard(context) : undefined,
    response: on.includes("output") ? (x, result) => guardAnswer(context, x, result) : undefined,
    stream: on.includes("output") ? (x) => new GuardedStream(context, x) : undefined,
    close: context.guardrail.close === undefined ? undefined : () => context.guardrail.close?.(),
  };
}
