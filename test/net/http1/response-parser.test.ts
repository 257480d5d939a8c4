/** The response parser on bytes: the same at every cut, strict where two readers could disagree, bounded everywhere. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { INCOMPLETE, ResponseHead } from "../../../src/net/http1/response-head.ts";
import { ResponseParser } from "../../../src/net/http1/response-parser.ts";

interface Parsed {
  readonly outcome: "complete" | "open" | "malformed";
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly reusable: boolean;
}

/** Reads `pieces` as a socket would bring them: into one buffer that is used for all of them. */
function parse(pieces: readonly string[], ends = false): Parsed {
  const parser = new ResponseParser();
  const buffer = Buffer.alloc(64 * 1024);
  let body = "";
  let headers: Record<string, string> = {};
  let sound = true;
  for (const piece of pieces) {
    const headBefore = parser.headComplete;
    sound = parser.read(buffer, buffer.write(piece, "latin1"));
    if (!headBefore && parser.headComplete) headers = { ...parser.head.record() };
    body += parser.body?.toString("latin1") ?? "";
    if (!sound || parser.complete) break;
  }
  if (sound && ends && !parser.complete) parser.end();
  const outcome = !sound ? "malformed" : parser.complete ? "complete" : "open";
  const { status } = parser.head;
  return { outcome, status, body, headers, reusable: parser.complete && parser.reusable };
}

const lines = (...texts: readonly string[]): string => texts.map((text) => `${text}\r\n`).join("");
const LENGTH = lines("HTTP/1.1 200 OK", "Content-Type: text/plain", "Content-Length: 5", "");
const CHUNKS = lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "");

const ANSWERS: readonly (readonly [what: string, text: string, body: string, status?: number])[] = [
  ["a length", `${LENGTH}hello`, "hello"],
  ["no reason phrase", `${lines("HTTP/1.1 201", "content-length: 2", "")}ok`, "ok", 201],
  ["an empty reason phrase and an odd one", lines("HTTP/1.1 299 \t\xe9!", "content-length:0", ""), "", 299],
  ["chunks", `${CHUNKS}${lines("5", "hello", "006", " world", "0", "")}`, "hello world"],
  [
    "chunk sizes in hexadecimal",
    `${CHUNKS}${lines("1A", "x".repeat(26), "0a", "y".repeat(10), "0", "")}`,
    "x".repeat(26) + "y".repeat(10),
  ],
  [
    "extensions and trailers",
    `${CHUNKS}${lines('2;a="b";c', "ok", "0;z", "Expires: never", "X: ", "")}`,
    "ok",
  ],
  ["line breaks within chunks", `${CHUNKS}${lines("6", "\r\n0\r\n\r", "0", "")}`, "\r\n0\r\n\r"],
  ["no content by its status", lines("HTTP/1.1 204 No Content", "content-length: 7", ""), "", 204],
  ["not modified", lines("HTTP/1.1 304 Not Modified", "transfer-encoding: chunked", ""), "", 304],
  [
    "interim answers before it",
    `${lines("HTTP/1.1 100 Continue", "", "HTTP/1.1 103 Early Hints", "Link: </a>", "")}${LENGTH}hello`,
    "hello",
  ],
];

for (const [what, text, body, status = 200] of ANSWERS) {
  test(`an answer with ${what} is the same at every cut`, () => {
    for (let cut = 0; cut < text.length; cut++) {
      const parsed = parse([text.slice(0, cut), text.slice(cut)]);
      const facts = [parsed.outcome, parsed.status, parsed.body, parsed.reusable];
      assert.deepEqual(facts, ["complete", status, body, true], `cut at ${cut}`);
    }
    assert.equal(parse([...text]).body, body);
    assert.equal(parse([...text]).outcome, "complete");
    assert.equal(parse([text.slice(0, -1)], true).outcome, "open");
  });
}

test("a body without length or chunks ends with its connection, at every cut", () => {
  const text = `${lines("HTTP/1.0 200 OK", "")}to the end`;
  for (let cut = 0; cut <= text.length; cut++) {
    const pieces = [text.slice(0, cut), text.slice(cut)];
    assert.equal(parse(pieces).outcome, "open");
    const { outcome, body, reusable } = parse(pieces, true);
    assert.deepEqual([outcome, body, reusable], ["complete", "to the end", false]);
  }
});

test("all chunks of one read come as one piece", () => {
  const parser = new ResponseParser();
  const read = Buffer.from(`${CHUNKS}${lines("3", "one", "5", ", two", "7", ", three")}`);
  assert.equal(parser.read(read, read.length), true);
  assert.equal(parser.body?.toString(), "one, two, three");
  assert.equal(parser.complete, false);
});

test("headers are read with names in lower case, values trimmed, repeated ones joined", () => {
  const text = lines(
    "HTTP/1.1 429 Slow",
    "Retry-After: \t7 ",
    "Via: one",
    "VIA:two",
    "x:",
    "content-length: 0",
    "",
  );
  assert.deepEqual(parse([text]).headers, {
    "retry-after": "7",
    via: "one, two",
    x: "",
    "content-length": "0",
  });
  assert.deepEqual(parse([...text]).headers, parse([text]).headers);
});

const HEAD = (...fields: readonly string[]): string => lines("HTTP/1.1 200 OK", ...fields, "");
const MALFORMED: readonly (readonly [what: string, text: string])[] = [
  ["another protocol", "SSH-2.0-server\r\n"],
  ["a later version", "HTTP/2.0 200 OK\r\n\r\n"],
  ["a version of more digits", "HTTP/1.10 200 OK\r\n\r\n"],
  ["an empty line first", `\r\n${LENGTH}hello`],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
  ["a status below 100", "HTTP/1.1 099 Low\r\n\r\n"],
  ["a change of protocols nobody asked for", lines("HTTP/1.1 101 Switching", "upgrade: x", "")],
  ["NUL in the reason", "HTTP/1.1 200 O\0K\r\n\r\n"],
  ["lines that end in LF alone", "HTTP/1.1 200 OK\ncontent-length: 0\n\n"],
  ["a field line that ends in LF alone", "HTTP/1.1 200 OK\r\ncontent-length: 0\n\r\n"],
  ["CR alone in a value", HEAD("a: b\rc")],
  ["NUL in a value", HEAD("a: \0")],
  ["NUL in a name", HEAD("a\0: b")],
  ["a space before the colon", HEAD("content-length : 0")],
  ["no name", HEAD(": b")],
  ["no colon", HEAD("content-length")],
  ["a folded line", HEAD("a: b", " c")],
  ["a folded line after the status", "HTTP/1.1 200 OK\r\n a: b\r\n\r\n"],
  ["a negative length", HEAD("content-length: -1")],
  ["a signed length", HEAD("content-length: +1")],
  ["an empty length", HEAD("content-length:")],
  ["a hexadecimal length", HEAD("content-length: 0x10")],
  ["a length list", HEAD("content-length: 5, 5")],
  ["two lengths", HEAD("content-length: 5", "content-length: 5")],
  ["a length beyond what is exact", HEAD("content-length: 9999999999999999")],
  ["length and chunks", HEAD("content-length: 5", "transfer-encoding: chunked")],
  ["chunks and length", HEAD("transfer-encoding: chunked", "content-length: 5")],
  ["a transfer encoding other than chunked", HEAD("transfer-encoding: gzip, chunked")],
  ["chunked twice", HEAD("transfer-encoding: chunked", "transfer-encoding: chunked")],
  ["chunks in HTTP/1.0", lines("HTTP/1.0 200 OK", "transfer-encoding: chunked", "")],
  ["too many fields", HEAD(...Array.from({ length: 101 }, (_, n) => `f${n}: v`))],
  ["a head that is too large", HEAD(`a: ${"v".repeat(17_000)}`)],
  ["a head that never ends", `HTTP/1.1 200 OK\r\na: ${"v".repeat(17_000)}`],
  ["interim answers without end", lines("HTTP/1.1 100 Continue", "").repeat(17)],
  ["an interim answer that ends its connection", lines("HTTP/1.1 100 Continue", "connection: close", "")],
  ["an interim answer in HTTP/1.0", lines("HTTP/1.0 100 Continue", "")],
  ["no chunk size", `${CHUNKS}\r\n`],
  ["a negative chunk size", `${CHUNKS}-1\r\n`],
  ["a chunk size with a prefix", `${CHUNKS}0x5\r\nhello\r\n`],
  ["a space before a chunk size", `${CHUNKS} 5\r\nhello\r\n`],
  ["a space after a chunk size", `${CHUNKS}5 \r\nhello\r\n`],
  ["a chunk size beyond what is exact", `${CHUNKS}${"f".repeat(14)}\r\n`],
  ["a chunk size that ends in LF alone", `${CHUNKS}5\nhello\r\n`],
  ["CR and something else after a chunk size", `${CHUNKS}5\rhello\r\n`],
  ["a chunk longer than its size", `${CHUNKS}5\r\nhello!\r\n`],
  ["a chunk that ends in LF alone", `${CHUNKS}5\r\nhello\n`],
  ["NUL in an extension", `${CHUNKS}5;\0\r\nhello\r\n`],
  ["extensions without end", `${CHUNKS}5;${"e".repeat(17_000)}`],
  ["extensions that are too long together", `${CHUNKS}${lines(`1;${"e".repeat(1000)}`, "x").repeat(17)}`],
  ["a trailer without colon", `${CHUNKS}0\r\ntrailer\r\n\r\n`],
  ["a length among the trailers", `${CHUNKS}0\r\ncontent-length: 3\r\n\r\n`],
  ["a transfer encoding among the trailers", `${CHUNKS}0\r\ntransfer-encoding: chunked\r\n\r\n`],
  ["trailers without end", `${CHUNKS}0\r\na: ${"v".repeat(17_000)}`],
];

for (const [what, text] of MALFORMED) {
  test(`refused: ${what}`, () => {
    assert.equal(parse([text]).outcome, "malformed");
    assert.equal(parse([...text]).outcome, "malformed", "in single bytes");
  });
}

test("what came before the malformed part is still heard", () => {
  assert.equal(parse([`${CHUNKS}${lines("5", "hello")}nonsense`]).body, "hello");
});

test("an answer that wants its connection closed, or has something behind it, is the last one", () => {
  const again = (text: string): boolean => parse([text]).reusable;
  assert.equal(again(`${LENGTH}hello`), true);
  assert.equal(again(`${LENGTH}hello!`), false);
  assert.equal(again(`${LENGTH}hello${LENGTH}hello`), false);
  assert.equal(again(`${CHUNKS}${lines("0", "")}\r\n`), false);
  assert.equal(again(`${lines("HTTP/1.1 204 No Content", "")}x`), false);
  assert.equal(again(HEAD("connection: close", "content-length: 0")), false);
  assert.equal(again(HEAD("Connection: Keep-Alive , Close", "content-length: 0")), false);
  assert.equal(again(HEAD("connection: close", "connection: keep-alive", "content-length: 0")), false);
  assert.equal(again(lines("HTTP/1.0 200 OK", "connection: keep-alive", "content-length: 0", "")), false);
});

test("the time that the provider keeps its side is read from its head", () => {
  const secondsOf = (...fields: readonly string[]): number | undefined => {
    const parser = new ResponseParser();
    const read = Buffer.from(HEAD(...fields));
    assert.equal(parser.read(read, read.length), true);
    return parser.head.keepAliveSeconds;
  };
  assert.equal(secondsOf("Keep-Alive: timeout=5, max=100"), 5);
  assert.equal(secondsOf("Keep-Alive: max=100,timeout=72"), 72);
  assert.equal(secondsOf("Keep-Alive: max=100"), undefined);
  assert.equal(secondsOf("Keep-Alive: timeout=soon"), undefined);
  assert.equal(secondsOf(), undefined);
});

test("one parser reads answer after answer, and forgets all of the one before", () => {
  const parser = new ResponseParser();
  for (const [what, text, body, status = 200] of [...ANSWERS, ...ANSWERS]) {
    const read = Buffer.from(text, "latin1");
    assert.equal(parser.read(read, read.length), true, what);
    const facts = [parser.complete, parser.head.status, parser.body?.toString("latin1") ?? ""];
    assert.deepEqual(facts, [true, status, body], what);
    parser.reset();
    assert.deepEqual([parser.headComplete, parser.complete, parser.body], [false, false, undefined]);
  }
});

test("a head of blanks in a connection field is read in linear time, and refused when it is too large", () => {
  const started = performance.now();
  const { outcome } = parse([HEAD(`connection: x${" ".repeat(15_000)}y`, "content-length: 0")]);
  assert.equal(outcome, "complete");
  assert.equal(parse([HEAD(`connection: x${" ".repeat(60_000)}y`)]).outcome, "malformed");
  // Before: 1 s and 45 s. The limit is far above what a slow machine needs for 75 kB.
  assert.ok(performance.now() - started < 500, "quadratic again");
});

test("a head that arrives in single lines, or single bytes, is the same head", () => {
  const text = HEAD(...Array.from({ length: 99 }, (_, n) => `connection: x${" ".repeat(130)}${n}`), "a: b");
  for (const pieces of [text.split(/(?<=\n)/), [...text]]) {
    const parser = new ResponseParser();
    const buffer = Buffer.alloc(1024);
    for (const piece of pieces) assert.equal(parser.read(buffer, buffer.write(piece, "latin1")), true);
    assert.equal(parser.headComplete, true);
    assert.equal(parser.head.record()["a"], "b");
  }
});

test("each field line of a head is read once, however many reads bring it", () => {
  const lineCount = 50;
  const text = HEAD(...Array.from({ length: lineCount }, () => "connection: keep-alive"));
  const bytes = Buffer.from(text);
  let textsMade = 0;
  const decode = bytes.toString.bind(bytes);
  bytes.toString = (...range) => {
    textsMade++;
    return decode(...range);
  };
  const head = new ResponseHead();
  for (let to = 1; to < bytes.length; to++) assert.equal(head.read(bytes, 0, to), INCOMPLETE);
  assert.equal(head.read(bytes, 0, bytes.length), bytes.length);
  assert.equal(textsMade, lineCount * 2, "a name and a value of each line");
});
