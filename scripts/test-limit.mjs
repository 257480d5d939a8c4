// Loaded before the tests of a process: a test that hangs is named and ends its process, and the run goes on without it.
// Node 20 has no default limit for a single test; one that blocks the thread is left to the runner's limit.
import { afterEach, beforeEach } from "node:test";

const TEST_TIMEOUT_MS = 30_000;

// The runner itself has no tests, and hooks would make it one.
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  // A stack, since a test's own tests have their limits too.
  const timers = [];
  beforeEach((test) => void timers.push(setTimeout(giveUp, TEST_TIMEOUT_MS, test.name).unref()));
  afterEach(() => clearTimeout(timers.pop()));
}

function giveUp(name) {
  process.stderr.write(`\nended after ${TEST_TIMEOUT_MS / 1000} s, since this test hangs: ${name}\n`);
  process.exit(1);
}
