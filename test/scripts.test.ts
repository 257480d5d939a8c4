/** The scripts behind the figures of src/README.md: what they count. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { structureOf } from "../scripts/structure.ts";
import { svgOf } from "../scripts/terminal-screen.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

test("the structure of a tree is its folders, files, lines, imports between folders and cycles", (t) => {
  const tree = mkdtempSync(join(tmpdir(), "sluice-structure-"));
  t.after(() => rmSync(tree, { recursive: true }));
  const files = {
    "src/main.ts": 'import "./a/one.ts";\n',
    "src/a/one.ts": 'import type { B } from "../b/two.ts";\nimport "./three.ts";\n',
    "src/a/three.ts": 'import "./one.ts";\n',
    "src/b/two.ts": "export type B = 1;\n",
    "plugins/p/index.ts": 'import "sluice/plugin";\n',
    "plugins/p/README.md": "# p\n",
    "providers/q.ts": "export const q = 1;\n",
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
  assert.deepEqual(structureOf(tree), {
    folders: [
      { name: "plugins", files: 1, lines: 1 },
      { name: "providers", files: 1, lines: 1 },
      { name: "src", files: 1, lines: 1 },
      { name: "src/a", files: 2, lines: 3 },
      { name: "src/b", files: 1, lines: 1 },
    ],
    arrows: 1,
    cycles: [["src/a/one.ts", "src/a/three.ts"]],
  });
});

test("a call's files and functions are counted, and guardrails and streams add some", async () => {
  const args = ["--conditions=sluice-source", "--import", "tsx", "scripts/call-coverage.ts"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  const rows = [...stdout.matchAll(/^\S.* (\d+) files {2}(\d+) functions$/gm)];
  const counts = rows.map(([, files, functions]) => [Number(files), Number(functions)] as const);
  assert.equal(counts.length, 3, stdout);
  const [[plain, plainFunctions] = [0, 0], [guarded, guardedFunctions] = [0, 0], [streamed] = [0]] = counts;
  assert.ok(plain > 20 && plainFunctions > 2 * plain, stdout);
  assert.ok(guarded > plain && guardedFunctions > plainFunctions && streamed > guarded, stdout);
  // A ceiling: a call must not spread over more and more files.
  assert.ok(plain <= 90 && guarded <= 112 && streamed <= 124, stdout);
});

test("a terminal's text becomes an SVG with its colors, markup escaped and long lines wrapped", () => {
  const esc = String.fromCharCode(27);
  const red = `${esc}[1;31merror${esc}[0m`;
  const svg = svgOf(["$ echo '<b>'", `${red}: a & b`, "x".repeat(150), ""].join("\n"), {
    label: 'A "screen"',
  });
  assert.match(svg, /<tspan class="p">\$<\/tspan> <tspan class="b1">echo '&lt;b&gt;'<\/tspan>/);
  assert.match(svg, /<tspan class="b1 c31">error<\/tspan>: a &amp; b</);
  assert.match(svg, />x{100}<[\s\S]*>x{50}</);
});
