/** The bytes of a request: exactly what was asked for, and nothing in it that could begin a second one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { headerLines, outgoing, requestStart } from "../../../src/net/http1/outgoing.ts";

test("a request is one text: start, headers in their order, length in bytes, body", () => {
  const lines = headerLines({ authorization: "Bearer k", "x-empty": "" });
  assert.equal(typeof lines, "string");
  const { text } = outgoing(
    `${requestStart("POST", "/v1/chat?a=b", "example.com:8443")}${lines}`,
    '{"a":"\u00e9"}',
  );
  assert.deepEqual(text.split("\r\n"), [
    "POST /v1/chat?a=b HTTP/1.1",
    "host: example.com:8443",
    "connection: keep-alive",
    "user-agent: sluice",
    "authorization: Bearer k",
    "x-empty: ",
    "content-length: 10",
    "",
    '{"a":"\u00e9"}',
  ]);
});

test("the encoding gives every body the bytes that were announced", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 50 }), (body) => {
      const { text, encoding } = outgoing("POST / HTTP/1.1\r\n", body);
      const bytes = Buffer.from(text, encoding);
      const head = bytes.indexOf("\r\n\r\n") + 4;
      assert.equal(bytes.subarray(head).toString("utf8"), body);
      assert.match(text, new RegExp(`content-length: ${bytes.length - head}\r\n`));
    }),
  );
  assert.equal(outgoing("", "plain").encoding, "latin1");
  assert.equal(outgoing("", "na\u00efve").encoding, "utf8");
});

const REFUSED: readonly (readonly [name: string, value: string, message: string])[] = [
  ["x-a", "one\r\nx-b: two", "invalid x-a header"],
  ["x-a", "one\n", "invalid x-a header"],
  ["x-a", "one\r", "invalid x-a header"],
  ["x-a", "\0", "invalid x-a header"],
  ["x-a", "caf\u00e9", "invalid x-a header"],
  ["x-a", "\u560d\u560a", "invalid x-a header"],
  ["x a", "one", "invalid header name"],
  ["x-a:", "one", "invalid header name"],
  ["x-a\r\nx-b", "one", "invalid header name"],
  ["", "one", "invalid header name"],
  ["Content-Length", "5", "invalid Content-Length header"],
  ["transfer-encoding", "chunked", "invalid transfer-encoding header"],
  ["connection", "close", "invalid connection header"],
  ["expect", "100-continue", "invalid expect header"],
];

for (const [name, value, message] of REFUSED) {
  test(`no header ${JSON.stringify(`${name}: ${value}`)}, and its value is not told`, () => {
    const lines = headerLines({ accept: "*/*", [name]: value });
    assert.ok(lines instanceof Error);
    assert.equal(lines.message, message);
  });
}
