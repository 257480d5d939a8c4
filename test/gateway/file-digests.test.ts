/** What a poll of the configuration reads: a file again only while its stamp may deceive, or after it has changed. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FileDigests } from "../../src/gateway/file-digests.ts";

function fileWith(t: TestContext, content: string): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-digests-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "gateway.yaml");
  writeFileSync(file, content);
  return file;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

test("a file longer than one piece has the digest of its whole content", async (t) => {
  const text = "endpoint: one of very many\n".repeat(40_000);
  const file = fileWith(t, text);
  const absent = `${file}.not`;
  assert.deepEqual(await new FileDigests().of([file, absent], false), [
    [file, sha256(text)],
    [absent, undefined],
  ]);
});

test("polls read a file twice, and from then on when it has changed", async (t) => {
  const file = fileWith(t, "a: 1\n");
  let reads = 0;
  const digests = new FileDigests(async () => {
    reads++;
    return "as it was";
  });
  for (let poll = 0; poll < 5; poll++) await digests.of([file], true);
  assert.equal(reads, 2);
  writeFileSync(file, "a: 1000\n");
  for (let poll = 0; poll < 5; poll++) await digests.of([file], true);
  assert.equal(reads, 4);
});

test("a look after an event reads whatever the stamps say", async (t) => {
  const file = fileWith(t, "a: 1\n");
  let reads = 0;
  const digests = new FileDigests(async () => String(++reads));
  for (let look = 0; look < 4; look++) await digests.of([file], false);
  assert.equal(reads, 4);
});

test("a stamp is not believed while the content behind it still moves", async (t) => {
  const file = fileWith(t, "a: 1\n");
  let reads = 0;
  const digests = new FileDigests(async () => String(++reads));
  for (let poll = 0; poll < 4; poll++) await digests.of([file], true);
  assert.equal(reads, 4);
});
