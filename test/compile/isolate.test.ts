/** Guardrails in threads of their own, through the whole gateway: real plugins that go wrong in every way there is. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Exchange, MaybePromise, Verdict } from "sluice/plugin";
import { isolated } from "../../src/compile/isolate.ts";
import { testHost } from "../../src/testing/index.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { assertAnswered, assertRefused, until } from "../spec/kit/client.ts";
import { echoEntry } from "../spec/kit/config.ts";
import { textOf } from "../spec/kit/event-stream.ts";
import { type Closer, type Harness, startGateway } from "../spec/kit/gateway.ts";
import { verifies } from "../spec/verifies.ts";

/** Does what the text says. `mark` is written before anything that does not come back. */
const WILD = `import { writeFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { block, defineGuardrail, refuse, replace } from "sluice/plugin";
export default defineGuardrail({
  name: "acme-wild",
  description: "Goes wrong as it is told.",
  schema: { type: "object", additionalProperties: false, properties: { mark: { type: "string" }, refuses: { type: "boolean" } } },
  examples: [{ mark: "there" }],
  setup({ mark, refuses }, host) {
    if (refuses) throw new Error("no luck in setup");
    const kept = [];
    let calls = 0;
    const seen = host.metrics.counter("acme_seen_total", "Texts seen", ["side"]).series("input");
    return {
      window: 4,
      async judge(text, about) {
        seen(1);
        if (text.includes("secret")) {
          const start = text.indexOf("secret");
          return replace([{ start, end: start + 6, text: "******" }], "secret");
        }
        switch (text) {
          case "loop": writeFileSync(mark, ""); while (true) {}
          case "later": writeFileSync(mark, ""); await null; while (true) {}
          case "throw": throw new Error("thrown by the plugin");
          case "exit": process.exit(3);
          case "crash": setImmediate(() => { throw new Error("crashed"); }); return new Promise(() => {});
          case "hang": writeFileSync(mark, ""); return new Promise(() => {});
          case "leak": while (true) kept.push(new Array(100_000).fill(about));
          case "buffers": while (true) kept.push(Buffer.alloc(10_000_000, 1));
          case "hoard": kept.push(Buffer.alloc(200_000_000, 1)); return undefined;
          case "env": return block(refuse(422, "env", Object.keys(process.env).join() || "nothing"), "env");
          case "who": return block(refuse(429, "who", about.exchange.endpoint.slug + " " + about.role, { retryAfterSeconds: 7 }), "who");
          case "reach": return about.exchange.headers;
          case "nonsense": return { verdict: "maybe" };
          case "count": return block(refuse(422, "n", "n=" + await host.store.increment("n", 1, 60)), "n");
          case "fetch": return block(refuse(422, "f", (await host.fetch("http://127.0.0.1:1/")).failed), "f");
          case "nth": return block(refuse(422, "nth", String(++calls)), "nth");
          case "forge": for (const odd of [1, {}, null, { tell: "x", args: [] }, { ask: 1, what: "x", args: [] }]) parentPort.postMessage(odd); return new Promise(() => {});
          case "log": host.log.warn({ n: 1 }, "seen in the thread"); return undefined;
        }
      },
    };
  },
});
`;

interface Wild extends Harness {
  /** A judgement that does not come back has begun. */
  begun(): Promise<void>;
}

async function wild(t: Closer, use: Readonly<Record<string, unknown>> = {}): Promise<Wild> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-isolate-"));
  const mark = join(folder, "begun");
  const g = await startGateway(t, {
    files: { "wild.js": WILD },
    root: { plugins: ["./wild.js"] },
    endpoint: echoEntry({ guardrails: [{ use: "acme-wild", isolate: true, options: { mark }, ...use }] }),
    endpoints: [echoEntry({ name: "Other" })],
  });
  t.after(async () => rmSync(folder, { recursive: true }));
  return {
    ...g,
    async begun() {
      await until(() => existsSync(mark), "the judgement begins");
      rmSync(mark);
    },
  };
}

const FAILED = "Request blocked: guardrail 'acme-wild' could not judge it.";

async function assertGoesOn(g: Harness): Promise<void> {
  assert.equal(assertAnswered(await g.call({ message: "hello" })), "hello");
}

test("a guardrail with a thread judges as it does without: pass, mask, block with its own status", async (t) => {
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
      // Behind the loop, in the same thread.
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

verifies("guard.isolate", "a crash, a leak or any other fault costs its own call alone", async (t) => {
  const g = await wild(t);
  for (const text of ["throw", "exit", "crash", "leak", "buffers", "nonsense", "reach", "forge"]) {
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

test("what a guardrail holds on to beyond its limit ends its thread, and nobody's call", async (t) => {
  const g = await wild(t);
  assertAnswered(await g.call({ message: "hoard" }));
  await until(
    () => g.lines.some((line) => line.includes("holds on to too much memory")),
    "the thread is replaced",
  );
  await assertGoesOn(g);
});

test("the thread has the host's log, store, metrics and guarded fetch, and no environment", async (t) => {
  const g = await wild(t);
  assertRefused(await g.call({ message: "count" }), 422, "n=1");
  assertRefused(await g.call({ message: "count" }), 422, "n=2");
  assertRefused(await g.call({ message: "fetch" }), 422, "blocked");
  assertRefused(await g.call({ message: "env" }), 422, "nothing");
  assertAnswered(await g.call({ message: "log" }));
  const line = g.lines.find((text) => text.includes("seen in the thread"));
  assert.match(line ?? "", /"plugin":"acme-wild"/);
  const metrics = await g.admin.send("/metrics", { method: "GET" });
  assert.match(metrics.text, /acme_seen_total\{side="input"\} 5/);
});

test("setup that throws in the thread refuses the configuration at the line that uses it", async (t) => {
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

test("equal uses share a thread, which lives on over a reload", async (t) => {
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
    start: { module: undefined, name: "keyword_blocklist", options: { keywords: ["sombra"] } },
    timeoutMs: 1000,
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
