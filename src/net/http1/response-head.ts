/**
 * The head of an HTTP/1.1 answer, read from bytes in one pass (RFC 9112). Strict: what two readers could take for two
 * different things is refused, never repaired. Headers become texts only when they are read.
 */

/** More bytes are needed; read again from the same place with more of them. */
export const INCOMPLETE = -1;
export const MALFORMED = -2;

const FIELDS_MAX = 100;
const VERSION = "HTTP/1.";
const STATUS_LINE_BYTES_MIN = "HTTP/1.1 200\r".length;

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const ZERO = 48;
const COLON = 58;

const NAME_BYTES = bytesMatching(/[!#$%&'*+.^_`|~\w-]/);
/** Of a value or a reason phrase: text and tabs, no control characters. */
export const TEXT_BYTES = bytesMatching(/[\t\x20-\x7e\x80-\xff]/);

export class ResponseHead {
  status = 0;
  /** undefined: not announced. */
  contentLength: number | undefined;
  chunked = false;
  /** The connection may be used again, according to the head. */
  persistent = true;
  /** Idle time that the provider announces. */
  keepAliveSeconds: number | undefined;
  #bytes: Buffer | undefined;
  #fieldsFrom = 0;
  #fieldsTo = 0;
  /** Bytes of whole lines read so far of a section that is incomplete: each line is read once, even if it arrives in pieces. */
  #readBytes = 0;
  /** Field lines among them. */
  #fieldCount = 0;
  #statusLineBytes = 0;

  /** Where the head that begins at `from` ends, its empty line included; or INCOMPLETE or MALFORMED. */
  read(bytes: Buffer, from: number, to: number): number {
    if (this.#readBytes === 0) {
      this.contentLength = undefined;
      this.chunked = false;
      this.keepAliveSeconds = undefined;
      const fieldsFrom = this.#statusLine(bytes, from, to);
      if (fieldsFrom < 0) return fieldsFrom;
      this.#readBytes = this.#statusLineBytes = fieldsFrom - from;
    }
    const end = this.#fields(bytes, from, to, false);
    if (end < 0) return end;
    // A length and chunks at once is how answers are smuggled; HTTP/1.0 has no chunks (RFC 9112 section 6.1).
    if (this.chunked && (this.contentLength !== undefined || bytes[from + VERSION.length] === ZERO))
      return MALFORMED;
    this.#bytes = bytes;
    this.#fieldsFrom = from + this.#statusLineBytes;
    this.#fieldsTo = end;
    return end;
  }

  /** The same for the fields after the last chunk: the same syntax, no framing fields, and all of them dropped. */
  skipTrailers(bytes: Buffer, from: number, to: number): number {
    return this.#fields(bytes, from, to, true);
  }

  /** Names in lower case; a repeated header is joined with a comma. Only until more is read. */
  record(): Record<string, string> {
    const record: Record<string, string> = Object.create(null);
    const fields = this.#bytes?.toString("latin1", this.#fieldsFrom, this.#fieldsTo) ?? "";
    for (const line of fields.split("\r\n")) {
      const colon = line.indexOf(":");
      if (colon < 0) continue;
      const name = line.slice(0, colon).toLowerCase();
      const value = withoutBlanks(line.slice(colon + 1));
      const before = record[name];
      record[name] = before === undefined ? value : `${before}, ${value}`;
    }
    return record;
  }

  /** Lets go of the bytes. */
  forget(): void {
    this.#bytes = undefined;
  }

  #statusLine(bytes: Buffer, from: number, to: number): number {
    for (let i = 0; i < VERSION.length; i++) {
      if (from + i === to) return INCOMPLETE;
      if (bytes[from + i] !== VERSION.charCodeAt(i)) return MALFORMED;
    }
    if (to - from < STATUS_LINE_BYTES_MIN) return INCOMPLETE;
    let at = from + VERSION.length;
    const minor = (bytes[at++] ?? 0) - ZERO;
    if ((minor !== 0 && minor !== 1) || bytes[at++] !== SPACE) return MALFORMED;
    // Keep-alive of HTTP/1.0 is ambiguous behind proxies: the connection is closed.
    this.persistent = minor === 1;
    let status = 0;
    for (const digits = at + 3; at < digits; at++) {
      const digit = (bytes[at] ?? 0) - ZERO;
      if (digit < 0 || digit > 9) return MALFORMED;
      status = status * 10 + digit;
    }
    if (status < 100) return MALFORMED;
    this.status = status;
    if (bytes[at] !== SPACE && bytes[at] !== CR) return MALFORMED;
    while (at < to && TEXT_BYTES[bytes[at] ?? 0] === 1) at++;
    return lineEnd(bytes, at, to);
  }

  /** Field lines up to and with the empty one, from the first that has not been read. */
  #fields(bytes: Buffer, from: number, to: number, isTrailer: boolean): number {
    let at = from + this.#readBytes;
    for (;;) {
      const next = this.#field(bytes, at, to, isTrailer);
      if (next === INCOMPLETE) {
        this.#readBytes = at - from;
        return INCOMPLETE;
      }
      const isLast = next < 0 || bytes[at] === CR;
      if (isLast) {
        this.#readBytes = 0;
        this.#fieldCount = 0;
        return next;
      }
      at = next;
      this.#fieldCount++;
    }
  }

  /** Behind the line at `at`: a field, or the empty line. */
  #field(bytes: Buffer, from: number, to: number, isTrailer: boolean): number {
    if (from === to) return INCOMPLETE;
    if (bytes[from] === CR) return lineEnd(bytes, from, to);
    if (this.#fieldCount === FIELDS_MAX) return MALFORMED;
    let at = from;
    while (at < to && NAME_BYTES[bytes[at] ?? 0] === 1) at++;
    if (at === to) return INCOMPLETE;
    // A line that begins with a space would continue the one before: obsolete, and refused with all other oddities.
    if (at === from || bytes[at] !== COLON) return MALFORMED;
    const nameBytes = at - from;
    while (++at < to && TEXT_BYTES[bytes[at] ?? 0] === 1);
    const next = lineEnd(bytes, at, to);
    if (next < 0 || !mayFrame(nameBytes, bytes[from] ?? 0)) return next;
    const name = bytes.toString("latin1", from, from + nameBytes).toLowerCase();
    // Trailers that frame a message are not allowed (RFC 9110 section 6.5.1), and parsers differ in what they do then.
    if (isTrailer) return name === "content-length" || name === "transfer-encoding" ? MALFORMED : next;
    const value = withoutBlanks(bytes.toString("latin1", from + nameBytes + 1, at)).toLowerCase();
    return this.#frame(name, value) ? next : MALFORMED;
  }

  /** False when it contradicts itself or another one. */
  #frame(name: string, value: string): boolean {
    if (name === "content-length") {
      if (this.contentLength !== undefined || !/^\d{1,15}$/.test(value)) return false;
      this.contentLength = Number(value);
    } else if (name === "transfer-encoding") {
      if (this.chunked || value !== "chunked") return false;
      this.chunked = true;
    } else if (name === "connection") {
      if (value.split(",").some((option) => withoutBlanks(option) === "close")) this.persistent = false;
    } else if (name === "keep-alive") {
      const seconds = /(?:^|[ \t,])timeout=(\d{1,9})(?!\d)/.exec(value)?.[1];
      if (seconds !== undefined) this.keepAliveSeconds = Number(seconds);
    }
    return true;
  }
}

/** Optional white space around a value is a space or a tab (RFC 9110 section 5.6.3); `trim` removes more than these. */
function withoutBlanks(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

function mayFrame(nameBytes: number, first: number): boolean {
  const letter = first | 0x20;
  if (nameBytes === 10) return letter === 0x63 || letter === 0x6b;
  return (nameBytes === 14 && letter === 0x63) || (nameBytes === 17 && letter === 0x74);
}

/** Behind the CRLF at `at`. A CR or LF alone ends nothing. */
function lineEnd(bytes: Buffer, at: number, to: number): number {
  if (at === to) return INCOMPLETE;
  if (bytes[at] !== CR) return MALFORMED;
  if (at + 1 === to) return INCOMPLETE;
  return bytes[at + 1] === LF ? at + 2 : MALFORMED;
}

function bytesMatching(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (pattern.test(String.fromCharCode(byte)) ? 1 : 0));
}
