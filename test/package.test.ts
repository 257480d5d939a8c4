/** What `npm pack` puts into the package: the guides of plugin and provider authors, and no sources or tests. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pluginFolders } from "../scripts/plugin-pages.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
/** Everything outside dist/, which the build fills. */
const PACKED =
  /^(?:dist\/|docs\/.*\.(?:md|svg)$|examples\/|plugins\/[a-z-]+\/README\.md$|(?:plugins|providers)\/README\.md$|[^/]+$)/;
/** Of the guides' links: what is read in the repository. */
const REPOSITORY_ONLY = /^test\//;

async function packedPaths(): Promise<string[]> {
  // Without scripts: what the build writes is not the question, and other tests may be running what it replaces.
  const pack = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const { stdout } = await promisify(execFile)("npm", pack, { cwd: root, maxBuffer: 10_000_000 });
  const [packed] = JSON.parse(stdout);
  return packed.files.map(({ path }: { path: string }) => path);
}

test("the package contains the guides of plugin and provider authors, and what they link to", async () => {
  const paths = await packedPaths();
  const docs = readdirSync(join(root, "docs")).map((name) => `docs/${name}`);
  const pages = pluginFolders().map((name) => `plugins/${name}/README.md`);
  const guides = ["plugins/README.md", "providers/README.md", ...pages, ...docs];
  assert.deepEqual(
    guides.filter((path) => !paths.includes(path)),
    [],
  );
  for (const guide of guides) {
    const text = readFileSync(join(root, guide), "utf8");
    for (const [, link = ""] of text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
      const target = join(dirname(guide), link);
      if (REPOSITORY_ONLY.test(target)) continue;
      assert.ok(
        paths.some((path) => path === target || path.startsWith(target)),
        `${guide} links to ${link}, which is not in the package`,
      );
    }
  }
  assert.deepEqual(
    paths.filter((path) => !PACKED.test(path)),
    [],
  );
});
