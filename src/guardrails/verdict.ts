/**
 * Reads what a guardrail returned. A verdict that is malformed throws: the guardrail has failed, and `on_error` decides.
 * What is returned is a copy, so that nothing changes after it has been checked.
 */
import type { Edit, Verdict } from "../plugin/index.ts";
import { isGatewayError } from "../plugin/index.ts";

/** What a guardrail returned is not a verdict. */
export class VerdictError extends Error {}

/** `text`: what was judged; edits must lie inside it. */
export function readVerdict(returned: unknown, text: string): Verdict {
  if (returned === undefined) return undefined;
  if (!isRecord(returned)) throw new VerdictError(`the verdict is ${shown(returned)}, not an object`);
  const { verdict, reason, error, edits, restore } = returned;
  if (typeof reason !== "string" || reason === "") throw new VerdictError("the verdict has no `reason`");
  if (verdict === "block") {
    if (!isGatewayError(error)) throw new VerdictError("a block needs an `error` made with reject or refuse");
    return { verdict, error, reason };
  }
  if (verdict !== "replace") throw new VerdictError(`\`verdict\` is ${shown(verdict)}, not block or replace`);
  if (restore !== undefined && typeof restore !== "boolean") {
    throw new VerdictError(`\`restore\` is ${shown(restore)}, not true or false`);
  }
  return { verdict, edits: readEdits(edits, text.length), reason, restore: restore === true };
}

function readEdits(edits: unknown, length: number): readonly Edit[] {
  if (!Array.isArray(edits)) throw new VerdictError("`edits` is not a list");
  const read: Edit[] = [];
  let after = 0;
  for (let n = 0; n < edits.length; n++) {
    const edit: unknown = edits[n];
    if (!isRecord(edit)) throw new VerdictError(`edit ${n + 1} is not an object`);
    const { start, end, text } = edit;
    if (!isPlace(start) || !isPlace(end) || typeof text !== "string") {
      throw new VerdictError(`edit ${n + 1} needs a whole \`start\` and \`end\` and a \`text\``);
    }
    const span = `edit ${n + 1}, ${start} to ${end},`;
    if (end < start) throw new VerdictError(`${span} ends before it starts`);
    if (start < after) throw new VerdictError(`${span} overlaps the one before it or is out of order`);
    if (end > length) throw new VerdictError(`${span} ends outside the text, which has ${length} characters`);
    after = end;
    read.push({ start, end, text });
  }
  return read;
}

function isPlace(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** In short, and none of a text. */
function shown(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
