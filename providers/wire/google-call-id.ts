/**
 * Ids of Google's tool calls. Gemini 3 and later sign what they thought before a call and refuse the next turn without
 * the signature: so it travels in the id, behind a tilde, since nobody else has a place for it.
 */

const MADE = /^call_[0-9a-f]{32}$/;

export interface GoogleCallId {
  /** Google's own id; undefined where Google gave none, or the call is another vendor's. */
  readonly id: string | undefined;
  readonly signature: string | undefined;
}

/** The id that clients see. `newId` makes `call_` and 32 hex digits. */
export function callIdOf(id: string, signature: string, newId: () => string): string {
  if (id !== "") return `${id}~${signature}`;
  return signature === "" ? newId() : `${newId()}~${signature}`;
}

/** What a client's id holds for Google. */
export function readCallId(text: string): GoogleCallId {
  const at = text.lastIndexOf("~");
  if (at === -1) return { id: undefined, signature: undefined };
  const id = text.slice(0, at);
  return { id: MADE.test(id) ? undefined : id, signature: text.slice(at + 1) || undefined };
}
