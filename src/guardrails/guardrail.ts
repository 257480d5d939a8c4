/** Makes hooks out of a guardrail: one `judge` guards what comes in, whole answers, and streams. */
import type { GuardrailRun } from "../plugin/exchange.ts";
import type { Exchange, Hooks } from "../plugin/index.ts";
import { guardAnswer } from "./answer.ts";
import { inputGuard } from "./input.ts";
import type { GuardContext } from "./judge.ts";
import { GuardedStream } from "./stream.ts";

export function guardrailHooks(context: GuardContext): Hooks {
  const { on } = context.use;
  const guardInput = inputGuard(context);
  const request: Hooks["request"] = (x) => {
    noteRun(context, x, "input");
    return guardInput(x);
  };
  const response: Hooks["response"] = (x, result) => {
    noteRun(context, x, "output");
    return guardAnswer(context, x, result);
  };
  const stream: Hooks["stream"] = (x) => {
    noteRun(context, x, "output");
    return new GuardedStream(context, x);
  };
  return {
    request: on.includes("input") ? request : undefined,
    response: on.includes("output") ? response : undefined,
    stream: on.includes("output") ? stream : undefined,
    close: context.guardrail.close === undefined ? undefined : () => context.guardrail.close?.(),
  };
}

/** For the log: that it passed is told apart from that it was not there. */
function noteRun({ name }: GuardContext, x: Exchange, side: GuardrailRun["side"]): void {
  // The gateway's own calls keep a list; a plugin sees it read-only.
  (x.guardrails as GuardrailRun[] | undefined)?.push({ guardrail: name, side });
}
