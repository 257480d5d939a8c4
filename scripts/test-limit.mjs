// Loaded before the tests of a process: a test that hangs is named and its process ended; the run continues without it.
// Node 20 has no default timeout for a single test. A test that blocks the thread runs into the runner's timeout instead.
import { after, afterEach, beforeEach } from "node:test";

const TEST_TIMEOUT_MS = 30_000;
/** After the last test: an open server or socket would keep the process alive. */
const END_TIMEOUT_MS = 10_000;

// Hooks in the runner's own process would register it as a test.
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  // A stack: subtests have timeouts as well.
  const timers = [];
  const limit = (ms, what) => setTimeout(giveUp, ms, what, ms).unref();
  beforeEach((test) => void timers.push(limit(TEST_TIMEOUT_MS, test.name)));
  afterEach(() => clearTimeout(timers.pop()));
  after(() => void limit(END_TIMEOUT_MS, "the tests above left a resource open"));
}

function giveUp(what, ms) {
  process.stderr.write(`\ntimed out after ${ms / 1000} s: ${what}\n`);
  process.exit(1);
}
