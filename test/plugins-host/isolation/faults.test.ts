/** Faults that no thread could contain, and what they cost: their own judgement, and nothing of the gateway. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { assertAnswered, assertRefused, until } from "../../spec/kit/client.ts";
import type { Harness } from "../../spec/kit/gateway.ts";
import { verifies } from "../../spec/verifies.ts";
import { FAILED, WILD, wild } from "./wild-guardrail.ts";

const MEGABYTE = 1_048_576;
/** `O_CLOEXEC` of Linux. */
const CLOSE_ON_EXEC = 0o2000000;
/** What the gateway may grow by for reasons of its own while a guardrail's process takes hundreds of megabytes. */
const GROWTH_BYTES_MAX = 200 * MEGABYTE;

async function assertContinues(g: Harness): Promise<void> {
  assert.equal(assertAnswered(await g.call({ message: "hello" })), "hello");
}

async function pidOf(g: Harness): Promise<number> {
  const answer = await g.call({ message: "pid" });
  assert.equal(answer.status, 422);
  return Number(JSON.parse(answer.text).error);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  try {
    // An ended process whose parent has not asked for its exit code yet.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return false;
  }
}

async function ended(pid: number): Promise<void> {
  await until(() => !isRunning(pid), `process ${pid} ends`);
}

/** Turns the gateway's clock while something is under way: for deadlines, and for restarts that wait. */
async function inTime<T>(g: Harness, underWay: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = underWay.finally(() => {
    isSettled = true;
  });
  let countedMs = performance.now();
  await until(() => {
    const nowMs = performance.now();
    // Slower than real time, which a start on a busy machine takes more of.
    g.clock.advance(isSettled ? 0 : (nowMs - countedMs) / 2);
    countedMs = nowMs;
    return isSettled;
  }, "it is settled");
  return settled;
}

function failures(g: Harness): { guardrail: string; err: { message: string } }[] {
  return g.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "a guardrail failed");
}

verifies(
  "guard.isolate",
  "a loop that V8 cannot interrupt is ended, and the gateway does not grow",
  async (t) => {
    const g = await wild(t);
    const before = process.memoryUsage.rss();
    const stuck = g.call({ message: "fill" });
    const pid = await g.begun();
    assertAnswered(await g.call({ message: "elsewhere" }, { slug: "other" }));
    g.clock.advance(1000);
    assertRefused(await stuck, 422, FAILED);
    await ended(pid);
    await assertContinues(g);
    assert.ok(process.memoryUsage.rss() - before < GROWTH_BYTES_MAX);
  },
);

async function assertCosts(g: Harness, faults: readonly string[]): Promise<void> {
  for (const fault of faults) {
    const [wrong, other] = await Promise.all([
      g.call({ message: fault }),
      g.call({ message: "elsewhere" }, { slug: "other" }),
    ]);
    assert.equal(wrong.status, 422, fault);
    assertRefused(wrong, 422, FAILED);
    assertAnswered(other);
    await assertContinues(g);
  }
}

verifies("guard.isolate", "an abort or a fault of the machine costs its own call alone", async (t) => {
  const g = await wild(t);
  await assertCosts(g, ["abort", "segfault"]);
  assert.deepEqual(
    failures(g).map(({ err }) => err.message),
    [
      "its process ended by SIGABRT, after an abort or at its heap limit of 128 MB",
      "its process ended by SIGSEGV",
    ],
  );
});

verifies(
  "guard.isolate",
  "memory taken by a judgement costs its own call alone, and none of the gateway's",
  async (t) => {
    const g = await wild(t);
    const before = process.memoryUsage.rss();
    await assertCosts(g, ["allocate", "leak"]);
    assert.ok(process.memoryUsage.rss() - before < GROWTH_BYTES_MAX);
  },
);

verifies(
  "guard.isolate",
  "buffers beyond the memory limit of the process cost their own call alone",
  async (t) => {
    const g = await wild(t);
    const before = process.memoryUsage.rss();
    await assertCosts(g, ["buffers"]);
    assert.ok(process.memoryUsage.rss() - before < GROWTH_BYTES_MAX);
    assert.match(
      failures(g)[0]?.err.message ?? "",
      /^its process takes \d+ MB of memory, over its limit of 384 MB$/,
    );
  },
);

test("bytes that are not a message end the process, and its call alone fails", async (t) => {
  await assertCosts(await wild(t), ["raw garbage", "raw length"]);
});

test("a message that no guardrail sends ends its process, and its call alone fails", async (t) => {
  const g = await wild(t);
  await assertCosts(g, ["raw message"]);
  const metrics = await g.admin.send("/metrics", { method: "GET" });
  assert.doesNotMatch(metrics.text, /sluice_calls_total\{\}/);
});

test("a process that floods its channel is ended, and its call alone fails", async (t) => {
  const g = await wild(t);
  await assertCosts(g, ["raw flood", "raw verdicts"]);
  assert.ok(g.lines.filter((line) => line.includes("raw flood")).length <= 400);
});

test("a flood of log lines and metrics is cut, and the judgement counts", async (t) => {
  const g = await wild(t);
  assert.equal(assertAnswered(await g.call({ message: "flood" })), "flood");
  await until(() => g.lines.some((line) => line.includes("log lines dropped")), "the cut is logged");
  assert.ok(g.lines.filter((line) => line.includes('"msg":"flood"')).length <= 200);
  const metrics = await g.admin.send("/metrics", { method: "GET" });
  const written = new Set(metrics.text.match(/acme_flood_\d+/g));
  assert.ok(written.size > 0 && written.size <= 50, `${written.size} metrics`);
});

test("patched globals stay in the process of the guardrail", async (t) => {
  const g = await wild(t, { on_error: "allow" });
  assertAnswered(await inTime(g, g.call({ message: "patch" })));
  assert.equal(Reflect.get({}, "polluted"), undefined);
  assert.deepEqual([1].map(String), ["1"]);
  assertAnswered(await g.call({ message: "elsewhere" }, { slug: "other" }));
  assertAnswered(await inTime(g, g.call({ message: "exit" })));
  await inTime(g, assertContinues(g));
});

test("the process has an empty environment and no descriptor of the gateway's", async (t) => {
  const g = await wild(t);
  assertRefused(await g.call({ message: "env" }), 422, "nothing");
  // What follows is how Linux shows it.
  if (process.platform !== "linux") return;
  assertRefused(await g.call({ message: "environ" }), 422, "nothing");
  const { text } = await g.call({ message: "descriptors" });
  const theirs: string[] = JSON.parse(text).error.split(" ");
  // Without those that this process was started with and any program of it inherits.
  const own = readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const [, flags = "0"] =
        /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1")) ?? [];
      return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0 ? [] : [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  assert.ok(own.some((target) => target.startsWith("socket:")));
  const shared = theirs.filter((target) => /^(?:socket|pipe):/.test(target) && own.includes(target));
  assert.deepEqual(shared, []);
});

/** By guardrail: an endless loop, exits, native crashes, memory, patched prototypes, bytes on the channel. */
const CROWD = {
  "acme-wild": ["exit", "abort", "segfault", "raw garbage", "loop"],
  "acme-hog": ["buffers", "allocate", "leak"],
} as const;

verifies(
  "guard.isolate",
  "faults of all kinds at once, under load, leave every other call untouched, and each is blamed on its guardrail",
  async (t) => {
    const g = await wild(t, {}, { crowd: true });
    const faulty = Object.entries(CROWD).flatMap(([guardrail, faults]) =>
      faults.map((message) => ({
        guardrail,
        call: g.call({ message }, { slug: guardrail === "acme-hog" ? "hog" : "ask" }),
      })),
    );
    const patched = g.call({ message: "patch" }, { slug: "hog" });
    const environment = g.call({ message: "env" }, { slug: "reader" });
    const right = Array.from({ length: 200 }, (_, n) =>
      n % 2 === 0
        ? g.call({ message: "secret" }, { slug: "calm" })
        : g.call({ message: "elsewhere" }, { slug: "other" }),
    );
    for (const { guardrail, call } of faulty) {
      assertRefused(await inTime(g, call), 422, FAILED.replace("acme-wild", guardrail));
    }
    const texts = (await inTime(g, Promise.all(right))).map((answer) => assertAnswered(answer));
    assert.equal(texts.filter((text) => text === "******").length, 100);
    assert.equal(texts.filter((text) => text === "elsewhere").length, 100);
    assertRefused(await inTime(g, environment), 422, "nothing");
    // Its own process dies of its neighbors' faults, so it may be a failure of its guardrail, but of no other.
    const { status, text } = await inTime(g, patched);
    if (status !== 200) assert.match(text, /guardrail 'acme-hog'/);
    const blamed = new Set(failures(g).map(({ guardrail }) => guardrail));
    assert.deepEqual([...blamed].sort(), ["acme-hog", "acme-wild"]);
    const replaced = g.lines
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === "the process of an isolated guardrail ended and is replaced");
    assert.ok(replaced.every(({ guardrail }) => Object.hasOwn(CROWD, guardrail)));
    assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
  },
);

test("SIGTERM ends a process that loops at once, and another one takes its place", async (t) => {
  const g = await wild(t);
  const stuck = g.call({ message: "loop" });
  const pid = await g.begun();
  process.kill(pid, "SIGTERM");
  assertRefused(await stuck, 422, FAILED);
  await ended(pid);
  assert.notEqual(await pidOf(g), pid);
});

test("no process is left after the gateway has stopped, one in a loop included", async (t) => {
  const pids: number[] = [];
  const closes: (() => Promise<void>)[] = [];
  const g = await wild({ after: (close) => closes.push(close) });
  t.after(async () => {
    for (const close of closes) await close();
  });
  pids.push(await pidOf(g));
  // Its connection may be cut at the stop.
  const stuck = g.call({ message: "loop" }).catch(() => undefined);
  pids.push(await g.begun());
  for (const close of closes.splice(0)) await close();
  await stuck;
  assert.deepEqual(pids.filter(isRunning), []);
});

test("a process in a loop ends when the gateway has been killed", { timeout: 60_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-orphan-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const plugin = join(folder, "wild.js");
  const mark = join(folder, "begun");
  writeFileSync(plugin, WILD);
  const script = fileURLToPath(new URL("./orphan-parent.ts", import.meta.url));
  const loaders = ["--conditions=sluice-source", "--import", "tsx"];
  const parent = spawn(process.execPath, [...loaders, script, plugin, mark], {
    cwd: fileURLToPath(new URL("../../..", import.meta.url)),
    stdio: ["ignore", "ignore", "inherit"],
  });
  t.after(() => parent.kill("SIGKILL"));
  await until(() => existsSync(mark) && readFileSync(mark, "utf8") !== "", "the judgement begins");
  const pid = Number(readFileSync(mark, "utf8"));
  assert.ok(isRunning(pid));
  parent.kill("SIGKILL");
  await once(parent, "exit");
  await ended(pid);
});
