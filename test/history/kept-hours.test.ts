/** Hours of the time series over restarts, on each kind of shelf. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { folderShelf } from "../../src/history/folder-shelf.ts";
import { type HourShelf, KeptHours } from "../../src/history/kept-hours.ts";
import { HOUR_MS, MINUTE_MS, SeriesStore } from "../../src/history/series.ts";
import { sliceShelf } from "../../src/history/slice-shelf.ts";
import { SliceTable } from "../../src/state/slice-table.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { verifies } from "../spec/verifies.ts";

const NOON = Date.UTC(2026, 10, 22, 12);

class Running {
  readonly series = new SeriesStore();
  readonly warnings: string[] = [];
  readonly #hours: KeptHours;
  readonly #clock: ReturnType<typeof virtualClock>;

  constructor(shelf: HourShelf, clock: ReturnType<typeof virtualClock>) {
    this.#clock = clock;
    const warn = (_: object, message: string) => void this.warnings.push(message);
    const log = { debug() {}, info() {}, warn, error: warn };
    this.#hours = new KeptHours({ series: this.series, shelf, clock, log });
  }

  async begun(): Promise<this> {
    await this.#hours.begin();
    return this;
  }

  call(slug = "a"): void {
    const end = {
      outcome: "done",
      error: undefined,
      usage: undefined,
      costNanoUsd: 1,
      durationMs: 5,
    } as const;
    const counted = { nowMs: this.#clock.nowMs(), reason: -1, duration: 3, firstByte: -1 };
    this.series.count([this.series.of("endpoint", "p", slug)], { ...end, firstByteMs: undefined }, counted);
  }

  get calls(): number {
    const nowMs = this.#clock.nowMs();
    const range = { fromMs: 0, toMs: nowMs + HOUR_MS, stepMs: HOUR_MS };
    const points = this.series.list("endpoint", "p").flatMap((one) => this.series.points(one, range, nowMs));
    return points.reduce((sum, { totals }) => sum + totals.calls, 0);
  }

  close(): Promise<void> {
    return this.#hours.close();
  }
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-hours-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What runs now may wait for answers of the store, never for time. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

verifies(
  "admin.series.kept",
  "a process that ends hands its hours to the next, which takes them once",
  async () => {
    const clock = virtualClock(NOON);
    const slice = new SliceTable(clock).slice("history");
    const first = await new Running(sliceShelf(slice, clock), clock).begun();
    for (let minute = 0; minute < 3; minute++) {
      first.call();
      clock.advance(MINUTE_MS);
      await settled();
    }
    await first.close();
    const second = await new Running(sliceShelf(slice, clock), clock).begun();
    const third = await new Running(sliceShelf(slice, clock), clock).begun();
    assert.deepEqual([second.calls, third.calls], [3, 0]);
    await second.close();
    await third.close();
  },
);

test("hours of a process that runs stay its own; those of one that was killed are taken over", async () => {
  const clock = virtualClock(NOON);
  const slice = new SliceTable(clock).slice("history");
  const killed = sliceShelf(slice, clock);
  await killed.takeOver();
  await killed.write(new Map([[NOON / HOUR_MS, [["endpoint\0p\0a", [0, 7]]]]]), false);
  const beside = await new Running(sliceShelf(slice, clock), clock).begun();
  assert.equal(beside.calls, 0);
  await beside.close();
  clock.advance(10 * MINUTE_MS);
  const next = await new Running(sliceShelf(slice, clock), clock).begun();
  assert.equal(next.calls, 7);
  await next.close();
});

test("many series of an hour are kept in several values", async () => {
  const clock = virtualClock(NOON);
  const slice = new SliceTable(clock).slice("history");
  const first = await new Running(sliceShelf(slice, clock), clock).begun();
  for (let n = 0; n < 4_000; n++) first.call(`an-endpoint-with-a-long-name-${n}`);
  await first.close();
  const second = await new Running(sliceShelf(slice, clock), clock).begun();
  assert.equal(second.calls, 4_000);
  await second.close();
});

test("in a folder each hour is a file; a torn one costs its hour, and old ones go", async (t) => {
  const folder = folderOf(t);
  const clock = virtualClock(NOON);
  writeFileSync(join(folder, "1000.json"), "[]");
  const first = await new Running(folderShelf(folder), clock).begun();
  first.call();
  clock.advance(HOUR_MS);
  first.call();
  await first.close();
  const hours = [NOON / HOUR_MS, NOON / HOUR_MS + 1];
  assert.deepEqual(
    readdirSync(folder).sort(),
    hours.map((hour) => `${hour}.json`),
  );
  writeFileSync(join(folder, `${hours[0]}.json`), '[["endpoint\\u0000p\\u0000a",[0,');
  const second = await new Running(folderShelf(folder), clock).begun();
  assert.equal(second.calls, 1);
  await second.close();
});

test("a shelf that fails costs history and a warning, and nothing else", async () => {
  const clock = virtualClock(NOON);
  const broken = () => Promise.reject(new Error("the disk is full"));
  const running = await new Running({ takeOver: broken, write: broken }, clock).begun();
  running.call();
  clock.advance(MINUTE_MS);
  await settled();
  await running.close();
  assert.equal(running.warnings.length, 3);
  assert.equal(running.calls, 1);
});
