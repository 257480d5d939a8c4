/** Event streams on a real connection whose client reads late: how they wait, and what they leave on the answer. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { batchEnded } from "../../src/base/batching.ts";
import { EventStream } from "../../src/http/event-stream.ts";

test("a stream listens once for a client that is behind, however much is written meanwhile", async (t) => {
  const answers: ServerResponse[] = [];
  const server = createServer((_req, res) => void answers.push(res));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const client = connect(address.port, "127.0.0.1").on("error", () => {});
  client.pause();
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(server, "request");
  const [res] = answers;
  assert.ok(res !== undefined);
  const before = res.listenerCount("drain");
  const stream = new EventStream(res, () => []);
  const event = `data: ${"a".repeat(1_000_000)}\n\n`;
  let written = 0;
  const write = async (): Promise<boolean> => {
    written += event.length;
    stream.write(event);
    await batchEnded();
    return stream.write("");
  };
  while (await write());
  let waits = 0;
  for (let n = 0; n < 20; n++) {
    assert.equal(await write(), false);
    stream.onDrain(() => (waits += 1));
    assert.equal(res.listenerCount("drain"), before + 1);
  }
  let received = 0;
  client.on("data", (bytes: Buffer) => (received += bytes.length)).resume();
  await once(res, "drain");
  // Of those that waited in turn the latest is told, once.
  assert.equal(waits, 1);
  assert.equal(res.listenerCount("drain"), before);
  assert.equal(stream.write(""), true);
  stream.end();
  await once(res, "finish");
  while (received < written) await once(client, "data");
});
