/** The bench's load at a fixed rate: that it sends what is due, measures from then, and says what went wrong. */
import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { SteadyLoad } from "../../bench/steady-load.ts";
import { until } from "../spec/kit/client.ts";

const request = Buffer.from("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");

async function loadOn(
  t: TestContext,
  answer: (response: ServerResponse) => void,
  connections: number,
): Promise<SteadyLoad> {
  const server = createServer((_, response) => answer(response)).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const load = new SteadyLoad({
    ...{ port: address.port, request, connections },
    ...{ callsPerSecond: 2000, status: 200 },
  });
  t.after(() => {
    load.close();
    server.close();
  });
  return load;
}

test("calls go on while they are answered, and each has its time", async (t) => {
  const load = await loadOn(t, (response) => response.end("yes"), 4);
  await until(() => load.latenciesMs.length >= 100, "a hundred answers");
  assert.ok(load.latenciesMs.every((ms) => ms > 0));
  load.begin();
  assert.equal(load.latenciesMs.length, 0);
  await until(() => load.latenciesMs.length >= 10, "more answers");
  assert.equal(load.failure, "");
});

test("a call that waits for a connection is late by its waiting", async (t) => {
  const held: ServerResponse[] = [];
  const load = await loadOn(t, (response) => held.push(response), 1);
  await until(() => held.length === 1, "the first call");
  const sinceMs = performance.now();
  await until(() => performance.now() - sinceMs > 50, "others become due");
  held[0]?.end();
  await until(() => held.length === 2, "the second call");
  held[1]?.end();
  await until(() => load.latenciesMs.length === 2, "both answers");
  assert.ok((load.latenciesMs[1] ?? 0) > 40);
});

test("a wrong answer ends it, with what was wrong", async (t) => {
  const load = await loadOn(t, (response) => response.writeHead(503).end("busy"), 2);
  await until(() => load.failure !== "", "the failure");
  assert.match(load.failure, /^503 .*busy/s);
});
