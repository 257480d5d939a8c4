/** What a call keeps, and what it survives: odd upstreams, stores that answer late, answers that nobody reads again. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { rawUpstream } from "../net/http1/raw-upstream.ts";
import { CALLER, proxied, startProxy } from "../surfaces/proxy/kit.ts";
import { assertAnswered, until } from "./kit/client.ts";
import { PROJECT, TOKENS } from "./kit/config.ts";
import { textOf } from "./kit/event-stream.ts";
import { callBytes, startGateway } from "./kit/gateway.ts";
import { chunk, completion } from "./kit/provider.ts";

test("a proxied answer whose reason phrase has control characters goes out without it", async (t) => {
  const upstream = await rawUpstream(t);
  const { client } = await startProxy(t, { upstream_url: upstream.url }, { allow: ["localhost"] });
  for (const phrase of ["O\u0001K", "O\u0000K", "O\u007fK", "Fine"]) {
    const answer = client.send(proxied(), { token: CALLER, method: "GET" });
    const peer = await upstream.connection();
    await peer.request();
    peer.socket.on("error", () => {});
    peer.socket.end(`HTTP/1.1 200 ${phrase}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok`);
    const { status, text } = await answer;
    // What Node's parser refuses is an upstream that cannot be understood, which is a 502 and nothing more.
    assert.ok(
      (status === 200 && text === "ok") || status === 502,
      `${JSON.stringify(phrase)}: ${status} ${text}`,
    );
  }
});

const READS = (
  name: string,
  reads: string,
): string => `export default { api: 1, kind: "stage", name: "${name}",
  stage: "record", description: "Reads.", examples: [], schema: { type: "object" },
  setup(options, host) { return { ${reads} finish(x, end) { host.log.info({ kept: end.result.content }, "read"); } }; } };`;

test("a stream keeps its text only where a hook of its chain reads it", async (t) => {
  const g = await startGateway(t, {
    files: { "reads.js": READS("reads", ""), "counts.js": READS("counts", "readsAnswer: false,") },
    root: { plugins: ["./reads.js", "./counts.js"] },
    endpoint: { stages: [{ use: "counts" }] },
    endpoints: [
      {
        name: "Kept",
        provider: "openai",
        model: "gpt-4o-mini",
        credential: "main",
        stages: [{ use: "reads" }],
      },
    ],
  });
  g.provider.streams(["Half", " and half."]);
  for (const [slug, kept] of [
    ["ask", ""],
    ["kept", "Half and half."],
  ] as const) {
    const events = await (await g.stream({ message: "Hello" }, { slug })).rest();
    assert.equal(textOf(events), "Half and half.");
    await until(() => g.gateway.openCalls === 0, "the call has ended");
    const read = g.lines
      .map((line): { msg?: string; kept?: string } => JSON.parse(line))
      .filter(({ msg }) => msg === "read");
    assert.equal(read.at(-1)?.kept, kept);
  }
});

test("a session is deleted for a client that has left, by a store that answers late", async (t) => {
  const module = `const late = () => new Promise((resolve) => { globalThis.answerLate = () => resolve("x"); });
    export default { api: 1, kind: "store", name: "late", description: "Late.", examples: [], schema: { type: "object" },
    setup() { return { driver: "late", admit: () => ({ admitted: true, reservation: undefined }), renew() {}, settle() {},
      release() {}, spending: () => ({ settledNanoUsd: 0, reservedNanoUsd: 0 }), sums: () => [],
      health: () => ({ ok: true, detail: "" }), close() {},
      sessions: { open: () => "unavailable", historyCharacters: () => 0, delete: () => true, ownerOf: late },
      overrides: { list: () => [], set: () => true, delete: () => false, watch: () => () => {} },
      audit: { append() {}, query: () => [] } }; } };`;
  const g = await startGateway(t, {
    files: { "late.js": module },
    root: { plugins: ["./late.js"], state: { driver: "late" } },
  });
  const head = `DELETE /api/${PROJECT}/sessions/s1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKENS.web}\r\n\r\n`;
  const leave = g.client.abandon(head);
  await until(() => Reflect.get(globalThis, "answerLate") !== undefined, "the store is asked");
  leave();
  await until(() => g.gateway.openCalls === 0, "the call has ended");
  Reflect.get(globalThis, "answerLate")();
  g.provider.says("Yes.");
  assertAnswered(await g.call({ message: "Hello" }));
});

/** One call by a client that closes its sending side at once, and all that it gets. */
function halfClosing(origin: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, fail) => {
    let received = "";
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => (received += text));
    socket.on("error", fail);
    socket.on("close", () => resolve(received));
    socket.on("end", () => socket.destroy());
    socket.end(bytes);
  });
}

test("a client that closes its sending side gets its answer, whole or streamed, and its connection is closed", async (t) => {
  const g = await startGateway(t);
  for (const stream of [false, true]) {
    const played = g.provider.opens();
    const answer = halfClosing(g.client.origin, callBytes({ message: "Hello", stream }));
    await played.opened;
    // Long enough for the end of the client's side to be seen and asked about.
    await new Promise((resolve) => setTimeout(resolve, 250));
    if (stream) {
      await played.send(chunk({ content: "Half" }));
      await new Promise((resolve) => setTimeout(resolve, 250));
      await played.send(chunk({ content: " closed." }));
      await played.send(chunk({}, "stop"));
      await played.send("[DONE]");
    } else await played.write(JSON.stringify(completion("Half closed.")));
    await played.end();
    const received = await answer;
    assert.match(received, /HTTP\/1\.1 200 OK\r\n/);
    if (stream) assert.match(received, /data: \[DONE\]/);
    else assert.match(received, /Half closed\./);
  }
});

test("a client that disconnected is distinguished from one that half-closed, and its provider call is canceled", async (t) => {
  const g = await startGateway(t);
  for (const stream of [false, true]) {
    const played = g.provider.opens();
    const leave = g.client.abandon(callBytes({ message: "Hello", stream }));
    await played.opened;
    leave();
    await played.closed;
    await until(() => g.gateway.openCalls === 0, "the call has ended");
  }
  const outcomes = g.lines
    .filter((line) => line.includes('"msg":"call"'))
    .map((line) => JSON.parse(line).outcome);
  assert.deepEqual(outcomes, ["client_gone", "client_gone"]);
});
