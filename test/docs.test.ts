/** Checks that docs/, README, CONTRIBUTING and src/README.md agree with the code. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { pages } from "../scripts/docs.ts";
import { COMMANDS } from "../scripts/terminal-svg.ts";
import { VERSION } from "../src/base/version.ts";
import { main } from "../src/cli/main.ts";
import { DEMO_TOKEN, DEMO_TOKEN_HASH } from "../src/config/check/demo-token.ts";
import { at } from "./spec/kit/at.ts";

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

for (const [path, text] of pages()) {
  test(`${path} is what npm run docs writes`, () => {
    assert.equal(read(path), text, "run: npm run docs");
  });
}

const PAGES = [
  ...["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"],
  ...["src/README.md", "plugins/README.md", "providers/README.md"],
];

test("every page linked from a README exists", () => {
  for (const readme of PAGES) {
    for (const [, target = ""] of read(readme).matchAll(/\]\((?!https?:)([^)#]+)\)/g)) {
      const url = new URL(target, new URL(`../${readme}`, import.meta.url));
      assert.ok(existsSync(url), `${readme} links to ${target}`);
    }
  }
});

test("the README lists every runtime dependency, and no other", () => {
  const manifest: unknown = JSON.parse(read("package.json"));
  const dependencies = ["dependencies", "optionalDependencies"].flatMap((key) =>
    Object.keys(at(manifest, key) ?? {}),
  );
  const table = read("README.md").split("## Dependencies")[1]?.split("Development:")[0] ?? "";
  const listed = [...table.matchAll(/npmjs\.com\/package\/([\w.-]+)\)/g)].map((match) => match[1]);
  assert.deepEqual([...new Set(listed)].sort(), dependencies.sort());
});

test("the README has fewer than 200 lines and the commands of its terminal recording", () => {
  const readme = read("README.md");
  assert.ok(readme.split("\n").length < 200);
  const recording = read("docs/terminal.svg");
  for (const command of Object.values(COMMANDS)) {
    assert.ok(readme.includes(command), command);
    for (const line of command.split("\n")) assert.ok(recording.includes(line.trim()), line);
  }
  assert.match(recording, /^<svg [^>]*role="img"[\s\S]*prefers-color-scheme: dark[\s\S]*<\/svg>\n$/);
});

test("each recipe of CONTRIBUTING has fewer than ten lines and names files that exist", () => {
  const recipes = read("CONTRIBUTING.md")
    .split(/^## /m)
    .filter((section) => section.startsWith("How to add"));
  assert.equal(recipes.length, 6);
  for (const recipe of recipes) {
    const [title = "", ...lines] = recipe.split("\n").filter((line) => line !== "");
    assert.ok(lines.length < 10, `${title}: ${lines.length} lines`);
    assert.match(recipe, /Proved by: `test\//, title);
    for (const [, path = ""] of recipe.matchAll(/`((?:src|plugins|providers|test)\/[^`<>*\s]*)`/g)) {
      if (path !== "plugins/acme-words.ts")
        assert.ok(existsSync(new URL(`../${path}`, import.meta.url)), path);
    }
  }
});

test("README and CONTRIBUTING name only npm scripts that exist, and together all of them", () => {
  const scripts = Object.keys(at(JSON.parse(read("package.json")), "scripts") ?? {});
  const text = `${read("README.md")}\n${read("CONTRIBUTING.md")}`;
  const named = new Set([...text.matchAll(/npm (?:run (?:-s )?)?([\w:-]+)/g)].map(([, name = ""]) => name));
  for (const name of named) {
    assert.ok(scripts.includes(name) || ["ci", "pack", "install"].includes(name), `npm run ${name}`);
  }
  const unnamed = scripts.filter((name) => !named.has(name));
  assert.deepEqual(unnamed, ["build", "prepare", "coverage"]);
});

test("settings of editors agree with Biome's", () => {
  const { formatter } = JSON.parse(read("biome.json"));
  const editorconfig = read(".editorconfig");
  const vscode = JSON.parse(read(".vscode/settings.json"));
  assert.match(editorconfig, new RegExp(`^indent_size = ${formatter.indentWidth}$`, "m"));
  assert.match(editorconfig, new RegExp(`^max_line_length = ${formatter.lineWidth}$`, "m"));
  assert.equal(vscode["editor.tabSize"], formatter.indentWidth);
  assert.deepEqual(vscode["editor.rulers"], [formatter.lineWidth]);
  // The compiler has no tsserver.js from version 7 on: editors use the native language server.
  assert.equal(vscode["typescript.experimental.useTsgo"], true);
});

test("the changelog has a dated section for each version, newest first", () => {
  const headings = read("CHANGELOG.md").match(/^## .*$/gm) ?? [];
  assert.match(headings[0] ?? "", /^## \d+\.\d+\.\d+ \((?:unreleased|\d{4}-\d\d-\d\d)\)$/);
  for (const heading of headings.slice(1)) assert.match(heading, /^## \d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)$/);
  const versions = headings.map((heading) => heading.split(" ")[1] ?? "");
  assert.ok(versions.includes(VERSION), `${VERSION} has no section`);
  assert.deepEqual(
    versions,
    versions.toSorted((a, b) => b.localeCompare(a, "en", { numeric: true })),
  );
});

test("the version that the gateway reports is the package's", () => {
  assert.equal(VERSION, at(JSON.parse(read("package.json")), "version"));
});

test("the README and the default configuration have the demo token", () => {
  assert.match(read("README.md"), new RegExp(DEMO_TOKEN));
  assert.match(read("gateway.config.yaml"), new RegExp(DEMO_TOKEN_HASH));
});

test("every command has help that shows its usage, and the README names it", async () => {
  let overview = "";
  const io = {
    stdout: (text: string) => void (overview += text),
    stderr: () => undefined,
    stdin: async () => "",
    env: {},
    cwd: ".",
    isTerminal: false,
  };
  assert.equal(await main(["--help"], io), 0);
  const commands = [...overview.matchAll(/^ {2}(\w+) +\w/gm)].map((match) => match[1] ?? "");
  assert.ok(commands.length >= 4);
  for (const command of commands) {
    overview = "";
    assert.equal(await main([command, "--help"], io), 0);
    assert.match(overview, new RegExp(`sluice ${command}`));
    assert.match(read("README.md"), new RegExp(`\`${command}\\b`));
  }
});

test("every folder of src has its row in src/README.md", () => {
  const folders = readdirSync(new URL("../src", import.meta.url), { withFileTypes: true });
  const map = read("src/README.md");
  for (const folder of folders.filter((entry) => entry.isDirectory())) {
    assert.match(map, new RegExp(`\`${folder.name}/\``));
  }
});
