// Loaded before the tests of a process: a test that hangs is named and ends its process, and the run goes on without it.
// Node 20 has no default limit for a single test; one that blocks the thread is left to the runner's limit.
import { after, afterEach, beforeEach } from "node:test";

const TEST_TIMEOUT_MS = 30_000;
/** For what follows the last test: a server or a socket left open would keep the process for ever. */
const END_TIMEOUT_MS = 10_000;

// The runner itself has no tests, and hooks would make it one.
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  // A stack, since a test's own tests have their limits too.
  const timers = [];
  const limit = (ms, what) => setTimeout(giveUp, ms, what, ms).unref();
  beforeEach((test) => void timers.push(limit(TEST_TIMEOUT_MS, test.name)));
  afterEach(() => clearTimeout(timers.pop()));
  after(() => void limit(END_TIMEOUT_MS, "something is left open by the tests above"));
}

function giveUp(what, ms) {
  process.stderr.write(`\nended, since it hangs for ${ms / 1000} s: ${what}\n`);
  process.exit(1);
}
