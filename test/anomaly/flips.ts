/**
 * Flips one bit in a copy of a state folder and opens it: it holds everything that the whole folder holds, or it says what is
 * lost, or it refuses to open. Anything else is an AssertionError.
 */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StateStore } from "../../src/plugin/index.ts";
import { openFileStore } from "../state/file-kit.ts";

/** What came of each flip. */
export interface FlipCount {
  exact: number;
  told: number;
  refused: number;
}

/** `fraction` chooses the bits. The folder itself is not changed. */
export async function flipBits(
  folder: string,
  flips: number,
  fraction: () => number,
  count: FlipCount,
): Promise<void> {
  const whole = await opened(folder, () => {});
  assert.ok(whole instanceof Object && "found" in whole, "the folder itself does not open");
  for (let flip = 0; flip < flips; flip += 1) {
    let place = "";
    const after = await opened(folder, (copy) => {
      place = flipOne(copy, fraction);
    });
    if (after instanceof Error) {
      assert.match(after.message, /spend or a token revocation may be lost[\s\S]*sluice state repair/, place);
      count.refused += 1;
    } else if (after.found === whole.found) count.exact += 1;
    else {
      assert.match(after.detail, /damaged: .* lines? (?:is|are) lost: [a-z ,]+$/, place);
      count.told += 1;
    }
  }
}

function flipOne(folder: string, fraction: () => number): string {
  const names = readdirSync(folder).filter((name) => !name.startsWith("lock"));
  const name = names[Math.floor(fraction() * names.length)];
  if (name === undefined) return "an empty folder";
  const bytes = readFileSync(join(folder, name));
  if (bytes.length === 0) return name;
  const at = Math.floor(fraction() * bytes.length);
  const bit = Math.floor(fraction() * 8);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
  writeFileSync(join(folder, name), bytes);
  return `${name}, byte ${at}, bit ${bit}`;
}

/** What a store finds in a copy of the folder that `change` was made to. */
async function opened(
  folder: string,
  change: (copy: string) => void,
): Promise<{ readonly found: string; readonly detail: string } | Error> {
  const copy = mkdtempSync(join(tmpdir(), "sluice-flip-"));
  try {
    cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith(".sock") });
    change(copy);
    const store = await openFileStore({ directory: copy });
    const { detail } = await store.health();
    const found = await contentOf(store);
    await store.close();
    return { found, detail };
  } catch (error) {
    if (error instanceof assert.AssertionError || !(error instanceof Error)) throw error;
    return error;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Everything but what rate windows count, and conversations, which are asked for by id. */
async function contentOf(store: StateStore): Promise<string> {
  const sums = [...(await store.sums())].sort((a, b) => a.key.localeCompare(b.key));
  const listed = await store.overrides.list();
  const audit = await store.audit.query({ limit: 1000 });
  return JSON.stringify({ sums, overrides: listed, audit: audit.map(({ id }) => id) });
}
