/** What an answer ended with, in the gateway's words, whichever wire format it was told in. */
import type { ChatResult, FinishReason } from "../../plugin/chat.ts";

/** What an answer ended with. `providerFinishReason`: undefined where it says nothing more. */
export interface Finish {
  readonly finishReason: FinishReason;
  readonly providerFinishReason: ChatResult["providerFinishReason"];
}

/**
 * Maps finish reasons (`provider.finish-reasons`): a word that `reasons` does not know is a stop where anything was `said`, else an
 * error; an answer with tool calls ends with tool_calls, and only such an answer. `word`: the vendor's, "" for none.
 * @since 0.2.0
 */
export function readFinish(
  word: string,
  reasons: ReadonlyMap<string, FinishReason>,
  said: { readonly text: boolean; readonly calls: boolean },
): Finish {
  const known = reasons.get(word) ?? (said.text || said.calls ? "stop" : "error");
  const finishReason = known === "stop" || known === "tool_calls" ? stopped(known, said.calls) : known;
  return {
    finishReason,
    providerFinishReason: word === "" || (word === finishReason && word !== "error") ? undefined : word,
  };
}

function stopped(known: "stop" | "tool_calls", calls: boolean): FinishReason {
  if (calls) return "tool_calls";
  return known === "tool_calls" ? "error" : "stop";
}
