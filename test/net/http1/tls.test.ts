/** Providers over TLS: whom the client trusts, what it says of itself, and handshakes that are remembered. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { createServer, type TLSSocket } from "node:tls";
import { createHttp1Client } from "../../../src/net/http1/client.ts";
import { virtualClock } from "../../../src/testing/virtual-clock.ts";
import { ask, BROKEN_OFF, failureOf } from "./asking.ts";
import { type RawUpstream, rawUpstream } from "./raw-upstream.ts";

const fixture = (name: string): string => readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8");
const cert = fixture("localhost-cert.pem");
const key = fixture("localhost-key.pem");

/** As it was when it was made. */
interface Handshake {
  readonly socket: TLSSocket;
  readonly alpnProtocol: string | false | null;
  readonly servername: string | false | null | undefined;
  readonly resumed: boolean;
}

async function bench(t: TestContext, maxVersion: "TLSv1.2" | "TLSv1.3" = "TLSv1.3") {
  const handshakes: Handshake[] = [];
  const settings = { cert, key, maxVersion, ALPNProtocols: ["h2", "http/1.1"] };
  const plain = await rawUpstream(t, (accept) =>
    createServer(settings, (socket) => {
      const { alpnProtocol, servername } = socket;
      handshakes.push({ socket, alpnProtocol, servername, resumed: socket.isSessionReused() });
      accept(socket);
    }).on("tlsClientError", () => {}),
  );
  const clock = virtualClock();
  const client = createHttp1Client({ clock, ca: cert });
  t.after(() => client.close());
  return { clock, client, handshakes, upstream: { ...plain, url: `https://localhost:${plain.port}` } };
}

const whole = (body: string, ...fields: readonly string[]): string =>
  ["HTTP/1.1 200 OK", `content-length: ${body.length}`, ...fields, "", body].join("\r\n");

async function play(upstream: RawUpstream, ...answers: readonly string[]): Promise<void> {
  const peer = await upstream.connection();
  for (const answer of answers) {
    await peer.request();
    await peer.send(answer);
  }
}

test("a call over TLS asks for HTTP/1.1 by the host's name and keeps its connection", async (t) => {
  const { client, upstream, handshakes } = await bench(t);
  void play(upstream, whole("one"), whole("two"));
  assert.equal((await ask(client, upstream.url).over).body, "one");
  assert.equal((await ask(client, upstream.url).over).body, "two");
  assert.equal(handshakes.length, 1);
  assert.deepEqual([handshakes[0]?.alpnProtocol, handshakes[0]?.servername], ["http/1.1", "localhost"]);
});

test("a long body over TLS comes whole", async (t) => {
  const { client, upstream } = await bench(t);
  const body = Array.from({ length: 50_000 }, (_, n) => `word ${n} `).join("");
  void play(upstream, whole(body));
  assert.equal((await ask(client, upstream.url).over).body, body);
});

test("a server with an untrusted certificate is sent nothing", async (t) => {
  const { upstream, handshakes, clock } = await bench(t);
  const client = createHttp1Client({ clock });
  t.after(() => client.close());
  const asked = ask(client, upstream.url);
  assert.deepEqual(await failureOf(asked), ["unreachable", "unreachable"]);
  assert.match(String(asked.heard.error?.cause), /self-signed certificate/);
  for (const { socket } of handshakes) assert.equal(socket.bytesRead, 0);
});

test("a certificate of another name is not spoken to", async (t) => {
  const { client, upstream } = await bench(t);
  const asked = ask(client, `https://127.0.0.1:${upstream.port}`);
  assert.equal((await failureOf(asked))[0], "unreachable");
});

for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
  test(`a second connection over ${version} takes the first one's session up`, async (t) => {
    const { client, upstream, handshakes } = await bench(t, version);
    for (const word of ["one", "two", "three"]) {
      void play(upstream, whole(word, "connection: close"));
      assert.equal((await ask(client, upstream.url).over).body, word);
    }
    assert.deepEqual(
      handshakes.map(({ resumed }) => resumed),
      [false, true, true],
    );
  });
}

test("a provider that never shakes hands is unreachable after ten seconds", async (t) => {
  const deaf = await rawUpstream(t);
  const clock = virtualClock();
  const client = createHttp1Client({ clock, ca: cert });
  const asked = ask(client, `https://localhost:${deaf.port}`);
  const peer = await deaf.connection();
  clock.advance(9_999);
  assert.equal(asked.heard.error, undefined);
  clock.advance(1);
  assert.deepEqual(await failureOf(asked), ["unreachable", "unreachable"]);
  await peer.closed;
  await client.close();
  assert.equal(clock.pendingTimers(), 0);
});

test("a stream over TLS is held back and continues", async (t) => {
  const { client, upstream } = await bench(t);
  const asked = ask(client, upstream.url);
  const peer = await upstream.connection();
  await peer.request();
  const came = asked.next();
  await peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n");
  await came;
  asked.call.pause();
  const block = "x".repeat(16_000);
  const sent = peer.send(`3e80\r\n${block}\r\n`.repeat(2_000));
  const blocked = await Promise.race([sent.then(() => false), turns(200).then(() => true)]);
  assert.equal(blocked, true);
  assert.ok(asked.heard.body.length < 16_000_000, "read on while paused");
  asked.call.resume();
  await sent;
  peer.socket.end();
  assert.deepEqual(await failureOf(asked), BROKEN_OFF);
});

/** Waits for a number of turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((turn) => setImmediate(turn));
}
