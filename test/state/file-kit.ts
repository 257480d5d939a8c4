/** Makes file stores for tests, and says what a store holds as one value that two of them can be compared by. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Logger } from "../../src/plugin/host.ts";
import type { StateStore } from "../../src/plugin/index.ts";
import { type FileStoreOptions, fileStore } from "../../src/state/file/file.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { countingRandom } from "./counting-random.ts";

/** Lines as `<level> <message>`. */
export function listeningLog(lines: string[] = []): Logger {
  const listen = (level: string) => (_: unknown, message: string) => void lines.push(`${level} ${message}`);
  return { debug: listen("debug"), info: listen("info"), warn: listen("warn"), error: listen("error") };
}

/** Gone after the test. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-state-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** On a clock that stands still, unless `options` say otherwise. */
export function openFileStore(
  options: Partial<FileStoreOptions> & Pick<FileStoreOptions, "directory">,
): Promise<StateStore> {
  return fileStore({
    clock: virtualClock(),
    random: countingRandom(),
    maxSessions: 100,
    snapshotIntervalSeconds: 60,
    onError: "degrade",
    log: listeningLog(),
    ...options,
  });
}

/** Lets everything that is under way without a timer go on as far as it can. */
export async function settled(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
