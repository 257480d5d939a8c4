/** The file store on real files: the promises of every store. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { storeConformance } from "../../src/testing/store-conformance.ts";
import { openFileStore } from "./file-kit.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-state-"));
after(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;

storeConformance("file", (clock) => {
  folders += 1;
  return openFileStore({ clock, directory: join(root, `${folders}`) });
});
