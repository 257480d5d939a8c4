/** Guardrails in processes of their own, through the whole gateway: real plugins, real processes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Exchange, MaybePromise, Verdict } from "sluice/plugin";
import { isolated } from "../../../src/plugins-host/isolation/isolated-guardrail.ts";
import { testHost } from "../../../src/testing/index.ts";
import { virtualClock } from "../../../src/testing/virtual-clock.ts";
import { assertAnswered, assertRefused, until } from "../../spec/kit/client.ts";
import { echoEntry } from "../../spec/kit/config.ts";
import { textOf } from "../../spec/kit/event-stream.ts";
import { type Harness, startGateway } from "../../spec/kit/gateway.ts";
import { verifies } from "../../spec/verifies.ts";
import { FAILED, WILD, wild } from "./wild-guardrail.ts";

async function assertGoesOn(g: Harness): Promise<void> {
  assert.equal(assertAnswered(await g.call({ message: "hello" })), "hello");
}

test("an isolated guardrail judges as it does in the gateway: pass, mask, block with its own status", async (t) => {
  const g = await wild(t, { on: ["input", "output"] });
  await assertGoesOn(g);
  assert.equal(assertAnswered(await g.call({ message: "my secret." })), "my ******.");
  const refused = await g.call({ message: "who" });
  assertRefused(refused, 429, "ask user");
  assert.equal(refused.headers["retry-after"], "7");
  const streamed = await g.stream({ message: "say nothing more" });
  assert.equal(textOf(await streamed.rest()), "say nothing more");
});

verifies(
  "guard.isolate",
  "an endless loop costs its own call alone, and others are answered meanwhile",
  async (t) => {
    const g = await wild(t);
    for (const text of ["loop", "later"]) {
      const stuck = g.call({ message: text });
      await g.begun();
      // Behind the loop, in the same process.
      const behind = g.call({ message: "behind" });
      assertAnswered(await g.call({ message: "elsewhere" }, { slug: "other" }));
      g.clock.advance(1000);
      assertRefused(await stuck, 422, FAILED);
      assert.equal(assertAnswered(await behind), "behind");
      await assertGoesOn(g);
    }
  },
);

verifies("guard.isolate", "a promise that never resolves costs its own call alone", async (t) => {
  const g = await wild(t);
  const stuck = g.call({ message: "hang" });
  await g.begun();
  await assertGoesOn(g);
  g.clock.advance(1000);
  assertRefused(await stuck, 422, FAILED);
  await assertGoesOn(g);
});

verifies("guard.isolate", "a crash or an exit costs its own call alone", async (t) => {
  const g = await wild(t);
  for (const text of ["throw", "exit", "crash", "nonsense", "function", "enormous", "reach", "disconnect"]) {
    const [wrong, other] = await Promise.all([
      g.call({ message: text }),
      g.call({ message: "elsewhere" }, { slug: "other" }),
    ]);
    assert.equal(wrong.status, 422, text);
    assertRefused(wrong, 422, FAILED);
    assertAnswered(other);
    await assertGoesOn(g);
  }
});

test("with on_error allow a call whose judgement crashes goes through", async (t) => {
  const g = await wild(t, { on_error: "allow" });
  assert.equal(assertAnswered(await g.call({ message: "exit" })), "exit");
  await assertGoesOn(g);
});

test("memory that a guardrail keeps beyond its limit ends its process, and costs no call", async (t) => {
  const g = await wild(t);
  // Judged before the next look at the memory, or blamed for it.
  const hoarding = await g.call({ message: "hoard" });
  assert.ok([200, 422].includes(hoarding.status));
  await until(
    () => g.lines.some((line) => /its process takes \d+ MB of memory, over its limit of 384 MB/.test(line)),
    "the process is replaced",
  );
  await assertGoesOn(g);
});

test("an isolated guardrail has the host's log, store, metrics and guarded fetch", async (t) => {
  const g = await wild(t);
  assertRefused(await g.call({ message: "count" }), 422, "n=1");
  assertRefused(await g.call({ message: "count" }), 422, "n=2");
  assertRefused(await g.call({ message: "fetch" }), 422, "blocked");
  assertAnswered(await g.call({ message: "log" }));
  const line = g.lines.find((text) => text.includes("seen in the process"));
  assert.match(line ?? "", /"plugin":"acme-wild"/);
  const metrics = await g.admin.send("/metrics", { method: "GET" });
  assert.match(metrics.text, /acme_seen_total\{side="input"\} 4/);
});

test("setup that throws in the process refuses the configuration at the line that uses it", async (t) => {
  const g = await wild(t);
  g.rewrite({
    root: { plugins: ["./wild.js"] },
    endpoint: { guardrails: [{ use: "acme-wild", isolate: true, options: { refuses: true } }] },
  });
  const { ok, errors } = await g.gateway.reload();
  assert.equal(ok, false);
  assert.match(errors[0]?.message ?? "", /no luck in setup/);
  await assertGoesOn(g);
});

test("equal uses share a process, which a reload keeps", async (t) => {
  const guardrails = [{ use: "acme-wild", isolate: true }];
  const parts = (prompt: string) => ({
    root: { plugins: ["./wild.js"] },
    endpoint: echoEntry({ guardrails, prompt }),
    endpoints: [echoEntry({ name: "Other", guardrails })],
  });
  const g = await startGateway(t, { files: { "wild.js": WILD }, ...parts("Be brief.") });
  assertRefused(await g.call({ message: "nth" }), 422, "1");
  assertRefused(await g.call({ message: "nth" }, { slug: "other" }), 422, "2");
  g.rewrite(parts("Be long."));
  assert.equal((await g.gateway.reload()).changed, true);
  assertRefused(await g.call({ message: "nth" }), 422, "3");
});

test("a built-in guardrail can be isolated", async (t) => {
  const guardrails = [{ use: "keyword_blocklist", isolate: true, keywords: ["sombra"] }];
  const g = await startGateway(t, { endpoint: echoEntry({ guardrails }) });
  assertRefused(
    await g.call({ message: "sombra" }),
    422,
    "Request blocked: keyword 'sombra' detected in input.",
  );
});

test("many judgements are open at once, but not more than a thousand", async (t) => {
  const guardrail = await isolated({
    entry: new URL("../../../src/plugins-host/isolation/isolated-child.ts", import.meta.url),
    source: { module: undefined, name: "keyword_blocklist", options: { keywords: ["sombra"] } },
    timeoutMs: 1000,
    deadlineError: (ms) => new Error(`${ms} ms`),
    host: testHost(),
    clock: virtualClock(),
  });
  t.after(() => guardrail.close?.());
  const about = { side: "input", role: "user", totalCharacters: 6, partial: false } as const;
  // Every field that gets across is there, if empty.
  const exchange = { project: {}, endpoint: {}, token: {} } as Exchange;
  const judge = (text: string): MaybePromise<Verdict> => guardrail.judge(text, { ...about, exchange });
  const open = Array.from({ length: 1000 }, (_, n) => judge(n % 2 === 0 ? "sombra" : "sol"));
  await assert.rejects(async () => judge("sol"), /1000 judgements are open/);
  const verdicts = await Promise.all(open);
  assert.deepEqual(
    verdicts.map((verdict) => verdict?.verdict),
    open.map((_, n) => (n % 2 === 0 ? "block" : undefined)),
  );
});
