/** The POST that webhooks are sent with: whom it asks, what it reads, and that it asks once. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { type GuardedPost, guardedPost } from "../../src/net/guarded.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { until } from "../spec/kit/client.ts";
import { hang, receiver } from "../webhooks/kit.ts";

const LIMITS = { timeoutMs: 1000, maxBytes: 100 };

function open(t: TestContext, allow = ["127.0.0.0/8"]): GuardedPost & { readonly clock: VirtualClock } {
  const clock = virtualClock();
  const out = guardedPost({ clock, allow });
  t.after(() => out.close());
  return { ...out, clock };
}

test("an address is asked only while it is allowed", async (t) => {
  const to = await receiver(t);
  const out = open(t, []);
  assert.match((await out.post(to.url, {}, "{}", LIMITS)).error ?? "", /^blocked by the SSRF guard: /);
  out.allow(["127.0.0.1/32"]);
  assert.equal((await out.post(to.url, {}, "{}", LIMITS)).status, 204);
  out.allow([]);
  assert.equal((await out.post(to.url, {}, "{}", LIMITS)).status, undefined);
  assert.equal(to.requests.length, 1);
});

test("a name is looked at by its addresses", async (t) => {
  const to = await receiver(t);
  const clock = virtualClock();
  const { port } = new URL(to.url);
  const url = `http://hooks.example.test:${port}/`;
  const resolve: NonNullable<Parameters<typeof guardedPost>[0]["resolve"]> = (_, answer) =>
    answer(null, [{ address: "127.0.0.1", family: 4 }]);
  const shut = guardedPost({ clock, allow: [], resolve });
  const wide = guardedPost({ clock, allow: ["hooks.example.test"], resolve });
  t.after(() => {
    shut.close();
    wide.close();
  });
  assert.match((await shut.post(url, {}, "{}", LIMITS)).error ?? "", /^blocked by the SSRF guard: /);
  assert.equal((await wide.post(url, {}, "{}", LIMITS)).status, 204);
  assert.equal(to.requests[0]?.headers.host, `hooks.example.test:${port}`);
});

test("what no request may have is a failure and no throw", async (t) => {
  const out = open(t);
  for (const url of ["", "ftp://127.0.0.1/", "http://user:word@127.0.0.1/"]) {
    assert.equal((await out.post(url, {}, "{}", LIMITS)).status, undefined);
  }
  const outcome = await out.post("http://127.0.0.1:9/", { "x-bad": "a\r\nb" }, "{}", LIMITS);
  assert.equal(outcome.error, "could not be asked: invalid x-bad header");
  assert.equal(out.clock.pendingTimers(), 0);
});

test("an answer that breaks off is told as far as it came, with what went wrong", async (t) => {
  const half = await receiver(t, (response) => {
    response.writeHead(200, { "content-length": 50 });
    response.write("half of it", () => response.socket?.end());
  });
  assert.deepEqual(await open(t).post(half.url, {}, "{}", LIMITS), {
    status: 200,
    body: "half of it",
    error: "the connection was lost before the answer was complete",
  });
});

test("a receiver that closes a kept connection while it is asked again is asked no second time", async (t) => {
  let asked = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", () => {
      asked++;
      if (asked === 1) socket.write("HTTP/1.1 204 No Content\r\n\r\n");
      else socket.resetAndDestroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => void server.close());
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
  const out = open(t);
  assert.equal((await out.post(url, {}, "{}", LIMITS)).status, 204);
  assert.equal((await out.post(url, {}, "{}", LIMITS)).error, "unreachable (ECONNRESET)");
  assert.equal(asked, 2);
});

test("an answer that is late, but within its time, is waited for", async (t) => {
  let letGo = (): void => {};
  const slow = await receiver(t, (response) => (letGo = () => void response.writeHead(204).end()));
  const out = open(t);
  const posted = out.post(slow.url, {}, "{}", LIMITS);
  await slow.received(1);
  out.clock.advance(999);
  letGo();
  assert.equal((await posted).status, 204);
});

test("closing ends what is under way", async (t) => {
  const slow = await receiver(t, hang);
  const out = open(t);
  const posted = out.post(slow.url, {}, "{}", LIMITS);
  await slow.received(1);
  out.close();
  assert.equal((await posted).status, undefined);
  await until(() => slow.connections() === 0, "the connection is closed");
  assert.equal((await out.post(slow.url, {}, "{}", LIMITS)).error, "closed");
});
