/** A process that comes for the lock of a folder each time it reads a line, and says what came of it. */
import { createInterface } from "node:readline";
import { lockFolder } from "../../src/state/file/folder-lock.ts";

for await (const _ of createInterface({ input: process.stdin })) {
  const { heldBy } = await lockFolder(process.argv[2] ?? "");
  process.stdout.write(`${heldBy ?? "held"}\n`);
}
