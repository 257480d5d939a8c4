/** `expect:` of what a call did. */
import type { PlainMap } from "../../config/read/tree.ts";
import type { OfflineResult } from "../../offline/result.ts";
import { attemptWord } from "../observed.ts";

/** Keys beside the status. */
export type ExpectedKey = "content" | "error" | "stage" | "guardrails" | "attempts";

/** A longer answer is expected by its beginning. */
const CONTENT_CHARACTERS_MAX = 80;

export function expectationOf(result: OfflineResult, shows: readonly ExpectedKey[]): PlainMap {
  const expected: PlainMap = { status: result.status };
  const { error, answer, refusedAt, guardrails, attempts } = result;
  if (error !== undefined) {
    expected["error"] = errorOf(error.message);
    if (refusedAt !== undefined) expected["stage"] = refusedAt;
  } else if (shows.includes("content") && answer !== undefined)
    expected["content"] = contentOf(answer.content);
  if (shows.includes("guardrails")) {
    const acted = guardrails.filter(({ verdict }) => verdict !== "pass" && verdict !== "skipped");
    if (acted.length > 0)
      expected["guardrails"] = Object.fromEntries(acted.map(({ name, verdict }) => [name, verdict]));
  }
  if (shows.includes("attempts"))
    expected["attempts"] = attempts.map((attempt) => {
      const word = attemptWord(attempt);
      return { [attempt.target]: /^\d+$/.test(word) ? Number(word) : word };
    });
  return expected;
}

function contentOf(content: string): unknown {
  return content.length <= CONTENT_CHARACTERS_MAX
    ? content
    : { contains: content.slice(0, CONTENT_CHARACTERS_MAX) };
}

/** A longer error has amounts of this one call in it. */
const ERROR_CHARACTERS_MAX = 60;

function errorOf(message: string): unknown {
  const [first = ""] = message.split(/[:.~]/, 1);
  return message.length <= ERROR_CHARACTERS_MAX || first === "" ? message : { contains: first };
}
