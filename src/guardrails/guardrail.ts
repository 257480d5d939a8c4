/** Turns a guardrail into hooks: one `judge` guards requests, whole answers and streams. */
import { coreExchange, type GuardrailRun } from "../plugin/exchange.ts";
import type { Exchange, Hooks } from "../plugin/index.ts";
import { guardAnswer } from "./answer.ts";
import { inputGuard } from "./input.ts";
import { GuardedStream } from "./stream.ts";
import type { GuardContext } from "./verdict.ts";

export function guardrailHooks(context: GuardContext): Hooks {
  const { on } = context.use;
  const guardInput = inputGuard(context);
  const request: Hooks["request"] = (x) => {
    recordRun(context, x, "input");
    return guardInput(x);
  };
  const response: Hooks["response"] = (x, result) => {
    recordRun(context, x, "output");
    return guardAnswer(context, x, result);
  };
  const stream: Hooks["stream"] = (x) => {
    recordRun(context, x, "output");
    return new GuardedStream(context, x);
  };
  return {
    request: on.includes("input") ? request : undefined,
    response: on.includes("output") ? response : undefined,
    stream: on.includes("output") ? stream : undefined,
    close: context.guardrail.close === undefined ? undefined : () => context.guardrail.close?.(),
  };
}

/** For the log, which tells a guardrail that passed from one that did not run. */
function recordRun(context: GuardContext, x: Exchange, side: GuardrailRun["side"]): void {
  const { name } = context;
  // Read-only for plugins; the gateway's own exchange holds a mutable list.
  const runs = x.guardrails as GuardrailRun[] | undefined;
  const { trace } = coreExchange(x);
  runs?.push(trace === undefined ? { guardrail: name, side } : trace.guardrailBegan(context, name, side));
}
