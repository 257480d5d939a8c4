/** Connections against a provider played byte by byte: what breaks, what is kept, and what is never used again. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { HttpCall, HttpClient } from "../../../src/net/http-client.ts";
import { createHttp1Client } from "../../../src/net/http1/client.ts";
import { type VirtualClock, virtualClock } from "../../../src/testing/virtual-clock.ts";
import { ask, BROKEN_OFF, failureOf, LIMITS, MALFORMED_ANSWER, NO_ANSWER } from "./asking.ts";
import { type Peer, type RawUpstream, rawUpstream } from "./raw-upstream.ts";

interface Bench {
  readonly clock: VirtualClock;
  readonly client: HttpClient;
  readonly upstream: RawUpstream;
}

async function bench(t: TestContext, connectionsPerOrigin = 16): Promise<Bench> {
  const clock = virtualClock();
  const upstream = await rawUpstream(t);
  const client = createHttp1Client({ clock, connectionsPerOrigin });
  t.after(() => client.close());
  return { clock, client, upstream };
}

const OK = "HTTP/1.1 200 OK\r\n";
const whole = (body: string, ...fields: readonly string[]): string =>
  [`${OK}content-length: ${body.length}`, ...fields, "", body].join("\r\n");

/** Asks, and answers on `peer`, or on a new connection. */
async function answered({ client, upstream }: Bench, answer: string, peer?: Peer): Promise<Peer> {
  const asked = ask(client, upstream.url);
  const played = peer ?? (await upstream.connection());
  await played.request();
  await played.send(answer);
  assert.equal((await asked.over).error, undefined);
  return played;
}

const FAULTS: readonly (readonly [
  what: string,
  bytes: string,
  way: "end" | "reset",
  failed: readonly string[],
])[] = [
  ["closed before the head", "", "end", NO_ANSWER],
  ["reset before the head", "", "reset", NO_ANSWER],
  ["closed within the head", "HTTP/1.1 200 OK\r\ncontent-", "end", NO_ANSWER],
  ["reset within the head", "HTTP/1.1 200 OK\r\ncontent-", "reset", NO_ANSWER],
  ["closed after an interim answer", "HTTP/1.1 100 Continue\r\n\r\n", "end", NO_ANSWER],
  ["closed within a body of known length", `${OK}content-length: 9\r\n\r\nhalf`, "end", BROKEN_OFF],
  ["closed within a chunk", `${OK}transfer-encoding: chunked\r\n\r\n9\r\nhalf`, "end", BROKEN_OFF],
  ["closed between two chunks", `${OK}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`, "end", BROKEN_OFF],
  [
    "closed before the last line break",
    `${OK}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n`,
    "end",
    BROKEN_OFF,
  ],
  ["garbage", "220 mail.example ESMTP\r\n", "end", MALFORMED_ANSWER],
  [
    "garbage within the chunks",
    `${OK}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nwhat?`,
    "end",
    MALFORMED_ANSWER,
  ],
];

for (const [what, bytes, way, failed] of FAULTS) {
  test(`a connection ${what} fails the call, and the next one gets another`, async (t) => {
    const lab = await bench(t);
    const asked = ask(lab.client, lab.upstream.url);
    const peer = await lab.upstream.connection();
    await peer.request();
    if (bytes !== "") await peer.send(bytes);
    if (way === "end") peer.socket.end();
    else peer.reset();
    assert.deepEqual(await failureOf(asked), failed);
    assert.equal(asked.heard.body, bytes.includes("half") ? "half" : "");
    await peer.closed;
    await answered(lab, whole("again"));
    assert.equal(lab.upstream.connectionsMade(), 2);
  });
}

test("a reset within the body fails the call after what had come", async (t) => {
  const { client, upstream } = await bench(t);
  const asked = ask(client, upstream.url);
  const peer = await upstream.connection();
  await peer.request();
  const came = asked.next();
  await peer.send(`${OK}content-length: 9\r\n\r\n`);
  await came;
  peer.reset();
  assert.deepEqual(await failureOf(asked), BROKEN_OFF);
});

test("a body that ends with its connection is complete, and the connection gone", async (t) => {
  const lab = await bench(t);
  const asked = ask(lab.client, lab.upstream.url);
  const peer = await lab.upstream.connection();
  await peer.request();
  await peer.send("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n\r\nto the ");
  await peer.send("end");
  peer.socket.end();
  assert.deepEqual([(await asked.over).body, asked.heard.error], ["to the end", undefined]);
  await peer.closed;
});

test("interim answers are not the answer, and put no deadline off", async (t) => {
  const { client, upstream, clock } = await bench(t);
  const asked = ask(client, upstream.url);
  const peer = await upstream.connection();
  await peer.request();
  clock.advance(59_999);
  await peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n");
  const other = ask(client, upstream.url);
  const second = await upstream.connection();
  await second.request();
  await second.send(whole("there"));
  await other.over;
  assert.equal(asked.heard.status, 0);
  clock.advance(1);
  assert.deepEqual(await failureOf(asked), ["timeout", "timed out after 60000 ms"]);
});

test("an answer behind interim ones is heard as any other", async (t) => {
  const lab = await bench(t);
  const peer = await answered(lab, `HTTP/1.1 102 Processing\r\n\r\n${whole("there")}`);
  await answered(lab, whole("again"), peer);
  assert.equal(lab.upstream.connectionsMade(), 1);
});

for (const [what, answer] of [
  ["asks for its connection to be closed", whole("ok", "connection: close")],
  ["has bytes of another one behind it", `${whole("ok")}${whole("not for you")}`],
  ["leaves no time to use its connection again", whole("ok", "keep-alive: timeout=1")],
] as const) {
  test(`an answer that ${what} is the last on its connection`, async (t) => {
    const lab = await bench(t);
    const peer = await answered(lab, answer);
    await peer.closed;
    await answered(lab, whole("again"));
    assert.equal(lab.upstream.connectionsMade(), 2);
  });
}

test("what a provider sends on an idle connection is not an answer to the next call", async (t) => {
  const lab = await bench(t);
  const peer = await answered(lab, whole("ok"));
  await peer.send(whole("not for you"));
  await peer.closed;
  await answered(lab, whole("again"));
  assert.equal(lab.upstream.connectionsMade(), 2);
});

test("an idle connection that the provider closes is not used again", async (t) => {
  const lab = await bench(t);
  const peer = await answered(lab, whole("ok"));
  peer.socket.end();
  await peer.closed;
  await answered(lab, whole("again"));
  assert.equal(lab.upstream.connectionsMade(), 2);
});

for (const way of ["end", "reset"] as const) {
  test(`a request that crosses the provider's close goes out once more, on a new connection (${way})`, async (t) => {
    const lab = await bench(t);
    const peer = await answered(lab, whole("ok"));
    const asked = ask(lab.client, lab.upstream.url, { body: '{"a":1}' });
    if (way === "end") peer.socket.end();
    else peer.reset();
    const second = await lab.upstream.connection();
    assert.match(await second.request(), /^POST .*\{"a":1\}$/s);
    await second.send(whole("again"));
    assert.deepEqual([(await asked.over).error, asked.heard.body], [undefined, "again"]);
    assert.deepEqual(lab.client.connections(), [
      { host: `localhost:${lab.upstream.port}`, inUse: 0, idle: 1, exhausted: 0 },
    ]);
  });
}

test("a request is sent a second time once, and not on a connection that was new", async (t) => {
  const lab = await bench(t);
  const peer = await answered(lab, whole("ok"));
  const asked = ask(lab.client, lab.upstream.url);
  peer.reset();
  const second = await lab.upstream.connection();
  await second.request();
  second.reset();
  assert.deepEqual(await failureOf(asked), NO_ANSWER);
  assert.equal(lab.upstream.connectionsMade(), 2);
});

test("a request is not sent again once the answer has begun, or when the provider had time to read it", async (t) => {
  const lab = await bench(t);
  const begun = await answered(lab, whole("ok"));
  const asked = ask(lab.client, lab.upstream.url);
  await begun.request();
  await begun.send("HTTP/1.1 2");
  begun.socket.end();
  assert.deepEqual(await failureOf(asked), NO_ANSWER);
  const slow = await answered(lab, whole("ok"));
  const late = ask(lab.client, lab.upstream.url);
  await slow.request();
  lab.clock.advance(251);
  slow.reset();
  assert.deepEqual(await failureOf(late), NO_ANSWER);
  assert.equal(lab.upstream.connectionsMade(), 2);
});

test("a request that crosses the close and is canceled is not sent again", async (t) => {
  const lab = await bench(t);
  const peer = await answered(lab, whole("ok"));
  const asked = ask(lab.client, lab.upstream.url);
  asked.call.cancel();
  peer.reset();
  await peer.closed;
  await answered(lab, whole("next"));
  assert.equal(lab.upstream.connectionsMade(), 2);
});

for (const [what, fields, keptMs] of [
  ["for half a minute", [], 30_000],
  ["for a second less than the provider keeps its side", ["keep-alive: timeout=5, max=100"], 4_000],
  ["for ten minutes at most", ["keep-alive: timeout=86400"], 600_000],
] as const) {
  test(`an idle connection is kept ${what}`, async (t) => {
    const lab = await bench(t);
    const peer = await answered(lab, whole("ok", ...fields));
    lab.clock.advance(keptMs - 1);
    await answered(lab, whole("again", ...fields), peer);
    lab.clock.advance(keptMs);
    await peer.closed;
    assert.equal(lab.clock.pendingTimers(), 0);
    await answered(lab, whole("anew"));
    assert.equal(lab.upstream.connectionsMade(), 2);
  });
}

test("the connection used last is used next, so that the others can be closed", async (t) => {
  const lab = await bench(t);
  const first = ask(lab.client, lab.upstream.url);
  const one = await lab.upstream.connection();
  const second = ask(lab.client, lab.upstream.url);
  const two = await lab.upstream.connection();
  for (const peer of [one, two]) await peer.request();
  await one.send(whole("one"));
  await first.over;
  lab.clock.advance(10_000);
  await two.send(whole("two"));
  await second.over;
  await answered(lab, whole("again"), two);
  lab.clock.advance(20_000);
  await one.closed;
  await answered(lab, whole("still"), two);
});

test("an answer that comes before its request is read ends the connection, not the call", async (t) => {
  const lab = await bench(t);
  const asked = ask(lab.client, lab.upstream.url, { body: "x".repeat(8_000_000) });
  const peer = await lab.upstream.connection();
  peer.socket.pause();
  await peer.send("HTTP/1.1 413 Too Large\r\ncontent-length: 5\r\n\r\nlarge");
  const heard = await asked.over;
  assert.deepEqual([heard.status, heard.body, heard.error], [413, "large", undefined]);
  await answered(lab, whole("small"));
  assert.equal(lab.upstream.connectionsMade(), 2);
});

test("a request is read whole by a slow provider, byte for byte", async (t) => {
  const { client, upstream } = await bench(t);
  const body = JSON.stringify({ text: "na\u00efve \u{1f375} ".repeat(200_000) });
  const asked = ask(client, upstream.url, { body });
  const peer = await upstream.connection();
  const request = await peer.request();
  assert.equal(request.slice(request.indexOf("\r\n\r\n") + 4) === body, true);
  await peer.send(whole("read"));
  assert.equal((await asked.over).body, "read");
});

test("chunks that come together are one piece, and no read is longer than the buffer", async (t) => {
  const { client, upstream } = await bench(t);
  const asked = ask(client, upstream.url);
  const peer = await upstream.connection();
  await peer.request();
  const piece = "0123456789abcdef".repeat(64);
  const chunk = `400\r\n${piece}\r\n`;
  await peer.send(`${OK}transfer-encoding: chunked\r\n\r\n${chunk.repeat(300)}0\r\n\r\n`);
  const { body, pieceBytes } = await asked.over;
  assert.equal(body, piece.repeat(300));
  assert.ok(pieceBytes.length < 150, `${pieceBytes.length} pieces`);
  assert.ok(Math.max(...pieceBytes) <= 64 * 1024);
});

test("calls side by side keep their bytes apart, though all read into one buffer", async (t) => {
  const { client, upstream } = await bench(t);
  const words = Array.from({ length: 16 }, (_, n) => `answer ${n} `.repeat(4_000));
  const calls = words.map((body) => ask(client, upstream.url, { body }));
  for (let n = 0; n < words.length; n++) {
    const peer = await upstream.connection();
    const request = await peer.request();
    void peer.send(whole(request.slice(request.indexOf("\r\n\r\n") + 4)));
  }
  for (const [n, { over }] of calls.entries()) assert.equal((await over).body, words[n]);
});

test("a connection that a call left on pause with its last bytes serves the next one", async (t) => {
  const lab = await bench(t);
  let ended = (): void => {};
  const end = new Promise<void>((resolve) => (ended = resolve));
  const request = { method: "POST", url: lab.upstream.url, headers: {}, body: "" } as const;
  const call: HttpCall = lab.client.send(
    request,
    {
      onHead() {},
      onChunk: () => call.pause(),
      onEnd: () => ended(),
      onError: () => assert.fail("it came whole"),
    },
    LIMITS,
  );
  const peer = await lab.upstream.connection();
  await peer.request();
  await peer.send(whole("ok"));
  await end;
  await answered(lab, whole("again"), peer);
  assert.equal(lab.upstream.connectionsMade(), 1);
});

test("an address is taken apart as URLs are: port, IPv6, query, characters that no path has", async (t) => {
  const { client, upstream } = await bench(t);
  const asked = ask(client, `${upstream.url}/a b/\u00e9\n\r?q=x y`);
  const peer = await upstream.connection();
  const request = await peer.request();
  assert.match(request, /^POST \/a%20b\/%C3%A9\?q=x%20y HTTP\/1\.1\r\n/);
  assert.match(request, new RegExp(`\r\nhost: localhost:${upstream.port}\r\n`));
  await peer.send(whole("found"));
  assert.equal((await asked.over).body, "found");
  // Nobody listens there; what matters is that it was taken for an address.
  assert.equal((await failureOf(ask(client, "http://[::1]:1/")))[0], "unreachable");
});

test("answers that come faster than they are read share a turn of the loop, and all come whole", async (t) => {
  const { client, upstream } = await bench(t);
  const body = "a".repeat(2_000_000);
  const asked = Array.from({ length: 6 }, () => ask(client, upstream.url));
  const peers = await Promise.all(asked.map(() => upstream.connection()));
  await Promise.all(peers.map((peer) => peer.request()));
  // The first bytes of all are there before any is read further.
  for (const peer of peers) void peer.send(whole(body));
  const read = (): number => asked.reduce((sum, { heard }) => sum + heard.body.length, 0);
  let most = 0;
  for (let before = 0, isOver = false; !isOver; ) {
    await new Promise(setImmediate);
    const now = read();
    most = Math.max(most, now - before);
    before = now;
    isOver = now === asked.length * body.length;
  }
  for (const { over } of asked) assert.equal((await over).error, undefined);
  // 128 KiB, and one read of 64 KiB of each connection that has not had to wait yet.
  assert.ok(most <= (128 + 64 * asked.length) * 1024, `${most} bytes in one turn`);
});

test("a connection that waits for its share stays paused for a call that wants no more", async (t) => {
  const { client, upstream } = await bench(t);
  const asked = ask(client, upstream.url);
  const peer = await upstream.connection();
  await peer.request();
  void peer.send(whole("a".repeat(4_000_000)));
  while (asked.heard.body.length < 200_000) await new Promise(setImmediate);
  asked.call.pause();
  await new Promise(setImmediate);
  const held = asked.heard.body.length;
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  assert.equal(asked.heard.body.length, held);
  asked.call.resume();
  assert.equal((await asked.over).body.length, 4_000_000);
});
