/** Run by faults.test.ts in a process of its own, which is killed: an isolated guardrail that judges in a loop. */
import type { Exchange } from "sluice/plugin";
import { systemClock } from "../../../src/base/clock.ts";
import { isolated } from "../../../src/plugins-host/isolation/isolated-guardrail.ts";
import { testHost } from "../../../src/testing/index.ts";

const [, , specifier = "", mark = ""] = process.argv;
const guardrail = await isolated({
  entry: new URL("../../../src/plugins-host/isolation/isolated-child.ts", import.meta.url),
  source: {
    module: { specifier, from: specifier, version: "1", files: [], at: { file: "", line: 1, column: 1 } },
    name: "acme-wild",
    options: { mark },
  },
  timeoutMs: 600_000,
  deadlineError: () => new Error("late"),
  host: testHost(),
  clock: systemClock(),
});
// Every field that is sent to the process is there, if empty.
const exchange = { project: {}, endpoint: {}, token: {} } as Exchange;
await guardrail.judge("loop", { side: "input", role: "user", totalCharacters: 4, partial: false, exchange });
