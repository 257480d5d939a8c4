/** The bench's streams: each begins anew when it ends, and a chunk's delay counts from when its sender says it was sent. */
import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { StreamDelays } from "../../bench/stream-delays.ts";
import { until } from "../spec/kit/client.ts";

const request = Buffer.from("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");

async function streamsOn(t: TestContext, answer: (socket: Socket) => void): Promise<StreamDelays> {
  const server = createServer((socket) => socket.on("error", () => {}).on("data", () => answer(socket)));
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const delays = new StreamDelays({ port: address.port, request, streams: 3, staggerMs: 1 });
  t.after(() => {
    delays.close();
    server.close();
  });
  return delays;
}

/** A chunk that was sent so long ago. */
function sent(agoMs: number): string {
  const us = process.hrtime.bigint() / 1000n - BigInt(agoMs * 1000);
  return `data: {"content":"sent@${String(us).padStart(16, "0")}"}\n\n`;
}

test("a chunk is late by what has passed since it was sent, wherever its bytes are cut", async (t) => {
  const delays = await streamsOn(t, (socket) => {
    const text = sent(500);
    const chunk = `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    const bytes = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`;
    const cut = bytes.indexOf("sent@") + 10;
    socket.write(bytes.slice(0, cut));
    setTimeout(() => socket.write(bytes.slice(cut)), 2);
  });
  await until(() => delays.chunksMs.length >= 12, "four streams each");
  assert.ok(delays.isComplete);
  assert.ok(delays.chunksMs.every((ms) => ms >= 500));
  assert.equal(delays.firstChunksMs.length, delays.chunksMs.length);
  assert.ok(delays.firstChunksMs.every((ms) => ms < 500));
  assert.equal(delays.failure, "");
});

test("an answer that is not a stream ends the measurement, with what was received", async (t) => {
  const delays = await streamsOn(t, (socket) =>
    socket.write("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 9\r\n\r\nslow down"),
  );
  await until(() => delays.failure !== "", "the failure");
  assert.match(delays.failure, /429 .*slow down/s);
});
