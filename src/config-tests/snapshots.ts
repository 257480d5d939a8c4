/** Snapshots: a body as a file keeps it, without what differs between two equal runs. */

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;
const MOMENT = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})/g;
const CHAT_ID = /\b(?:chatcmpl|msg|resp|call|offline)[-_][A-Za-z0-9_-]+/g;
const ID_KEYS: ReadonlySet<string> = new Set(["id", "request_id", "session_id"]);
const TIME_KEYS: ReadonlySet<string> = new Set(["created", "created_at", "timestamp"]);

/** Ids, times and request ids are replaced by `<id>` and `<time>`. */
export function withoutIds(value: unknown, key = ""): unknown {
  if (typeof value === "string") {
    if (ID_KEYS.has(key)) return "<id>";
    return value.replace(UUID, "<id>").replace(CHAT_ID, "<id>").replace(MOMENT, "<time>");
  }
  if (typeof value === "number") return TIME_KEYS.has(key) ? "<time>" : value;
  if (Array.isArray(value)) return value.map((item) => withoutIds(item, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutIds(item, name)]));
}

/** A body as its file holds it: a text as it is, anything else as JSON. */
export function snapshotText(body: unknown): string {
  const plain = withoutIds(body ?? "");
  const text = typeof plain === "string" ? plain : JSON.stringify(plain, null, 2);
  return text.endsWith("\n") ? text : `${text}\n`;
}

/** The first line that differs, from 1, with what stands there; undefined where the texts are equal. */
export function firstDifference(
  expected: string,
  actual: string,
): { readonly line: number; readonly expected: string; readonly actual: string } | undefined {
  if (expected === actual) return undefined;
  const [wanted, got] = [expected.split("\n"), actual.split("\n")];
  const at = wanted.findIndex((line, index) => line !== got[index]);
  const index = at < 0 ? wanted.length : at;
  const shown = (lines: readonly string[]): string => lines[index]?.trim() ?? "the end of the file";
  return { line: index + 1, expected: shown(wanted), actual: shown(got) };
}
