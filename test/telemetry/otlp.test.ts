/** The OTLP exporter on a virtual clock: batches, a bounded queue, and every span accounted for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../src/telemetry/log.ts";
import { BATCH_MAX, EXPORT_MS, OtlpExporter, type PostSpans, QUEUE_MAX } from "../../src/telemetry/otlp.ts";
import { Attributes, CLIENT, SERVER, spanJson } from "../../src/telemetry/otlp-json.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { spansIn } from "../spec/kit/collector.ts";

type Reply = Awaited<ReturnType<PostSpans>>;

interface Rig {
  readonly exporter: OtlpExporter;
  readonly clock: VirtualClock;
  /** Names of the spans of each request so far. */
  readonly requests: string[][];
  readonly urls: string[];
  readonly lines: string[];
  readonly counted: { exported: number; dropped: number };
  add(...names: readonly string[]): void;
  addMany(count: number): void;
  /** Answers the oldest open request. */
  answer(reply: Partial<Reply>): Promise<void>;
}

function openRig(endpoint = "http://127.0.0.1:4318"): Rig {
  const clock = virtualClock();
  const requests: string[][] = [];
  const urls: string[] = [];
  const lines: string[] = [];
  const open: ((reply: Reply) => void)[] = [];
  const counted = { exported: 0, dropped: 0 };
  const exporter = new OtlpExporter({
    endpoint,
    headers: { Authorization: "Bearer collector-secret" },
    instance: "one",
    clock,
    log: createLog("info", (line) => lines.push(line)),
    post: (url, _headers, body) => {
      urls.push(url);
      requests.push(spansIn(body).map(({ name }) => name));
      return new Promise((resolve) => open.push(resolve));
    },
    count: (outcome, spans) => void (counted[outcome] += spans),
  });
  const add = (...names: readonly string[]): void => names.forEach((name) => void exporter.add(spanOf(name)));
  return {
    ...{ exporter, clock, requests, urls, lines, counted, add },
    addMany: (count) => add(...Array.from({ length: count }, (_, n) => String(n))),
    async answer(reply) {
      open.shift()?.({ status: undefined, body: "", error: undefined, ...reply });
      await new Promise(setImmediate);
    },
  };
}

function spanOf(name: string): string {
  const ids = {
    traceId: "0".repeat(31).concat("1"),
    spanId: "0".repeat(15).concat("1"),
    parentId: undefined,
  };
  const attributes = new Attributes();
  return spanJson({ ...ids, name, kind: CLIENT, startMs: 0, endMs: 1, attributes, error: undefined });
}

test("spans wait five seconds for others, and go in one request", async () => {
  const rig = openRig();
  rig.add("a");
  rig.clock.advance(EXPORT_MS - 1);
  rig.add("b");
  assert.deepEqual(rig.requests, []);
  rig.clock.advance(1);
  assert.deepEqual(rig.requests, [["a", "b"]]);
  await rig.answer({ status: 200 });
  assert.deepEqual(rig.counted, { exported: 2, dropped: 0 });
  rig.clock.advance(EXPORT_MS);
  assert.equal(rig.requests.length, 1);
});

test("a full batch goes at once, and the next when it is answered", async () => {
  const rig = openRig();
  rig.addMany(BATCH_MAX * 2 + 1);
  assert.deepEqual(
    rig.requests.map(({ length }) => length),
    [BATCH_MAX],
  );
  await rig.answer({ status: 200 });
  assert.deepEqual(
    rig.requests.map(({ length }) => length),
    [BATCH_MAX, BATCH_MAX],
  );
  await rig.answer({ status: 200 });
  rig.clock.advance(EXPORT_MS);
  await rig.answer({ status: 200 });
  assert.deepEqual(rig.counted, { exported: BATCH_MAX * 2 + 1, dropped: 0 });
});

test("while a collector hangs the queue fills to its limit, and what is beyond is dropped and counted", async () => {
  const rig = openRig();
  rig.addMany(BATCH_MAX + QUEUE_MAX + 7);
  assert.deepEqual([rig.requests.length, rig.exporter.waiting, rig.counted.dropped], [1, QUEUE_MAX, 7]);
  await rig.answer({ error: "timed out" });
  assert.deepEqual([rig.exporter.waiting, rig.counted.dropped], [QUEUE_MAX, BATCH_MAX + 7]);
});

test("few long spans fill the queue as well", () => {
  const rig = openRig();
  const long = spanOf("x".repeat(1_048_576));
  for (let n = 0; n < 20; n++) rig.exporter.add(long);
  assert.deepEqual([rig.exporter.waiting, rig.counted.dropped], [15, 5]);
});

test("what OTLP says to send again is sent again, ahead of what came later; what was refused is not", async () => {
  const rig = openRig();
  rig.add("a");
  rig.clock.advance(EXPORT_MS);
  rig.add("b");
  await rig.answer({ status: 503 });
  rig.clock.advance(EXPORT_MS);
  assert.deepEqual(rig.requests, [["a"], ["a", "b"]]);
  await rig.answer({ status: 400 });
  rig.clock.advance(EXPORT_MS);
  assert.deepEqual([rig.requests.length, rig.counted.dropped], [2, 2]);
});

test("a collector that takes a request in part says how much it did not", async () => {
  const rig = openRig();
  rig.add("a", "b", "c");
  rig.clock.advance(EXPORT_MS);
  await rig.answer({ status: 200, body: '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"old"}}' });
  assert.deepEqual(rig.counted, { exported: 1, dropped: 2 });
});

test("failures are told once until it is well again, without the headers", async () => {
  const rig = openRig("http://ada:url-secret@127.0.0.1:4318/?key=endpoint-secret");
  for (const reply of [{ status: 500 }, { error: "unreachable" }, { status: 200 }, { status: 200 }]) {
    rig.add("a");
    rig.clock.advance(EXPORT_MS);
    await rig.answer(reply);
  }
  const told = rig.lines.map((line): unknown => JSON.parse(line)?.msg);
  assert.deepEqual(told, ["traces could not be exported", "traces are exported again"]);
  assert.doesNotMatch(rig.lines.join(), /secret/);
  assert.match(rig.urls[0] ?? "", /4318\/v1\/traces\?key=endpoint-secret$/);
});

test("closing sends all that waits; what it has no time for is dropped, and none is taken any more", async () => {
  const rig = openRig();
  rig.addMany(BATCH_MAX * 2);
  const closed = rig.exporter.close(1000);
  await rig.answer({ status: 200 });
  assert.equal(rig.requests.length, 2);
  rig.clock.advance(1000);
  await closed;
  rig.add("late");
  await rig.answer({ error: "timed out" });
  assert.deepEqual(rig.counted, { exported: BATCH_MAX, dropped: BATCH_MAX + 1 });
  assert.deepEqual([rig.exporter.waiting, rig.clock.pendingTimers()], [0, 0]);
});

test("traces go to their path under the endpoint, unless it names that already", () => {
  for (const endpoint of [
    "http://c.example/otlp",
    "http://c.example/otlp/",
    "http://c.example/otlp/v1/traces",
  ]) {
    const rig = openRig(endpoint);
    rig.add("a");
    rig.clock.advance(EXPORT_MS);
    assert.deepEqual(rig.urls, ["http://c.example/otlp/v1/traces"]);
  }
});

test("an endpoint that is not a URL throws nothing", async () => {
  const rig = openRig("http://127.0.0.1:99999");
  rig.add("a");
  rig.clock.advance(EXPORT_MS);
  await rig.answer({ error: "it is not a URL" });
  assert.match(rig.lines.join(), /could not be exported/);
});

test("a span says times to the microsecond, whether its parent is remote, and any text", () => {
  const attributes = new Attributes()
    .text("t", 'a"\ud800')
    .count("n", 3)
    .real("r", 0)
    .flag("f", false)
    .texts("l", ["x"]);
  const json = spanJson({
    ...{
      traceId: "1",
      spanId: "2",
      parentId: "3",
      name: "é\n",
      kind: SERVER,
      attributes,
      error: 'no "luck"',
    },
    ...{ startMs: 1_770_000_000_123, endMs: 1_770_000_000_123.5 },
  });
  assert.deepEqual(JSON.parse(json), {
    traceId: "1",
    spanId: "2",
    parentSpanId: "3",
    flags: 0x301,
    name: "é\n",
    kind: 2,
    startTimeUnixNano: "1770000000123000000",
    endTimeUnixNano: "1770000000123500000",
    attributes: [
      { key: "t", value: { stringValue: 'a"\ud800' } },
      { key: "n", value: { intValue: "3" } },
      { key: "r", value: { doubleValue: 0 } },
      { key: "f", value: { boolValue: false } },
      { key: "l", value: { arrayValue: { values: [{ stringValue: "x" }] } } },
    ],
    status: { code: 2, message: 'no "luck"' },
  });
});
