/** Bodies, paths and bytes that are wrong: each a clear refusal, never a 500, and the gateway goes on. */
import assert from "node:assert/strict";
import { after } from "node:test";
import { assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { echoEntry, PROJECT, TOKENS } from "./kit/config.ts";
import { startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const LIMIT = 20_000;
const g = await startGateway(
  { after },
  { server: { max_body_bytes: LIMIT, body_timeout_ms: 4_000 }, endpoint: echoEntry({}) },
);
const ask = `/api/${PROJECT}/ask`;

function head(...lines: string[]): string {
  const first = [`POST ${ask} HTTP/1.1`, "Host: x", `Authorization: Bearer ${TOKENS.web}`];
  return `${[...first, ...lines].join("\r\n")}\r\n\r\n`;
}

async function stillAnswers(): Promise<void> {
  assert.equal(assertAnswered(await g.call({ message: "Still there?" })), "Still there?");
}

verifies(
  ["http.body.malformed", "http.body.empty", "http.body.utf8"],
  "what is not JSON is malformed: text, nothing, cut off, not UTF-8",
  async () => {
    const notUtf8 = Buffer.concat([
      Buffer.from('{"message":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ]);
    for (const body of [
      "Hello",
      "",
      " ",
      "{",
      '{"message":}',
      '{"message":"a"} x',
      "{'message':1}",
      notUtf8,
    ]) {
      assertRefused(await g.call(body), 400, "Malformed JSON body.");
    }
    assertRefused(await g.client.send(ask, { token: TOKENS.web }), 400, "Malformed JSON body.");
  },
);

verifies("http.body.not-object", "a JSON body that is not an object is refused", async () => {
  for (const body of ["null", "[]", '"Hello"', "7", '[{"message":"Hello"}]']) {
    assertRefused(await g.call(body), 400, /./);
  }
});

verifies(
  ["http.body.neither", "http.body.both"],
  "exactly one of message and messages is wanted",
  async () => {
    const refusal = "Provide either 'message' or 'messages'.";
    const messages = [{ role: "user", content: "Hello" }];
    for (const body of [{}, { prompt: "Hello" }, { message: "Hello", messages }]) {
      assertRefused(await g.call(body), 400, refusal);
    }
  },
);

verifies("http.body.message", "message must be a text that is not empty", async () => {
  for (const message of ["", 7, null, true, ["Hello"], { text: "Hello" }]) {
    assertRefused(await g.call({ message }), 400, /'message'/);
  }
});

verifies("http.body.messages", "messages must be a list that is not empty", async () => {
  for (const messages of [[], "Hello", null, {}, 3]) {
    assertRefused(await g.call({ messages }), 400, /'messages'/);
  }
});

verifies(
  ["http.body.messages.role", "http.body.messages.content"],
  "each message must be an object with a known role and a text, and the refusal says where it is not",
  async () => {
    const wrong: [unknown, RegExp][] = [
      [{ role: "tool", content: "Hello" }, /messages\[1\]\.role/],
      [{ role: "User", content: "Hello" }, /messages\[1\]\.role/],
      [{ content: "Hello" }, /messages\[1\]\.role/],
      [{ role: "user" }, /messages\[1\]\.content/],
      [{ role: "user", content: ["Hello"] }, /messages\[1\]\.content/],
      [{ role: "user", content: null }, /messages\[1\]\.content/],
      ["Hello", /messages\[1\]/],
      [null, /messages\[1\]/],
    ];
    for (const [message, where] of wrong) {
      assertRefused(await g.call({ messages: [{ role: "user", content: "Hi" }, message] }), 400, where);
    }
  },
);

verifies("http.body.stream", "stream must be a boolean", async () => {
  for (const stream of ["true", 1, null, {}]) {
    assertRefused(await g.call({ message: "Hello", stream }), 400, /'stream'/);
  }
});

verifies("http.body.session-id", "session_id must be a UUID", async () => {
  for (const session_id of ["", "mine", 7, null, "6f1d2c0a-4b7e-4a53-8c61"]) {
    assertRefused(await g.call({ message: "Hello", session_id }), 400, /'session_id'/);
  }
});

verifies("http.body.extra-keys", "keys that the gateway does not know are let through", async () => {
  assert.equal(assertAnswered(await g.call({ message: "Hello", customer: { id: 7 }, tags: ["a"] })), "Hello");
});

verifies("http.body.deep", "100,000 brackets are refused, as arrays and as objects", async (t) => {
  const own = await startGateway(t, { endpoint: echoEntry({}) });
  const deep = 100_000;
  const bodies = [
    "[".repeat(deep),
    "[".repeat(deep) + "]".repeat(deep),
    `{"message":"Hello","x":${"[".repeat(deep)}${"]".repeat(deep)}}`,
    `{"message":"Hello","x":${'{"a":'.repeat(deep)}1${"}".repeat(deep)}}`,
  ];
  for (const body of bodies) assertRefused(await own.call(body), 400, /./);
  assertAnswered(await own.call({ message: "Hello" }));
});

verifies("http.body.prototype", "__proto__ in a body reaches no prototype", async () => {
  for (const key of ["__proto__", "constructor", "prototype"]) {
    const answer = await g.call(`{"message":"Hello","${key}":{"polluted":true}}`);
    assert.ok(answer.status === 200 || answer.status === 400, answer.text);
  }
  const inMessage = await g.call(`{"messages":[{"__proto__":{"role":"user","content":"Hello"}}]}`);
  assertRefused(inMessage, 400, /__proto__|messages/);
  assert.equal(Reflect.get({}, "polluted"), undefined);
  await stillAnswers();
});

verifies(
  ["http.body.limit", "http.body.limit.exact"],
  "a body of exactly the limit passes, and one byte more is refused",
  async () => {
    const bodyOf = (bytes: number): string => {
      const frame = '{"message":""}'.length;
      return `{"message":"${"a".repeat(bytes - frame)}"}`;
    };
    assertAnswered(await g.call(bodyOf(LIMIT)));
    assertRefused(await g.call(bodyOf(LIMIT + 1)), 413, `Request body exceeds ${LIMIT} bytes.`);
  },
);

verifies("http.body.limit", "33 MB are refused by the default limit", async (t) => {
  const own = await startGateway(t, { endpoint: echoEntry({}) });
  // Sent by hand: node's own client gives up on an answer that comes while it still writes.
  const bytes = 33 * 1024 * 1024;
  const request = `${head(`Content-Length: ${bytes}`)}${"a".repeat(64 * 1024)}`;
  const answer = await own.client.raw(request, (text) => text.includes("\r\n\r\n{"));
  assert.match(answer, /^HTTP\/1\.1 413 [\s\S]*"error":"Request body exceeds 33554432 bytes\."/);
  assertAnswered(await own.call({ message: "Hello" }));
});

verifies("http.body.limit.declared", "a length over the limit is refused before a byte is sent", async () => {
  const answer = await g.client.raw(head(`Content-Length: ${LIMIT + 1}`), (text) =>
    text.includes("\r\n\r\n{"),
  );
  assert.match(answer, /^HTTP\/1\.1 413 /);
});

verifies(
  "http.body.limit.chunked",
  "a body without a length is refused when it passes the limit",
  async () => {
    const piece = `${(8_000).toString(16)}\r\n${"a".repeat(8_000)}\r\n`;
    // The last piece never comes: the gateway must not wait for the end.
    const answer = await g.client.raw(head("Transfer-Encoding: chunked") + piece.repeat(3), (text) =>
      text.includes("\r\n\r\n{"),
    );
    assert.match(answer, /^HTTP\/1\.1 413 [\s\S]*"ok":false/);
  },
);

verifies(
  ["http.body.type", "http.body.type.absent", "http.body.type.parameters"],
  "a body is JSON by its Content-Type or by its absence",
  async () => {
    const body = JSON.stringify({ message: "Hello" });
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
    ]) {
      assertRefused(await g.call(body, { headers: { "content-type": type } }), 415, /./);
    }
    for (const type of ["application/json; charset=utf-8", "Application/JSON"]) {
      assertAnswered(await g.call(body, { headers: { "content-type": type } }));
    }
    const untyped = `${head(`Content-Length: ${body.length}`, "Connection: close")}${body}`;
    assert.match(await g.client.raw(untyped), /^HTTP\/1\.1 200 /);
  },
);

verifies("http.body.slow", "a body that stops on its way is refused when its time is over", async () => {
  const answer = g.client.raw(`${head("Content-Length: 100")}{"message":`, (text) =>
    text.includes("\r\n\r\n{"),
  );
  await until(() => g.gateway.openCalls === 1, "the body is waited for");
  g.clock.advance(4_000);
  assert.match(await answer, /^HTTP\/1\.1 408 [\s\S]*"ok":false/);
  await stillAnswers();
});

verifies("http.path.unknown", "a path without a route is not found", async () => {
  for (const path of ["/", "/api", "/api/", `/api/${PROJECT}`, "/v1/chat/completions", "/favicon.ico"]) {
    assertRefused(await g.client.send(path, { method: "GET", token: TOKENS.web }), 404, "Not found.");
  }
  const deeper = await g.client.send(`/api/${PROJECT}/ask/more/still`, { token: TOKENS.web, body: {} });
  assertRefused(deeper, 404, "Not found.");
});

verifies(
  "http.method.wrong",
  "a method that a route does not have is refused, with those it has",
  async () => {
    const wrong: [string, string, RegExp][] = [
      ["GET", "ask", /\bPOST\b/],
      ["DELETE", "ask", /\bPOST\b/],
      ["PUT", "chat/completions", /\bPOST\b/],
      ["POST", "endpoints", /\bGET\b/],
    ];
    for (const [method, path, allowed] of wrong) {
      const answer = await g.client.send(`/api/${PROJECT}/${path}`, { method, token: TOKENS.web });
      assertRefused(answer, 405, /./);
      assert.match(String(answer.headers.allow), allowed);
    }
  },
);

verifies("http.raw.garbage", "bytes that are not HTTP are refused", async () => {
  for (const bytes of [
    "\x16\x03\x01\x02\x00",
    "HELLO\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    "\r\n\r\n\r\n: x\r\n\r\n",
  ]) {
    assert.match(await g.client.raw(bytes), /^HTTP\/1\.1 400 /);
  }
  await stillAnswers();
});

verifies("http.raw.headers", "a head without end is refused", async () => {
  const answer = await g.client.raw(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"a".repeat(300_000)}`);
  assert.match(answer, /^HTTP\/1\.1 431 /);
  await stillAnswers();
});

verifies("http.raw.duplicate-length", "two lengths, or a length beside chunks, are refused", async () => {
  const body = '{"message":"Hello"}';
  const both = head(`Content-Length: ${body.length}`, "Transfer-Encoding: chunked");
  const twice = head(`Content-Length: ${body.length}`, "Content-Length: 3");
  for (const request of [twice + body, `${both}0\r\n\r\n`]) {
    assert.match(await g.client.raw(request), /^HTTP\/1\.1 400 /);
  }
  await stillAnswers();
});

verifies(
  ["http.expect", "http.request-id.header"],
  "an unknown expectation is refused like all else",
  async () => {
    const answer = await g.client.raw(`${head("Expect: magic", "Content-Length: 2", "Connection: close")}{}`);
    assert.match(answer, /^HTTP\/1\.1 417 [\s\S]*X-Request-Id: [\s\S]*\r\n\r\n\{"ok":false,"error":"/i);
  },
);

verifies("http.request-id.header", "refusals have request ids of their own as well", async () => {
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  const ids = new Set<unknown>();
  const answers = [
    await g.call("{"),
    await g.client.send("/nowhere", { method: "GET" }),
    await g.client.send(ask, { body: {} }),
    await g.call({ message: "Hello" }),
  ];
  for (const answer of answers) {
    const id = String(answer.headers["x-request-id"]);
    assert.match(id, uuid);
    ids.add(id);
  }
  assert.equal(ids.size, answers.length);
});

verifies("http.request-id.meta", "meta.request_id is the header's", async () => {
  const answer = await g.call({ message: "Hello" });
  assert.equal(at(answer.json, "meta", "request_id"), answer.headers["x-request-id"]);
});
