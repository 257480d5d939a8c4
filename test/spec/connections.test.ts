/** What a client may do with a connection: ambiguous heads, slow heads, bodies and readers, refused uploads. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after } from "node:test";
import { assertAnswered, at, until } from "./kit/client.ts";
import { echoEntry, PROJECT, TOKENS } from "./kit/config.ts";
import { startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const LIMIT = 1_000_000;
const REPLY = "answer ".repeat(2_000_000);
const big = { name: "big", provider: "mock", options: { reply: REPLY } };
const g = await startGateway(
  { after },
  {
    server: { max_body_bytes: LIMIT, body_timeout_ms: 100_000 },
    credentials: [big],
    endpoint: echoEntry({}),
    endpoints: [{ name: "Big", provider: "mock", model: "echo", credential: "big" }],
  },
);
const ask = `/api/${PROJECT}/ask`;
const bearer = `Authorization: Bearer ${TOKENS.web}`;
const hello = '{"message":"Hello"}';

function head(first: string, ...lines: string[]): string {
  return `${[first, ...lines].join("\r\n")}\r\n\r\n`;
}

function post(...lines: string[]): string {
  return head(`POST ${ask} HTTP/1.1`, "Host: x", bearer, ...lines);
}

async function stillAnswers(): Promise<void> {
  assert.equal(assertAnswered(await g.call({ message: "Still there?" })), "Still there?");
  await until(() => g.gateway.openCalls === 0, "no open call");
}

/** A socket of a peer that the gateway is expected to disconnect; what it reads is kept. */
function peer(bytes: string): {
  socket: Socket;
  received: () => string;
  isClosed: () => boolean;
  isEnded: () => boolean;
} {
  const { hostname, port } = new URL(g.client.origin);
  let received = "";
  let isClosed = false;
  let isEnded = false;
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.setEncoding("latin1").on("data", (text: string) => (received += text));
  socket
    .on("error", () => {})
    .on("close", () => (isClosed = true))
    .on("end", () => (isEnded = true));
  socket.write(bytes);
  return { socket, received: () => received, isClosed: () => isClosed, isEnded: () => isEnded || isClosed };
}

const ERROR = /\r\n\r\n\{"ok":false,"error":"/;

verifies("http.head.host", "no Host and two Hosts are refused in the usual error body", async () => {
  const length = `Content-Length: ${hello.length}`;
  for (const hosts of [[], ["Host: x", "Host: evil.example"], ["Host: x", "host: x"]]) {
    const answer = await g.client.raw(head(`POST ${ask} HTTP/1.1`, ...hosts, bearer, length) + hello);
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, ERROR);
    assert.match(answer, /X-Request-Id: /);
    assert.equal(answer.split("HTTP/1.1 ").length, 2, "one answer");
  }
  const old = await g.client.raw(head(`POST ${ask} HTTP/1.0`, bearer, length) + hello);
  assert.match(old, /^HTTP\/1\.1 200 /);
  await stillAnswers();
});

verifies("http.head.lines", "header lines beyond the 2,000th are counted, and the head refused", async () => {
  const many = Array.from({ length: 2_100 }, () => "a:1");
  const answer = await g.client.raw(head("GET /healthz HTTP/1.1", "Host: x", ...many));
  assert.match(answer, /^HTTP\/1\.1 431 /);
  const few = Array.from({ length: 1_900 }, () => "a:1");
  // The second Authorization stands where Node used to look no more.
  const twice = [...few, bearer, `Content-Length: ${hello.length}`, "Connection: close"];
  assert.match(
    await g.client.raw(post(...twice) + hello),
    /^HTTP\/1\.1 400 [\s\S]*More than one Authorization/,
  );
});

verifies("http.head.transfer-coding", "gzip, chunked is refused, chunked is read", async () => {
  const body = `${hello.length.toString(16)}\r\n${hello}\r\n0\r\n\r\n`;
  const refused = await g.client.raw(post("Transfer-Encoding: gzip, chunked") + body);
  assert.match(refused, /^HTTP\/1\.1 501 /);
  assert.match(refused, ERROR);
  const read = await g.client.raw(post("Transfer-Encoding: Chunked", "Connection: close") + body);
  assert.match(read, /^HTTP\/1\.1 200 /);
});

verifies("http.head.version", "HTTP/0.9 is refused; HTTP/1.0 never gets 100 Continue", async () => {
  const ancient = await g.client.raw("GET /healthz\r\n\r\n");
  assert.match(ancient, /^HTTP\/1\.1 400 /);
  assert.equal(ancient.split("HTTP/1.1 ").length, 2, ancient);
  const old = head(`POST ${ask} HTTP/1.0`, bearer, "Expect: 100-continue", `Content-Length: ${hello.length}`);
  assert.match(await g.client.raw(old + hello), /^HTTP\/1\.1 200 /);
});

verifies("http.raw.one-answer", "bytes that are not HTTP do not corrupt an answer", async () => {
  const whole = post(`Content-Length: ${hello.length}`) + hello;
  const answer = await g.client.raw(`${whole}NO HTTP AT ALL\r\n\r\n`);
  const [, first = "", second = ""] = answer.split("HTTP/1.1 ");
  assert.match(first, /^200 [\s\S]*"content":"Hello"/);
  assert.match(second, /^400 /);
  // Inside the body of a request that has not been answered: 400 at once, and no second answer.
  const cut = await g.client.raw(`${post("Transfer-Encoding: chunked")}5\r\nHelloXX`);
  assert.match(cut, /^HTTP\/1\.1 400 /);
  assert.equal(cut.split("HTTP/1.1 ").length, 2, cut);
  await stillAnswers();
});

verifies(
  "http.raw.pipelined",
  "a call behind an answer that closes the connection ends with it",
  async () => {
    const refused = head("GET /healthz HTTP/1.1", "Host: x", "Host: y");
    // The call waits for a body that never comes, and for an answer before its own that has ended the connection.
    const answer = await g.client.raw(`${refused}${post("Content-Length: 100")}{"message":`);
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.equal(answer.split("HTTP/1.1 ").length, 2, answer);
    await stillAnswers();
  },
);

verifies("http.nosniff", "answers and refusals say nosniff", async () => {
  const answers = [
    await g.call({ message: "Hello" }),
    await g.call("{"),
    await g.client.send("/healthz", { method: "GET" }),
    await g.admin.send("/readyz", { method: "GET" }),
  ];
  for (const { headers } of answers) assert.equal(headers["x-content-type-options"], "nosniff");
});

verifies("http.path.long", "a path segment of 15 kB is cut short in the log line", async () => {
  const before = g.lines.length;
  const long = "a".repeat(15_000);
  await g.client.send(`/api/${long}/ask`, { token: TOKENS.web, body: {} });
  await g.client.send(`/api/${PROJECT}/${long}`, { token: TOKENS.web, body: { message: "Hello" } });
  await until(() => g.lines.length >= before + 2, "both lines");
  for (const line of g.lines.slice(before)) assert.ok(line.length < 3_000, `${line.length} characters`);
});

verifies("http.body.encoding", "IDENTITY is identity", async () => {
  assertAnswered(await g.call({ message: "Hello" }, { headers: { "content-encoding": "IDENTITY" } }));
});

verifies("health.ready.bare", "the data plane says whether it is ready and no more", async () => {
  const { json } = await g.client.send("/readyz", { method: "GET" });
  assert.deepEqual(json, { ready: true });
  const detailed = await g.admin.send("/readyz", { method: "GET" });
  assert.equal(at(detailed.json, "store", "driver"), "memory");
});

verifies(
  "http.head.slow",
  "a slow head is refused, and its connection ends even if it keeps sending",
  async () => {
    const slow = peer("GET /healthz HTTP/1.1\r\nHost: x\r\n");
    const silent = peer("");
    const kept = peer(head("GET /healthz HTTP/1.1", "Host: x"));
    await until(() => kept.received().includes("ok"), "an answer");
    g.clock.advance(2_000);
    kept.socket.write("GET /healthz");
    for (let second = 0; second < 12; second++) {
      if (second < 8) slow.socket.write(`x-${second}: y\r\n`);
      await new Promise(setImmediate);
      g.clock.advance(1_000);
    }
    await until(() => slow.received().length > 0 && silent.received().length > 0, "refusals");
    assert.match(slow.received(), /^HTTP\/1\.1 408 /);
    assert.match(silent.received(), /^HTTP\/1\.1 408 /);
    await until(() => kept.received().includes("408"), "the refusal of a second head");
    // The peer neither closes its side nor stops sending.
    assert.equal(slow.isClosed(), false);
    slow.socket.write("more: of it\r\n");
    g.clock.advance(3_000);
    slow.socket.write("and: more\r\n");
    await until(() => slow.isClosed(), "the end of the connection");
    for (const { socket } of [slow, silent, kept]) socket.destroy();
  },
);

verifies("http.rate.body", "a body that only drips costs its connection", async () => {
  const dripping = peer(`${post("Content-Length: 500000")}{"message":"`);
  await until(() => g.gateway.openCalls === 1, "the call");
  for (let second = 0; second < 18 && !dripping.isClosed(); second++) {
    dripping.socket.write("x");
    g.clock.advance(1_000);
    await new Promise(setImmediate);
  }
  await until(() => dripping.isClosed(), "the end of the connection");
  await stillAnswers();
});

verifies("http.rate.reader", "an answer that the client does not read is not kept", async () => {
  const body = '{"message":"Hello"}';
  const request = head(
    `POST /api/${PROJECT}/big HTTP/1.1`,
    "Host: x",
    bearer,
    `Content-Length: ${body.length}`,
  );
  const deaf = peer(request + body);
  deaf.socket.pause();
  const sink = peer(request + body);
  await until(() => sink.received().length > 14_000_000, "an answer that is read");
  for (let second = 0; second < 20; second++) {
    g.clock.advance(1_000);
    await new Promise(setImmediate);
  }
  deaf.socket.resume();
  await until(() => deaf.isEnded(), "the end of the connection");
  assert.ok(deaf.received().length < 14_000_000, "the rest was not kept for it");
  assert.equal(sink.isClosed(), false);
  sink.socket.destroy();
  await stillAnswers();
});

verifies("http.refusal.closed", "a client that keeps sending after its refusal is disconnected", async () => {
  const unknown = `Authorization: Bearer ${TOKENS.unknown}`;
  const dripping = [60_000, LIMIT + 1].map((length) =>
    peer(head(`POST ${ask} HTTP/1.1`, "Host: x", unknown, `Content-Length: ${length}`)),
  );
  await until(() => dripping.every(({ received }) => received().includes("401")), "refusals");
  await until(() => {
    for (const { socket, isClosed } of dripping) if (!isClosed()) socket.write("x");
    return dripping.every(({ isClosed }) => isClosed());
  }, "the end of both connections");
  await stillAnswers();
});

const UPLOAD = Buffer.alloc(11_000_000, "x");

verifies("http.refusal.readable", "fetch reads the refusal of an upload of 11 MB, every time", async () => {
  for (const [token, status] of [
    [TOKENS.web, 413],
    [TOKENS.unknown, 401],
    [TOKENS.other, 403],
  ] as const) {
    const answers = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const answer = await fetch(`${g.client.origin}${ask}`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: UPLOAD,
        });
        assert.match(await answer.text(), /^\{"ok":false,"error":"/);
        return answer.status;
      }),
    );
    assert.deepEqual(answers, new Array(10).fill(status));
  }
});

verifies(
  "http.refusal.readable",
  "curl reads the refusal of an upload, with a length and in chunks",
  async () => {
    const file = join(g.folder, "upload.bin");
    writeFileSync(file, UPLOAD);
    for (const more of [[], ["-H", "Transfer-Encoding: chunked"]]) {
      const options = [
        "-sS",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "-X",
        "POST",
        "-H",
        "Expect:",
        ...more,
      ];
      const type = ["-H", "Content-Type: application/json", "-H", bearer];
      const curl = spawn("curl", [...options, ...type, "-T", file, `${g.client.origin}${ask}`]);
      let out = "";
      curl.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
      curl.stderr.setEncoding("utf8").on("data", (text: string) => (out += text));
      await once(curl, "close");
      assert.equal(out, "413");
    }
  },
);

verifies(
  "http.refusal.readable",
  "a client that first sends all and then reads gets the refusal",
  async () => {
    const one = peer(head(`POST ${ask} HTTP/1.1`, "Host: x", bearer, `Content-Length: ${UPLOAD.length}`));
    one.socket.pause();
    await new Promise<void>((sent) => one.socket.write(UPLOAD, () => sent()));
    one.socket.resume();
    await until(() => ERROR.test(one.received()), "the refusal");
    assert.match(one.received(), /^HTTP\/1\.1 413 /);
    one.socket.destroy();
    await stillAnswers();
  },
);

verifies("http.connections.address", "connections per address are limited", async (t) => {
  const own = await startGateway(t, { server: { max_connections_per_address: 3 }, endpoint: echoEntry({}) });
  const { hostname, port } = new URL(own.client.origin);
  const sockets = Array.from({ length: 4 }, () => connect(Number(port), hostname).on("error", () => {}));
  t.after(() => sockets.map((socket) => socket.destroy()));
  await until(() => sockets.filter((socket) => socket.closed).length === 1, "one connection too many");
  for (const socket of sockets) socket.destroy();
  await until(async () => {
    try {
      return (await own.call({ message: "Hello" })).status === 200;
    } catch {
      return false;
    }
  }, "room for another connection");
  const trusting = { max_connections_per_address: 1, trusted_proxies: ["127.0.0.0/8"] };
  const behind = await startGateway(t, { server: trusting, endpoint: echoEntry({}) });
  const proxy = peer("");
  proxy.socket.destroy();
  const held = connect(Number(new URL(behind.client.origin).port), hostname);
  await once(held, "connect");
  assertAnswered(await behind.call({ message: "Hello" }));
  held.destroy();
});
