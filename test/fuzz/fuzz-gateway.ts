/**
 * A gateway for fuzzers of what comes back from upstreams, and what must hold after each case: no 500, each call ended and
 * logged once, no open call. Must know nothing of what a case sends.
 */
import assert from "node:assert/strict";
import { monthOf } from "../../src/base/month.ts";
import { at } from "../spec/kit/at.ts";
import type { ConfigParts } from "../spec/kit/config.ts";
import { type Harness, startGateway } from "../spec/kit/gateway.ts";

export interface FuzzGateway {
  readonly g: Harness;
  /** Waits until the calls of a case have ended, and are logged. `status`: what their client was answered. */
  settled(status: number, calls: number): Promise<void>;
  /** No money is held for any of these keys of spend; then everything is closed. */
  close(spendKeys: readonly string[]): Promise<void>;
}

/** After a case time passes, so that circuits close and servers that failed are asked again. */
const CASE_MS = 60_000;
const TURNS_MAX = 20_000;

/** `closer`: closes what a fuzzer has opened beside the gateway, after it. */
export async function fuzzGateway(parts: ConfigParts, closer: () => Promise<void>): Promise<FuzzGateway> {
  const closers: (() => Promise<void>)[] = [];
  const g = await startGateway({ after: (close) => void closers.push(close) }, parts);
  return {
    g,
    async settled(status, calls) {
      assert.notEqual(status, 500, g.lines.at(-1));
      let ids: readonly unknown[] = [];
      for (let turn = 0; g.gateway.openCalls > 0 || ids.length < calls; turn++) {
        assert.ok(
          turn < TURNS_MAX,
          `${g.gateway.openCalls} calls are open, ${ids.length} of ${calls} logged`,
        );
        await new Promise(setImmediate);
        ids = loggedCalls(g.lines);
      }
      assert.equal(ids.length, calls, "a call was logged twice");
      g.lines.length = 0;
      g.client.heard.length = 0;
      g.clock.advance(CASE_MS);
    },
    async close(spendKeys) {
      const month = monthOf(g.clock.nowMs());
      for (const key of spendKeys) {
        const { reservedNanoUsd } = await g.gateway.store.spending(key, month);
        assert.equal(reservedNanoUsd, 0, `money is still reserved: ${key}`);
      }
      for (const close of closers) await close();
      await closer();
    },
  };
}

/** Request ids of the calls that have ended. */
function loggedCalls(lines: readonly string[]): unknown[] {
  return lines.flatMap((line) => {
    const entry: unknown = JSON.parse(line);
    assert.notEqual(at(entry, "status"), 500, line);
    return at(entry, "duration_ms") === undefined ? [] : [at(entry, "request_id")];
  });
}
