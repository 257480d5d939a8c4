/** What the gateway accepts from a guardrail's process: frames, messages, blocks, and access to the host. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Host } from "sluice/plugin";
import { encodeFrame, FrameReader } from "../../../src/plugins-host/isolation/channel.ts";
import { HostAccess } from "../../../src/plugins-host/isolation/host-access.ts";
import { type Measurement, readChildMessage } from "../../../src/plugins-host/isolation/messages.ts";
import { verdictFrom } from "../../../src/plugins-host/isolation/plain-values.ts";
import { testHost } from "../../../src/testing/index.ts";

test("messages arrive whole and in order, however their bytes are cut", () => {
  const values = fc.array(fc.oneof(fc.jsonValue(), fc.uint8Array()), { maxLength: 8 });
  fc.assert(
    fc.property(values, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map((value) => encodeFrame(value, 1e6)));
      const reader = new FrameReader(1e6);
      const received: unknown[] = [];
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const end = at + (cuts[n % cuts.length] ?? 1);
        received.push(...reader.read(bytes.subarray(at, end)));
        at = end;
      }
      assert.deepEqual(received, sent);
    }),
    { numRuns: 50 },
  );
});

test("a frame that is too long is refused by its length, before its bytes are kept", () => {
  assert.throws(() => encodeFrame("x".repeat(100), 50), /exceeds 50/);
  assert.throws(
    () => [...new FrameReader(50).read(Buffer.from([0, 0, 0, 51]))],
    /a message of 51 bytes exceeds 50/,
  );
});

const MEASUREMENT: Measurement = {
  ...{ kind: "measure", type: "counter", name: "acme_total", help: "Acme" },
  ...{ labels: ["kind"], buckets: [], values: ["a"], value: 1 },
};

test("only messages of the right shape are accepted", () => {
  const log = { kind: "log", level: "warn", fields: "{}", message: "m" };
  const ready = { kind: "ready", window: 4, subject: "text", cacheable: true, joinsTexts: false };
  for (const message of [MEASUREMENT, log, ready, { kind: "begun", number: 1 }]) {
    assert.equal(readChildMessage(message), message);
  }
  const wrong = [
    ...[
      undefined,
      null,
      1,
      "begun",
      [],
      {},
      { kind: "start" },
      { kind: "toString" },
      new Map([["kind", "begun"]]),
    ],
    ...[-1, 1.5, "1", undefined].map((number) => ({ kind: "begun", number })),
    ...[-1, 8193, "all", null].map((window) => ({ ...ready, window })),
    ...[
      { level: "fatal" },
      { fields: {} },
      { fields: "x".repeat(16_385) },
      { message: "x".repeat(2001) },
    ].map((change) => ({ ...log, ...change })),
    ...[
      ...[{ type: "summary" }, { name: "sluice_calls_total" }, { name: "a b" }, { name: "a".repeat(101) }],
      ...[{ labels: ["__name"] }, { labels: [] }, { values: [1] }, { values: ["x".repeat(201)] }],
      ...[{ value: -1 }, { value: Number.NaN }, { value: "1" }, { buckets: [Number.POSITIVE_INFINITY] }],
    ].map((change) => ({ ...MEASUREMENT, ...change })),
    { kind: "ask", number: 1, what: "close", args: [] },
    { kind: "ask", number: 1, what: "get", args: [1, 2, 3, 4] },
  ];
  for (const message of wrong) assert.equal(readChildMessage(message), undefined, JSON.stringify(message));
});

test("a block's error is rebuilt from what it may hold, and nothing else", () => {
  const error = {
    ...{ code: "c", status: 422, message: "m" },
    extras: { detail: 1, retryAfterSeconds: 7, headers: { "X-Ok": "y", "X-Bad": "a\r\nb", "a b": "c" } },
  };
  const verdict = verdictFrom({ verdict: "block", reason: "r", error });
  assert.ok(verdict?.verdict === "block");
  assert.deepEqual(verdict.error.extras, { retryAfterSeconds: 7, headers: { "X-Ok": "y" } });
  assert.throws(
    () => verdictFrom({ verdict: "block", reason: "r", error: { ...error, status: 200 } }),
    RangeError,
  );
});

test("log lines, metric names and series of a guardrail are bounded, and its name cannot be replaced", () => {
  const lines: unknown[] = [];
  const series = new Set<string>();
  const family = (name: string) => ({
    series: (...values: readonly string[]) => {
      series.add(`${name} ${values.join()}`);
      return () => undefined;
    },
  });
  const host: Host = {
    ...testHost(),
    log: { ...testHost().log, warn: (fields) => lines.push(fields) },
    metrics: { counter: family, gauge: family, histogram: family },
  };
  const access = new HostAccess(host);
  for (let n = 0; n < 5000; n++) {
    access.log({ kind: "log", level: "warn", fields: '{"plugin":"other","n":1}', message: "m" });
  }
  assert.ok(access.isFlooded);
  assert.ok(lines.length >= 200 && lines.length < 1000);
  assert.deepEqual(lines[0], { n: 1 });
  for (let n = 0; n < 3000; n++) {
    access.begun();
    access.measure({ ...MEASUREMENT, name: `acme_${n % 100}`, values: [String(n)] });
  }
  assert.equal(series.size, 1000);
  assert.equal(new Set([...series].map((key) => key.split(" ")[0])).size, 50);
});
