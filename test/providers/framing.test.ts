/** Server-sent events and JSON lines come out whole, wherever the network cuts them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENT_BYTES_MAX, framing } from "../../src/upstream/framing.ts";

type Event = readonly [name: string, text: string];

function read(kind: "sse" | "ndjson", pieces: readonly Buffer[]): Event[] {
  const events: Event[] = [];
  const reader = framing(kind, (name, text) => events.push([name, text]));
  for (const piece of pieces) assert.equal(reader.push(piece), true);
  assert.equal(reader.end(), true);
  return events;
}

/** The text cut in two at every byte, then a byte at a time. */
function everyCut(text: string): Buffer[][] {
  const bytes = Buffer.from(text, "utf8");
  const cuts = Array.from({ length: bytes.length + 1 }, (_, at) => [
    bytes.subarray(0, at),
    bytes.subarray(at),
  ]);
  return [...cuts, Array.from(bytes, (byte) => Buffer.from([byte]))];
}

function readsAs(kind: "sse" | "ndjson", text: string, expected: readonly Event[]): void {
  for (const pieces of everyCut(text)) assert.deepEqual(read(kind, pieces), expected);
}

test("events ended by LF, CRLF or CR are read the same at every cut", () => {
  const lines = ['data: {"a":1}', "", "event: news", "data:two", "", "data: [DONE]", "", ""];
  const expected: Event[] = [
    ["", '{"a":1}'],
    ["news", "two"],
    ["", "[DONE]"],
  ];
  for (const end of ["\n", "\r\n", "\r"]) readsAs("sse", lines.join(end), expected);
});

test("characters of several bytes survive every cut", () => {
  readsAs("sse", "data: na\u00efve \u{1f375} \u4f60\u597d\n\n", [["", "na\u00efve \u{1f375} \u4f60\u597d"]]);
  readsAs("ndjson", '{"t":"\u{1f375}"}\n{"t":"\u00e9"}\n', [
    ["", '{"t":"\u{1f375}"}'],
    ["", '{"t":"\u00e9"}'],
  ]);
});

test("a byte order mark, comments, ids and retry times are passed over", () => {
  readsAs("sse", "\ufeff: hello\nid: 7\nretry: 10\ndata: x\n: ping\n\n: ping\n\n", [["", "x"]]);
});

test("several data lines are one text, joined by LF", () => {
  readsAs("sse", "data: {\ndata:  1\ndata: }\n\n", [["", "{\n 1\n}"]]);
});

test("one space after the colon is framing, a second one is text", () => {
  readsAs("sse", "data:a\n\ndata: b\n\ndata:  c\n\n", [
    ["", "a"],
    ["", "b"],
    ["", " c"],
  ]);
});

test("what is pending at the end of the body is an event too", () => {
  readsAs("sse", "data: a\n\nevent: last\ndata: b", [
    ["", "a"],
    ["last", "b"],
  ]);
  readsAs("ndjson", '{"a":1}\n{"b":2}', [
    ["", '{"a":1}'],
    ["", '{"b":2}'],
  ]);
});

test("an event without data is none, and its name does not stick to the next", () => {
  readsAs("sse", "event: ping\n\ndata:\n\ndata: x\n\n", [["", "x"]]);
});

test("a field name alone on its line is the field with an empty value", () => {
  readsAs("sse", "data: a\ndata\ndata: b\n\n", [["", "a\n\nb"]]);
  readsAs("sse", "data\n\ndata\ndata\n\ndata: x\n\n", [
    ["", "\n"],
    ["", "x"],
  ]);
  readsAs("sse", "event: news\nevent\ndata: x\n\ndatabase: y\n\neventual: z\n\n", [["", "x"]]);
});

test("a sender of single bytes takes no more memory than its bytes do", () => {
  const reader = framing("sse", () => {});
  const byte = Buffer.from("a");
  const before = process.memoryUsage();
  for (let n = 0; n < 2_000_000; n++) reader.push(byte);
  const after = process.memoryUsage();
  const bytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  // A copy of each read took more than 100 bytes for one.
  assert.ok(bytes < 50_000_000, `${bytes} bytes`);
});

test("an event of 3 MB is one event", () => {
  const text = "a".repeat(3_000_000);
  const bytes = Buffer.from(`data: ${text}\n\n`);
  const reads = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, n) =>
    bytes.subarray(n * 65_536, (n + 1) * 65_536),
  );
  assert.deepEqual(read("sse", reads), [["", text]]);
});

test("blank JSON lines are passed over", () => {
  readsAs("ndjson", '\n{"a":1}\r\n  \r\n{"b":2}\r\n', [
    ["", '{"a":1}'],
    ["", '{"b":2}'],
  ]);
});

test("a line that does not end is refused at its limit", () => {
  for (const kind of ["sse", "ndjson"] as const) {
    const reader = framing(kind, () => assert.fail("no event"));
    const half = Buffer.alloc(EVENT_BYTES_MAX / 2, "a");
    assert.equal(reader.push(half), true);
    assert.equal(reader.push(half), true);
    assert.equal(reader.push(Buffer.from("a")), false);
  }
});

test("an event of many lines is refused at its limit", () => {
  const reader = framing("sse", () => assert.fail("no event"));
  const line = Buffer.from(`data: ${"a".repeat(65_536)}\n`);
  let lines = 0;
  while (reader.push(line)) lines++;
  assert.equal(lines, EVENT_BYTES_MAX / 65_536 - 1);
});
