/** How a gateway ends: by a signal, at its deadline, after a lame-duck time, and after an error that no guard has caught. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { assertAnswered, at, Client, until } from "./kit/client.ts";
import { configOf, echoEntry, PROJECT, TOKENS } from "./kit/config.ts";
import { type EventStream, textOf } from "./kit/event-stream.ts";
import { startGateway } from "./kit/gateway.ts";
import { PROGRAM } from "./kit/process.ts";
import { chunk, fakeProvider } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };

verifies(
  "server.drain.events",
  "a stream that is open at the deadline ends with its error event and [DONE], a whole call with 503",
  async (t) => {
    const g = await startGateway(t, { server: { drain_timeout_ms: 3_000 } });
    const opened: EventStream[] = [];
    for (let n = 0; n < 10; n += 1) {
      const played = g.provider.opens();
      const [stream] = await Promise.all([g.stream(hello), played.send(chunk({ content: "Half" }))]);
      opened.push(stream);
    }
    const waiting = g.provider.opens();
    const whole = g.call(hello);
    await waiting.opened;
    const idle = g.clock.pendingTimers();
    const stopping = g.gateway.stop();
    await until(() => g.clock.pendingTimers() > idle, "the deadline is set");
    g.clock.advance(3_000);
    for (const stream of opened) {
      const events = await stream.rest();
      assert.equal(events.at(-1), "[DONE]");
      assert.deepEqual(JSON.parse(events.at(-2) ?? ""), {
        ok: false,
        error: "The gateway is shutting down.",
      });
      assert.equal(textOf(events.slice(0, -2)), "Half");
    }
    assert.equal((await whole).status, 503);
    await stopping;
  },
);

/** A connection of its own; `answers` is what has been read so far. */
function connection(t: TestContext, origin: string) {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname).setEncoding("latin1");
  const state = { socket, answers: "", isClosed: false };
  socket.on("data", (text: string) => (state.answers += text)).on("error", () => {});
  socket.on("close", () => (state.isClosed = true));
  t.after(() => socket.destroy());
  return state;
}

verifies(
  "server.drain.connections",
  "stopping closes idle connections at once; requests that begin to arrive on others are answered 503",
  async (t) => {
    const g = await startGateway(t, { endpoint: echoEntry({}) });
    const body = JSON.stringify(hello);
    const head = `POST /api/${PROJECT}/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKENS.web}\r\nContent-Length: ${body.length}\r\n`;
    const whole = `${head}\r\n${body}`;
    const { origin } = g.client;
    const idle = connection(t, origin);
    idle.socket.write(`${head}\r\n`);
    await until(() => g.gateway.openCalls === 1, "the call has begun");
    // A body that arrives later than its head.
    idle.socket.write(body);
    const halfway = connection(t, origin);
    halfway.socket.write(whole);
    await until(() => idle.answers.includes("Hello") && halfway.answers.includes("Hello"), "two answers");
    halfway.socket.write(head);
    const beginning = connection(t, origin);
    beginning.socket.write(head.slice(0, 20));
    const silent = connection(t, origin);
    await once(silent.socket, "connect");
    // What was written before this call has been read when it is answered.
    assertAnswered(await g.call(hello));
    const stopping = g.gateway.stop();
    await until(() => idle.isClosed, "the idle connection is closed");
    halfway.socket.write(`\r\n${body}`);
    beginning.socket.write(whole.slice(20));
    silent.socket.write(whole);
    await until(() => halfway.isClosed && beginning.isClosed && silent.isClosed, "all are closed");
    assert.match(idle.answers, /^HTTP\/1\.1 200 /);
    assert.match(halfway.answers, /"Hello"[\s\S]*HTTP\/1\.1 503 /);
    assert.match(beginning.answers, /^HTTP\/1\.1 503 /);
    assert.match(silent.answers, /^HTTP\/1\.1 503 /);
    await stopping;
  },
);

verifies(
  "server.lame-duck",
  "in the lame-duck time /readyz is 503 and calls are still answered; then the listener closes",
  async (t) => {
    const g = await startGateway(t, { server: { lame_duck_ms: 5_000 }, endpoint: echoEntry({}) });
    const ready = async (): Promise<number> => (await g.client.send("/readyz", { method: "GET" })).status;
    assert.equal(await ready(), 200);
    let stopped = false;
    const stopping = g.gateway.stop().then(() => (stopped = true));
    assert.equal(await ready(), 503);
    assert.equal((await g.admin.send("/readyz", { method: "GET" })).status, 503);
    assertAnswered(await g.call(hello));
    g.clock.advance(4_999);
    assertAnswered(await g.call(hello));
    assert.equal(stopped, false);
    g.clock.advance(1);
    await stopping;
    await assert.rejects(g.call(hello));
  },
);

test("a plugin whose close throws, rejects or hangs keeps nothing from being closed and flushed", async (t) => {
  const module = (
    name: string,
    close: string,
  ): string => `export default { api: 1, kind: "stage", name: "${name}",
    stage: "prepare", description: "Does not close.", examples: [], schema: { type: "object" },
    setup() { return { request() {}, close() { ${close} } }; } };`;
  const names = ["close-throws", "close-rejects", "close-hangs"];
  const g = await startGateway(t, {
    files: {
      "close-throws.js": module("close-throws", `throw new Error("no")`),
      "close-rejects.js": module("close-rejects", `return Promise.reject(new Error("no"))`),
      "close-hangs.js": module("close-hangs", "return new Promise(() => {})"),
    },
    root: { plugins: names.map((name) => `./${name}.js`) },
    endpoint: echoEntry({ stages: names.map((use) => ({ use })) }),
  });
  assertAnswered(await g.call(hello));
  let stopped = false;
  const stopping = g.gateway.stop().then(() => (stopped = true));
  for (let n = 0; !stopped && n < 60; n += 1) {
    g.clock.advance(1_000);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await stopping;
  for (const name of names)
    assert.ok(
      g.lines.some((line) => line.includes(`"${name}"`) && line.includes('"hook":"close"')),
      name,
    );
  assert.ok(g.lines.at(-1)?.includes('"stopped"'), g.lines.at(-1));
});

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The real program, with a stage that does what a call's message says. */
async function crashing(t: TestContext, files: Readonly<Record<string, string>>, endpoint: object) {
  const provider = await fakeProvider();
  t.after(() => provider.close());
  const folder = mkdtempSync(join(tmpdir(), "sluice-crash-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const plugins = Object.keys(files).map((name) => `./${name}`);
  const config = configOf({ endpoint: { ...endpoint }, root: { plugins } }, provider.url);
  writeFileSync(join(folder, "gateway.config.yaml"), JSON.stringify(config));
  const args = [...PROGRAM, "start", "--config", folder];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const pipe of [child.stdout, child.stderr])
    pipe.setEncoding("utf8").on("data", (text) => (said += text));
  const exit = new Promise<number | null>((resolve) => child.on("close", resolve));
  t.after(async () => {
    child.kill("SIGKILL");
    await exit;
  });
  await until(() => /health and metrics on/.test(said) || child.exitCode !== null, "it listens");
  const client = new Client(/listens on (\S+)/.exec(said)?.[1] ?? said);
  const admin = new Client(/metrics on (\S+)/.exec(said)?.[1] ?? said);
  t.after(async () => {
    client.close();
    admin.close();
  });
  return { provider, client, admin, child, exit, said: () => said };
}

const CRASHES = `export default { api: 1, kind: "stage", name: "crashes", stage: "prepare", description: "Crashes.",
  examples: [], schema: { type: "object" },
  setup() { return { request(x) {
    const text = x.received[0].content;
    if (text === "throw") setImmediate(() => { throw new Error("thrown late"); });
    if (text === "reject") void Promise.reject(new Error("rejected late"));
  } }; } };`;

for (const [way, origin] of [
  ["throw", "uncaughtException"],
  ["reject", "unhandledRejection"],
] as const) {
  verifies(
    "server.crash",
    `an error that no guard catches (${way}) is logged, makes /readyz 503, drains and exits with 1`,
    async (t) => {
      const g = await crashing(t, { "crashes.js": CRASHES }, { stages: [{ use: "crashes" }] });
      const played = g.provider.opens();
      const sent = { token: TOKENS.web, body: { message: "Hello", stream: true } };
      const [stream] = await Promise.all([
        g.client.stream(`/api/${PROJECT}/ask`, sent),
        played.send(chunk({ content: "Half" })),
      ]);
      const other = g.provider.opens();
      const crash = g.client.send(`/api/${PROJECT}/ask`, { token: TOKENS.web, body: { message: way } });
      await other.opened;
      await until(() => g.said().includes(origin), "the error is logged");
      const ready = await g.admin.send("/readyz", { method: "GET" });
      assert.equal(ready.status, 503);
      assert.equal(at(ready.json, "ready"), false);
      assert.equal((await g.client.send(`/api/${PROJECT}/ask`, sent)).status, 503);
      assert.equal(g.child.exitCode, null);
      // Open calls may finish.
      await other.end();
      await crash;
      await played.send(chunk({ content: " and half." }));
      await played.send(chunk({}, "stop"));
      await played.send("[DONE]");
      await played.end();
      assert.equal(textOf(await stream.rest()), "Half and half.");
      assert.equal(await g.exit, 1, g.said());
    },
  );
}
