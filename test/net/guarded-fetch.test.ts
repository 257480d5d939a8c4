/** HTTP on behalf of plugins: what comes back, and that everything about it has a limit. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type GuardedHttp, guardedHttp } from "../../src/net/guarded.ts";
import {
  type FakeUpstream,
  fakeUpstream,
  garbageAnswer,
  hangUpAnswer,
  jsonAnswer,
  stallAnswer,
  statusAnswer,
} from "../../src/testing/fake-upstream.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";

interface Set {
  readonly http: GuardedHttp;
  readonly server: FakeUpstream;
  readonly clock: VirtualClock;
}

async function set(t: TestContext): Promise<Set> {
  const server = await fakeUpstream();
  const clock = virtualClock();
  const http = guardedHttp({ clock, allow: ["127.0.0.1"] });
  t.after(async () => {
    http.close();
    await server.close();
  });
  return { http, server, clock };
}

test("method, headers and body go out; status, headers and text come back", async (t) => {
  const { http, server, clock } = await set(t);
  server.answer(jsonAnswer({ fine: true }, { "x-kind": "test" }));
  const outcome = await http.fetch(`${server.url}/a?b=c`, {
    method: "POST",
    headers: { "x-key": "k" },
    body: "héllo",
  });
  assert.ok(!("failed" in outcome));
  assert.deepEqual([outcome.status, outcome.headers["x-kind"], outcome.text], [200, "test", '{"fine":true}']);
  const [request] = server.requests;
  assert.deepEqual([request?.method, request?.path, request?.body], ["POST", "/a?b=c", "héllo"]);
  assert.equal(request?.headers["x-key"], "k");
  // The timer left is that of the idle connection.
  http.close();
  assert.equal(clock.pendingTimers(), 0);
});

test("connections are kept", async (t) => {
  const { http, server } = await set(t);
  server.answer(jsonAnswer({}));
  for (let n = 0; n < 5; n++) await http.fetch(server.url);
  assert.equal(server.requests.length, 5);
  assert.equal(server.connections(), 1);
});

test("a redirect is an answer like any other", async (t) => {
  const { http, server } = await set(t);
  server.answer(statusAnswer(302, "", { location: "http://169.254.169.254/" }));
  const outcome = await http.fetch(server.url);
  assert.ok(!("failed" in outcome));
  assert.equal(outcome.status, 302);
  assert.equal(server.requests.length, 1);
});

test("an answer that is too long, too late, or none, is a failure that says so", async (t) => {
  const { http, server, clock } = await set(t);
  // The long one last but one: its connection may be used again, and one that breaks then is asked anew.
  server.answer(hangUpAnswer(), garbageAnswer(), statusAnswer(200, "x".repeat(1001)), stallAnswer());
  const failed = async (): Promise<string> => {
    const outcome = await http.fetch(server.url, { bytesMax: 1000, timeoutMs: 500 });
    return "failed" in outcome ? outcome.failed : "answered";
  };
  assert.equal(await failed(), "unreachable");
  assert.equal(await failed(), "unreachable");
  assert.equal(await failed(), "too_large");
  const late = failed();
  await server.received(4);
  clock.advance(500);
  assert.equal(await late, "timeout");
  const nobody = await http.fetch("http://127.0.0.1:1/");
  assert.ok("failed" in nobody && nobody.failed === "unreachable");
  assert.equal(clock.pendingTimers(), 0);
});

test("headers that cannot be sent are a failure, not a throw", async (t) => {
  const { http, server } = await set(t);
  const outcome = await http.fetch(server.url, { headers: { "x-a": "b\r\nx-evil: c" } });
  assert.ok("failed" in outcome && outcome.failed === "unreachable");
  assert.equal(server.requests.length, 0);
});

test("a change of network.allow holds for the next request", async (t) => {
  const { http, server } = await set(t);
  server.answer(jsonAnswer({}));
  assert.ok(!("failed" in (await http.fetch(server.url))));
  http.allow([]);
  const outcome = await http.fetch(server.url);
  assert.ok("failed" in outcome && outcome.failed === "blocked");
  assert.equal(server.requests.length, 1);
});
