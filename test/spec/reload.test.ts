/** Reloads: what they change, what they leave alone, and what brings them about. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { configOf, echoEntry } from "./kit/config.ts";
import { textOf } from "./kit/event-stream.ts";
import { type Harness, type StartOptions, startGateway } from "./kit/gateway.ts";
import { chunk } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };
/** How often the files are looked at when no event comes. */
const POLL_MS = 2_000;

async function generation(g: Harness): Promise<number> {
  return Number(at((await g.admin.send("/readyz", { method: "GET" })).json, "generation"));
}

/** Lets the watch look once, and waits for the generation after this one. */
async function noticed(g: Harness, after: number): Promise<void> {
  g.clock.advance(POLL_MS);
  await until(async () => (await generation(g)) > after, "the change is noticed");
}

function templated(template: string): StartOptions {
  return { endpoint: echoEntry({ user_prompt_template: template }) };
}

async function says(g: Harness): Promise<string> {
  return assertAnswered(await g.call(hello));
}

verifies("reload.swap", "after a reload new calls see the new configuration", async (t) => {
  const g = await startGateway(t, templated("old {{input}}"));
  assert.equal(await says(g), "old Hello");
  g.rewrite(templated("new {{input}}"));
  const outcome = await g.gateway.reload();
  assert.deepEqual([outcome.ok, outcome.changed], [true, true]);
  assert.equal(await says(g), "new Hello");
  assert.equal((await g.gateway.reload()).changed, false);
});

verifies(
  ["reload.running-call", "reload.disposed"],
  "a running stream ends on the configuration that it began with, which is then disposed",
  async (t) => {
    const plugin = `export default {
      api: 1, kind: "stage", name: "marker", stage: "record", description: "A test's own.", examples: [],
      schema: { type: "object" },
      setup(options, host) { return { finish() {}, close() { host.log.warn({ mark: options.mark }, "closed"); } }; },
    };`;
    const parts = (keywords: string[]): StartOptions => ({
      files: { "marker.ts": plugin },
      root: { plugins: ["./marker.ts"] },
      endpoint: {
        guardrails: [{ use: "keyword_blocklist", keywords, on: ["output"] }],
        stages: [{ use: "marker", options: { mark: keywords[0] } }],
      },
    });
    const closed = (mark: string): boolean => g.lines.some((line) => line.includes(`"mark":"${mark}"`));
    const g = await startGateway(t, parts(["sombra"]));
    const played = g.provider.opens();
    const text = "x ".repeat(400);
    const [stream] = await Promise.all([g.stream(hello), played.send(chunk({ content: text }))]);
    g.rewrite(parts(["lumbre"]));
    assert.equal((await g.gateway.reload()).ok, true);
    assert.equal(closed("sombra"), false);
    await played.send(chunk({ content: "the lumbre and the sombra" }));
    await played.send(chunk({}, "stop"));
    await played.send("[DONE]");
    await played.end();
    const events = await stream.rest();
    assert.match(events.at(-2) ?? "", /keyword 'sombra' detected in output/);
    await until(() => closed("sombra"), "the old configuration is disposed");
    assert.equal(closed("lumbre"), false);
    g.provider.says("the sombra again");
    assert.equal(textOf(await (await g.stream(hello)).rest()), "the sombra again");
  },
);

verifies(
  ["reload.atomic", "reload.broken.shown"],
  "a faulty reload changes nothing, and is shown",
  async (t) => {
    const g = await startGateway(t, templated("old {{input}}"));
    const before = await generation(g);
    const broken = [
      configOf(templated("no place"), g.provider.url),
      configOf({ ...templated("new {{input}}"), root: { log: { level: "loud" } } }, g.provider.url),
    ];
    for (const config of broken) {
      g.rewrite(JSON.stringify(config));
      const outcome = await g.gateway.reload();
      assert.equal(outcome.ok, false);
      assert.ok(outcome.errors.length > 0);
      assert.equal(await says(g), "old Hello");
    }
    assert.equal(await generation(g), before);
    const ready = await g.admin.send("/readyz", { method: "GET" });
    assert.equal(ready.status, 200);
    assert.equal(at(ready.json, "last_reload", "ok"), false);
    assert.match(JSON.stringify(at(ready.json, "last_reload", "errors")), /E\d{4}/);
    const metrics = await g.admin.send("/metrics", { method: "GET" });
    assert.match(metrics.text, /^sluice_config_last_reload_successful 0$/m);
    assert.match(g.lines.join("\n"), /"level":"error".*E\d{4}|E\d{4}.*"level":"error"/);
    g.rewrite(templated("new {{input}}"));
    assert.equal((await g.gateway.reload()).ok, true);
    assert.equal(await says(g), "new Hello");
    const mended = await g.admin.send("/readyz", { method: "GET" });
    assert.equal(at(mended.json, "last_reload", "ok"), true);
  },
);

verifies("reload.counters", "windows, spend and sessions survive a reload", async (t) => {
  const parts = (prompt: string): StartOptions => ({
    endpoint: {
      prompt,
      rate_limit_per_minute: 2,
      sessions_enabled: true,
    },
    endpoints: [
      echoEntry({
        name: "Paid",
        prompt,
        monthly_budget_usd: 0.012,
        estimated_cost_per_1k_tokens_usd: 1,
        max_output_tokens: 6,
      }),
    ],
  });
  const g = await startGateway(t, parts(""));
  g.provider.says("Yes.");
  const first = await g.call(hello);
  const session_id = at(first.json, "meta", "session_id");
  assertAnswered(await g.call(hello, { slug: "paid" }));
  g.rewrite(parts("Other."));
  assert.equal((await g.gateway.reload()).changed, true);
  assertAnswered(await g.call({ ...hello, session_id }));
  const messages = g.provider.sent("messages");
  assert.ok(Array.isArray(messages) && messages.length === 4);
  assertRefused(await g.call(hello), 429, "Rate limit exceeded.");
  assertRefused(
    await g.call(hello, { slug: "paid" }),
    402,
    /^Endpoint monthly budget .*~\$0\.00[1-9]\d spent/,
  );
});

verifies("reload.restart-needed", "what needs a restart is named, and the rest is applied", async (t) => {
  const g = await startGateway(t, templated("old {{input}}"));
  g.rewrite({
    ...templated("new {{input}}"),
    server: { max_body_bytes: 50 },
    root: { admin: { port: 0, enabled: false }, state: { max_sessions: 5 } },
  });
  const outcome = await g.gateway.reload();
  assert.deepEqual([outcome.ok, [...outcome.needsRestart].sort()], [true, ["admin", "server", "state"]]);
  const padded = await g.call({ ...hello, padding: "p".repeat(100) });
  assert.equal(assertAnswered(padded), "new Hello");
  assert.match(g.lines.join("\n"), /restart/);
});

verifies(
  ["reload.rename", "reload.referenced-file", "reload.burst"],
  "a saved file, a renamed one, a referenced one and twenty at once each bring one reload",
  async (t) => {
    const schema = (key: string): string => JSON.stringify({ required: [key] });
    const g = await startGateway(t, {
      watch: true,
      files: { "template.txt": "old {{input}}", "in.json": schema("message") },
      endpoint: echoEntry({
        user_prompt_template: "${file:template.txt}",
        input_schema: { $ref: "./in.json" },
      }),
    });
    const path = join(g.folder, "gateway.config.yaml");
    const now = readFileSync(path, "utf8");
    let count = await generation(g);
    const step = async (change: () => void): Promise<void> => {
      change();
      await noticed(g, count);
      count += 1;
      assert.equal(await generation(g), count);
    };
    await step(() => writeFileSync(join(g.folder, "template.txt"), "new {{input}}"));
    assert.equal(await says(g), "new Hello");
    await step(() => writeFileSync(join(g.folder, "in.json"), schema("ticket")));
    assertRefused(await g.call(hello), 422, /ticket/);
    await step(() => writeFileSync(join(g.folder, "in.json"), schema("message")));
    // As editors save: the new text under another name, then over the old one. Twice, since the first loses a watch.
    for (const name of ["First", "Second"]) {
      await step(() => {
        writeFileSync(`${path}~`, now.replace('"name": "Support"', `"name": "${name}"`));
        renameSync(`${path}~`, path);
      });
    }
    await step(() => {
      for (let n = 0; n < 20; n += 1) {
        writeFileSync(path, now.replace('"name": "Support"', `"name": "Burst ${n}"`));
        writeFileSync(join(g.folder, "template.txt"), `burst ${n} {{input}}`);
      }
    });
    assert.equal(await says(g), "burst 19 Hello");
  },
);

verifies("reload.file-change", "an event is enough: nothing has to be polled", async (t) => {
  const g = await startGateway(t, { watch: true, ...templated("old {{input}}") });
  const before = await generation(g);
  const idle = g.clock.pendingTimers();
  g.rewrite(templated("new {{input}}"));
  await until(() => g.clock.pendingTimers() > idle, "the change is told by the system");
  g.clock.advance(200);
  await until(async () => (await generation(g)) > before, "the change is applied");
  assert.equal(await says(g), "new Hello");
});

verifies("reload.configmap", "a ConfigMap's ..data swap is noticed, every time", async (t) => {
  const g = await startGateway(t, { watch: true, ...templated("v0 {{input}}") });
  const path = join(g.folder, "gateway.config.yaml");
  const text = readFileSync(path, "utf8");
  /** As the kubelet does: a new folder, a new link beside the old, and one rename. */
  const swap = (version: number): void => {
    const folder = join(g.folder, `..v${version}`);
    mkdirSync(folder);
    writeFileSync(join(folder, "gateway.config.yaml"), text.replace("v0 ", `v${version} `));
    symlinkSync(`..v${version}`, join(g.folder, "..data_tmp"));
    renameSync(join(g.folder, "..data_tmp"), join(g.folder, "..data"));
    if (version > 1) rmSync(join(g.folder, `..v${version - 1}`), { recursive: true });
  };
  for (let version = 1; version <= 5; version += 1) {
    const before = await generation(g);
    swap(version);
    if (version === 1) {
      rmSync(path);
      symlinkSync("..data/gateway.config.yaml", path);
    }
    await noticed(g, before);
    assert.equal(await says(g), `v${version} Hello`);
  }
});

verifies(
  ["server.drain", "http.drain.new-calls", "http.retry.503-later"],
  "stopping refuses new calls, lets open ones finish, then ends",
  async (t) => {
    const g = await startGateway(t);
    g.provider.says("Yes.");
    assertAnswered(await g.call(hello));
    const played = g.provider.opens();
    const [stream] = await Promise.all([g.stream(hello), played.send(chunk({ content: "Half" }))]);
    let stopped = false;
    // A connection that was open and in the middle of a request before the stop.
    const body = JSON.stringify(hello);
    const request = `POST /api/6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f701/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer gw_live_web0Caller1\r\nContent-Length: ${body.length}\r\n`;
    const late = g.client.dialogue(request);
    await late.sent;
    const stopping = g.gateway.stop().then(() => (stopped = true));
    await until(async () => (await generationOrGone(g)) === "gone", "no new connection is taken");
    late.write(`\r\n${body}`);
    const refusal = await late.answer;
    assert.match(refusal, /^HTTP\/1\.1 503 [\s\S]*\r\nRetry-After: \d+\r\n/i);
    assert.match(refusal, /x-should-retry: true/i);
    assert.equal(stopped, false);
    await played.send(chunk({ content: " and half." }));
    await played.send(chunk({}, "stop"));
    await played.send("[DONE]");
    await played.end();
    const events = await stream.rest();
    assert.equal(textOf(events), "Half and half.");
    assert.equal(events.at(-1), "[DONE]");
    // The client keeps its connection for another call that will not come: that must hold up nothing.
    await until(() => stopped, "the gateway has stopped");
    await stopping;
  },
);

async function generationOrGone(g: Harness): Promise<"gone" | "there"> {
  return g.admin.raw("GET /healthz HTTP/1.0\r\n\r\n").then(
    () => "there",
    () => "gone",
  );
}

verifies("server.drain.limit", "a call still open when the time is over is cut", async (t) => {
  const g = await startGateway(t, { server: { drain_timeout_ms: 3_000 } });
  const played = g.provider.opens();
  const [stream] = await Promise.all([g.stream(hello), played.send(chunk({ content: "Half" }))]);
  const idle = g.clock.pendingTimers();
  const stopping = g.gateway.stop();
  await until(() => g.clock.pendingTimers() > idle, "the deadline stands");
  g.clock.advance(3_000);
  await stopping;
  await played.closed;
  assert.notEqual((await stream.rest()).at(-1), "Half");
});
