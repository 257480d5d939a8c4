/**
 * One suite for both outbound clients, against servers that are played byte by byte. What an answer means is compared
 * with Node's own client: status, headers, body, and whether the answer is valid at all.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../src/base/clock.ts";
import type { HttpClient } from "../../src/net/http-client.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { SeededRandom } from "../fuzz/target.ts";
import { CLIENTS } from "./clients.ts";
import { ask, failureOf } from "./http1/asking.ts";
import { rawUpstream } from "./http1/raw-upstream.ts";

/** An answer as the bytes of each write, and how the connection ends after them. */
interface Play {
  readonly writes: readonly string[];
  readonly end: "keep" | "end" | "reset";
}

interface Outcome {
  readonly status: number;
  readonly body: string;
  readonly header: string | undefined;
}

const HEAD = "HTTP/1.1 200 OK\r\nX-Kind: a\r\nX-Kind: b\r\n";
const play = (text: string, end: Play["end"] = "keep"): Play => ({ writes: [text], end });
const bytewise = (text: string): Play => ({ writes: [...text], end: "keep" });

const VALID: Readonly<Record<string, Play>> = {
  "a body with its length": play(`${HEAD}Content-Length: 5\r\n\r\nhello`),
  "an empty body": play(`${HEAD}Content-Length: 0\r\n\r\n`),
  "no body by its status": play("HTTP/1.1 204 No Content\r\nX-Kind: a\r\nX-Kind: b\r\n\r\n"),
  "an error status": play("HTTP/1.1 503 Busy\r\nX-Kind: a\r\nX-Kind: b\r\nContent-Length: 4\r\n\r\nbusy"),
  "a redirect, which is not followed": play(
    "HTTP/1.1 302 Found\r\nX-Kind: a\r\nX-Kind: b\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
  ),
  "a body in chunks": play(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`),
  "chunks with extensions and trailers": play(
    `${HEAD}Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n`,
  ),
  "chunks, a byte at a time": bytewise(
    `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`,
  ),
  "a length, a byte at a time": bytewise(`${HEAD}Content-Length: 5\r\n\r\nhello`),
  "a body until the close": play(`${HEAD}Connection: close\r\n\r\nuntil the end`, "end"),
  "an answer of HTTP/1.0": play("HTTP/1.0 200 OK\r\nX-Kind: a\r\nX-Kind: b\r\n\r\nold", "end"),
  "hints before the answer": play(
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${HEAD}Content-Length: 5\r\n\r\nhello`,
  ),
};

const INVALID: Readonly<Record<string, Play>> = {
  "a close before the head": play("", "end"),
  "a reset before the head": play("", "reset"),
  "a close within the head": play("HTTP/1.1 200 OK\r\nX-Ki", "end"),
  "a close within a body of known length": play(`${HEAD}Content-Length: 9\r\n\r\nhalf`, "end"),
  "a close within a chunk": play(`${HEAD}Transfer-Encoding: chunked\r\n\r\n9\r\nhalf`, "end"),
  "a close between chunks": play(`${HEAD}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n`, "end"),
  "a reset within the body": play(`${HEAD}Content-Length: 9\r\n\r\nhalf`, "reset"),
  "another protocol": play("220 mail.example ESMTP\r\n", "end"),
  "two different lengths": play(`${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`),
  "a length and chunks": play(
    `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  ),
  "a negative length": play(`${HEAD}Content-Length: -1\r\n\r\n`),
  "a chunk size that is not a number": play(`${HEAD}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`),
  "a control character in a header": play(`${HEAD}X-Bad: a\u0000b\r\nContent-Length: 0\r\n\r\n`),
  "a head without end": play(`${HEAD}X-Long: ${"x".repeat(70_000)}`),
  "a change of protocol that was not requested": play(
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
  ),
};

/** Serves one play to every request. */
async function serve(t: TestContext, current: () => Play): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true).on("error", () => {});
    socket.on("data", () => void answer(socket, current()));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
}

async function answer(socket: Socket, { writes, end }: Play): Promise<void> {
  for (const text of writes) {
    if (text !== "") socket.write(text, "latin1");
    // Each write is a read of its own on the other side, as far as the system does so.
    if (writes.length > 1) await new Promise(setImmediate);
  }
  if (end === "end") socket.end();
  if (end === "reset") setImmediate(() => socket.resetAndDestroy());
}

/** As Node's own client understands it; undefined: as no valid answer. */
function byNode(url: string): Promise<Outcome | undefined> {
  return new Promise((settle) => {
    const request = http.request(url, { method: "POST", agent: false }, (response) => {
      let body = "";
      response.setEncoding("latin1").on("data", (text) => (body += text));
      response.on("error", () => settle(undefined));
      response.on("close", () => {
        const header = response.headers["x-kind"];
        settle(
          response.complete ? { status: response.statusCode ?? 0, body, header: String(header) } : undefined,
        );
      });
    });
    request.on("upgrade", (_response, socket) => {
      socket.destroy();
      settle(undefined);
    });
    request.on("error", () => settle(undefined));
    request.end("{}");
  });
}

async function byClient(client: HttpClient, url: string): Promise<Outcome | undefined> {
  const { error, status, body, headers } = await ask(client, url).over;
  return error === undefined ? { status, body, header: headers["x-kind"] } : undefined;
}

for (const { name, make } of CLIENTS) {
  test(`${name} understands valid answers as Node does`, async (t) => {
    const client = make({ clock: systemClock() });
    t.after(() => client.close());
    let current = play("");
    const url = await serve(t, () => current);
    for (const [what, given] of Object.entries(VALID)) {
      current = given;
      const expected = await byNode(url);
      assert.ok(expected !== undefined, what);
      assert.deepEqual(await byClient(client, url), expected, what);
      // And on the connection that is kept, or on a new one.
      assert.deepEqual(await byClient(client, url), expected, `${what}, again`);
    }
  });

  test(`${name} rejects invalid answers as Node does`, async (t) => {
    const client = make({ clock: systemClock() });
    t.after(() => client.close());
    let current = play("");
    const url = await serve(t, () => current);
    for (const [what, given] of Object.entries(INVALID)) {
      current = given;
      assert.equal(await byNode(url), undefined, what);
      assert.equal(await byClient(client, url), undefined, what);
    }
    current = VALID["a body with its length"] ?? play("");
    assert.equal((await byClient(client, url))?.body, "hello");
  });

  test(`${name} reads what Node reads, however the bytes are cut and damaged`, async (t) => {
    const client = make({ clock: systemClock() });
    t.after(() => client.close());
    let current = play("");
    const url = await serve(t, () => current);
    let valid = 0;
    for (let seed = 0; seed < 60; seed++) {
      const { isSound, ...given } = generated(new SeededRandom(seed));
      current = given;
      const expected = await byNode(url);
      const got = await byClient(client, url);
      // A client may be stricter than Node. What it accepts it must understand alike, and sound answers it must accept.
      if (got !== undefined) assert.deepEqual(got, expected, `seed ${seed}`);
      else assert.ok(!isSound, `seed ${seed} is sound and was rejected`);
      if (got !== undefined) valid++;
    }
    assert.ok(valid >= 30, `${valid} valid answers`);
  });

  test(`${name} sends method, target, headers and body, and no header twice`, async (t) => {
    const client = make({ clock: systemClock() });
    t.after(() => client.close());
    const upstream = await rawUpstream(t);
    const asked = ask(client, `${upstream.url}/a/b?c=d`, {
      headers: { "content-type": "text/plain", "x-key": "k" },
      body: "héllo",
    });
    const peer = await upstream.connection();
    const [head = "", body] = (await peer.request()).split("\r\n\r\n");
    await peer.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    await asked.over;
    const [line, ...fields] = head.split("\r\n");
    assert.equal(line, "POST /a/b?c=d HTTP/1.1");
    const names = fields.map((field) => field.slice(0, field.indexOf(":")).toLowerCase());
    assert.equal(new Set(names).size, names.length, head);
    for (const field of [
      "content-length: 6",
      `host: localhost:${upstream.port}`,
      "x-key: k",
      "user-agent: sluice",
    ])
      assert.ok(
        fields.some((one) => one.toLowerCase() === field),
        `${field} in ${head}`,
      );
    assert.equal(body, "héllo");
  });

  test(`${name} refuses a header that would begin another`, async (t) => {
    const client = make({ clock: systemClock() });
    t.after(() => client.close());
    const upstream = await rawUpstream(t);
    const asked = ask(client, upstream.url, { headers: { "x-bad": "a\r\nx-evil: b" } });
    assert.deepEqual(await failureOf(asked), ["protocol", "could not be asked: invalid x-bad header"]);
  });

  test(`${name} ends a call that is late, silent or too long`, async (t) => {
    const clock = virtualClock();
    const client = make({ clock });
    t.after(() => client.close());
    const upstream = await rawUpstream(t);
    const late = ask(client, upstream.url);
    await (await upstream.connection()).request();
    clock.advance(60_000);
    assert.deepEqual(await failureOf(late), ["timeout", "timed out after 60000 ms"]);
    const silent = ask(client, upstream.url);
    const begun = silent.next();
    const peer = await upstream.connection();
    await peer.request();
    await peer.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n");
    await begun;
    clock.advance(59_999);
    assert.equal(silent.heard.error, undefined);
    clock.advance(60_001);
    assert.deepEqual(await failureOf(silent), ["timeout", "timed out after 60000 ms"]);
    await peer.closed;
  });

  test(`${name} takes no more of a body than it may`, async (t) => {
    const client = make({ clock: systemClock() });
    t.after(() => client.close());
    const upstream = await rawUpstream(t);
    let bytes = 0;
    const over = new Promise<string>((settle) => {
      const handler = {
        onHead() {},
        onChunk: (part: Buffer) => void (bytes += part.length),
        onEnd: () => settle("complete"),
        onError: ({ kind, reason }: { kind: string; reason: string }) => settle(`${kind}: ${reason}`),
      };
      const timeouts = { firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000, totalTimeoutMs: 60_000 };
      const request = { method: "POST", url: upstream.url, headers: {}, body: "" };
      client.send(request, handler, { ...timeouts, bodyBytesMax: 1000 });
    });
    const peer = await upstream.connection();
    await peer.request();
    void peer.send(`HTTP/1.1 200 OK\r\ncontent-length: 90000\r\n\r\n${"x".repeat(90_000)}`);
    assert.equal(await over, "protocol: the answer exceeds 1000 bytes");
    assert.equal(bytes, 1000);
    await peer.closed;
  });

  test(`${name} is held back by a paused call, and continues when it is resumed`, async (t) => {
    const client = make({ clock: systemClock() });
    t.after(() => client.close());
    const upstream = await rawUpstream(t);
    const asked = ask(client, upstream.url);
    const peer = await upstream.connection();
    await peer.request();
    const begun = asked.next();
    const bytes = 16_000_000;
    await peer.send(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes}\r\n\r\n`);
    await begun;
    asked.call.pause();
    const sent = peer.send("x".repeat(bytes));
    for (let n = 0; n < 200; n++) await new Promise(setImmediate);
    assert.ok(asked.heard.body.length < bytes, "read on while paused");
    asked.call.resume();
    await sent;
    assert.equal((await asked.over).body.length, bytes);
  });

  test(`${name} sends a request once more when it crossed the close of an idle connection, and else never`, async (t) => {
    const client = make({ clock: virtualClock() });
    t.after(() => client.close());
    const upstream = await rawUpstream(t);
    const whole = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    const first = ask(client, upstream.url);
    const kept = await upstream.connection();
    await kept.request();
    await kept.send(whole);
    assert.equal((await first.over).body, "ok");
    const second = ask(client, upstream.url);
    await kept.request();
    kept.reset();
    const fresh = await upstream.connection();
    await fresh.request();
    await fresh.send(whole);
    assert.equal((await second.over).body, "ok");
    const third = ask(client, upstream.url);
    await fresh.request();
    await fresh.send("HTTP/1.1 200 OK\r\n");
    fresh.reset();
    assert.equal((await third.over).error?.kind, "reset");
    assert.equal(upstream.connectionsMade(), 2);
  });

  test(`${name} ends the connection of a cancelled call, and its caller is told nothing`, async (t) => {
    const client = make({ clock: systemClock() });
    const upstream = await rawUpstream(t);
    const asked = ask(client, upstream.url);
    const peer = await upstream.connection();
    await peer.request();
    asked.call.cancel();
    await peer.closed;
    assert.deepEqual([asked.heard.status, asked.heard.error], [0, undefined]);
    await client.close();
  });

  test(`${name} waits for a connection up to its limit, and refuses what is beyond it`, async (t) => {
    const client = make({ clock: systemClock(), connectionsPerOrigin: 1, waitingMax: 1 });
    t.after(() => client.close());
    const upstream = await rawUpstream(t);
    const [one, two, three] = [
      ask(client, upstream.url),
      ask(client, upstream.url),
      ask(client, upstream.url),
    ];
    assert.equal((await three?.over)?.error?.kind, "exhausted");
    const peer = await upstream.connection();
    for (const asked of [one, two]) {
      await peer.request();
      await peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      assert.equal((await asked?.over)?.body, "ok");
    }
    assert.equal(upstream.connectionsMade(), 1);
    assert.deepEqual(
      client.connections().map(({ idle, inUse, exhausted }) => [idle, inUse, exhausted]),
      [[1, 0, 1]],
    );
  });

  test(`${name} says which kind of failure an address without server is`, async (t) => {
    const client = make({ clock: systemClock() });
    t.after(() => client.close());
    const { error } = await ask(client, "http://127.0.0.1:1/").over;
    assert.equal(error?.kind, "unreachable");
    assert.ok(error?.cause instanceof Error && "code" in error.cause && error.cause.code === "ECONNREFUSED");
  });
}

/** A valid answer, or one with a damaged byte, cut anywhere. */
function generated(random: SeededRandom): Play & { readonly isSound: boolean } {
  const isSound = random.chance(0.7);
  const body = Array.from({ length: random.below(300) }, () => random.pick(["a", "b", "\n", "{", "~"])).join(
    "",
  );
  const latin = Buffer.from(body, "latin1").toString("latin1");
  let text: string;
  if (random.chance(0.5)) text = `${HEAD}Content-Length: ${latin.length}\r\n\r\n${latin}`;
  else {
    text = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
    for (let at = 0; at < latin.length; ) {
      const size = 1 + random.below(60);
      const part = latin.slice(at, at + size);
      text += `${part.length.toString(16)}\r\n${part}\r\n`;
      at += size;
    }
    text += "0\r\n\r\n";
  }
  if (!isSound) {
    const at = random.below(text.length);
    text = text.slice(0, at) + random.pick(["\r", "\n", " ", "\u0000", ":", "9", "z"]) + text.slice(at + 1);
  }
  const writes: string[] = [];
  for (let at = 0; at < text.length; ) {
    const size = 1 + random.below(120);
    writes.push(text.slice(at, at + size));
    at += size;
  }
  return { writes, end: "end", isSound };
}
