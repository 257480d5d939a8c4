/** Large bodies through the gateway: every byte unchanged, with slow clients and upstreams and any framing. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { type TestContext, test } from "node:test";
import { rawUpstream } from "../../net/http1/raw-upstream.ts";
import { CALLER, patterned, proxied, startProxy, upstreamOf } from "./kit.ts";

const BYTES = 5_000_000;

interface Manner {
  readonly isChunked: boolean;
  /** Reads one piece a turn of the loop. */
  readonly isSlow: boolean;
}

/** Sends the body to an upstream that answers with it. */
async function echoed(t: TestContext, body: Buffer, { isChunked, isSlow }: Manner): Promise<Buffer> {
  const url = await upstreamOf(t, (req, res) => {
    if (!isChunked) res.setHeader("content-length", req.headers["content-length"] ?? "");
    req.pipe(res);
  });
  const { client } = await startProxy(t, { upstream_url: url });
  const framing = isChunked ? {} : { "content-length": String(body.length) };
  const headers = { authorization: `Bearer ${CALLER}`, ...framing };
  const out = request(`${client.origin}${proxied()}`, { method: "POST", headers, agent: false });
  out.write(body.subarray(0, 70_000));
  out.end(body.subarray(70_000));
  // A request's event is what its type says.
  const [answer] = (await once(out, "response")) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) {
    if (isSlow) await new Promise(setImmediate);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

for (const isChunked of [false, true]) {
  for (const isSlow of [false, true]) {
    const framing = isChunked ? "in chunks" : "of a given length";
    test(`a body ${framing} comes back byte for byte, read ${isSlow ? "slowly" : "at once"}`, async (t) => {
      const body = patterned(BYTES);
      assert.ok((await echoed(t, body, { isChunked, isSlow })).equals(body));
    });
  }
}

test("a body that ends with its connection is passed on in chunks", async (t) => {
  const upstream = await rawUpstream(t);
  const { client } = await startProxy(t, { upstream_url: upstream.url }, { allow: ["localhost"] });
  const asked = client.send(proxied(), { token: CALLER, method: "GET" });
  const peer = await upstream.connection();
  await peer.request();
  peer.socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall there is");
  const answer = await asked;
  assert.deepEqual([answer.text, answer.headers["transfer-encoding"]], ["all there is", "chunked"]);
});

test("an upstream that changes the protocol unasked is not followed", async (t) => {
  const upstream = await rawUpstream(t);
  const { client, gateway } = await startProxy(t, { upstream_url: upstream.url }, { allow: ["localhost"] });
  for (const head of ["Connection: Upgrade\r\nUpgrade: websocket\r\n", ""]) {
    const asked = client.send(proxied(), { token: CALLER, method: "GET" });
    const peer = await upstream.connection();
    await peer.request();
    await peer.send(`HTTP/1.1 101 Switching Protocols\r\n${head}\r\nHTTP/1.1 200 OK\r\n\r\n`);
    assert.equal((await asked).status, 502, head);
    await peer.closed;
  }
  assert.equal(gateway.openCalls, 0);
});

test("an answer without a request is dropped, and its connection is not used again", async (t) => {
  const upstream = await rawUpstream(t);
  const { client } = await startProxy(t, { upstream_url: upstream.url }, { allow: ["localhost"] });
  const answerOf = (text: string): string =>
    `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
  const first = client.send(proxied(), { token: CALLER, method: "GET" });
  const one = await upstream.connection();
  await one.request();
  await one.send(answerOf("first"));
  assert.equal((await first).text, "first");
  await one.send(answerOf("forged"));
  await one.closed;
  const second = client.send(proxied(), { token: CALLER, method: "GET" });
  const two = await upstream.connection();
  await two.request();
  await two.send(answerOf("second"));
  assert.equal((await second).text, "second");
});
