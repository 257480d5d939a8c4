/**
 * Reads a recorded session of curl calls: `## title`, a line `$ curl …`, and below it what curl printed. Placeholders
 * stand for what differs from call to call: `<uuid>` and `<date>`.
 */

export interface Exchange {
  readonly title: string;
  readonly method: string;
  /** Path with query, without the origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Status line, headers, empty line, body. */
  readonly printed: string;
}

/** Everything before the first `## ` is for people. */
export function sessionOf(text: string): Exchange[] {
  const [, ...entries] = text.split(/^## /m);
  return entries.map((entry) => {
    const [title = "", command = "", ...printed] = entry.trimEnd().split("\n");
    return { title, ...commandOf(command), printed: printed.join("\n") };
  });
}

/** What of an answer differs from call to call, as placeholders. */
export function withPlaceholders(printed: string): string {
  return printed
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>")
    .replace(/^Date: .*$/m, "Date: <date>");
}

/** As much of curl's options as the sessions use: -i, -H, -d, -X, words with or without single quotes. */
function commandOf(line: string): Omit<Exchange, "title" | "printed"> {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
  const [prompt, curl, ...rest] = words;
  if (prompt !== "$" || curl !== "curl") throw new Error(`not a curl command: ${line}`);
  const headers: Record<string, string> = {};
  let method: string | undefined;
  let body: string | undefined;
  let path = "";
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? "";
    if (word === "-i") continue;
    if (!word.startsWith("-")) path = word.replace(/^https?:\/\/[^/]+/, "");
    else {
      const value = rest[++at] ?? "";
      if (word === "-H")
        headers[value.slice(0, value.indexOf(":")).toLowerCase()] = value.replace(/^[^:]*:\s*/, "");
      else if (word === "-d") body = value;
      else if (word === "-X") method = value;
      else throw new Error(`curl's ${word} is not known here`);
    }
  }
  return { method: method ?? (body === undefined ? "GET" : "POST"), path, headers, body };
}
