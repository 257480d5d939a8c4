/** A state folder that cannot be used, that others may reach, or in which somebody has planted a link. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { listeningLog, openFileStore, temporaryFolder } from "./file-kit.ts";

test("a folder that cannot be made is refused at once, with what to do", async (t) => {
  const file = join(temporaryFolder(t), "file");
  writeFileSync(file, "");
  for (const directory of ["/proc/sluice/state", join(file, "state"), file]) {
    await assert.rejects(
      openFileStore({ directory }),
      /^Error: the state folder .* cannot be used \(E.*; set state\./,
    );
  }
});

test("a folder that is made is its user's alone, with those above it", async (t) => {
  const directory = join(temporaryFolder(t), "a", "b");
  await (await openFileStore({ directory })).close();
  assert.equal(statSync(directory).mode & 0o777, 0o700);
});

test("a folder that other users may reach is warned of", async (t) => {
  const directory = temporaryFolder(t);
  for (const [mode, may] of [
    [0o755, "read"],
    [0o777, "read and replace"],
  ] as const) {
    chmodSync(directory, mode);
    const lines: string[] = [];
    await (await openFileStore({ directory, log: listeningLog(lines) })).close();
    const shown = mode.toString(8);
    assert.deepEqual(lines, [
      `warn other users of this machine may ${may} the state folder (mode ${shown}): chmod 700 ${directory}`,
    ]);
  }
});

test("a link in the place of a state file is refused, and what it leads to is left as it is", async (t) => {
  const folder = temporaryFolder(t);
  const target = join(folder, "target");
  writeFileSync(target, "mine");
  for (const name of ["journal-00000001.jsonl", "snapshot-00000001.jsonl", "synced"]) {
    const directory = join(folder, name.slice(0, 7));
    mkdirSync(directory, { mode: 0o700 });
    symlinkSync(target, join(directory, name));
    await assert.rejects(openFileStore({ directory }), /is not a plain file \(a link\?\)/);
    assert.equal(readFileSync(target, "utf8"), "mine");
  }
});
