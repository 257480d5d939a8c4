/** What all commands share: versions, help, usage errors and suggestions. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { CliIo } from "../../src/cli/command.ts";
import { main } from "../../src/cli/main.ts";
import { unsupportedNode } from "../../src/cli/node-version.ts";
import { verifies } from "../spec/verifies.ts";

async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const out = { stdout: "", stderr: "" };
  const io: CliIo = {
    stdout: (text) => void (out.stdout += text),
    stderr: (text) => void (out.stderr += text),
    stdin: async () => "",
    env: {},
    cwd: "/",
    isTerminal: false,
  };
  return { code: await main(args, io), ...out };
}

test("--version, -V and version print the version of the package and of Node", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  for (const spelling of ["--version", "-V", "version"]) {
    const { code, stdout } = await run(spelling);
    assert.equal(code, 0);
    assert.equal(stdout, `sluice ${version} (Node ${process.versions.node})\n`);
  }
});

test("a mistyped command is answered with the nearest one and exit code 64", async () => {
  const { code, stderr } = await run("validat");
  assert.equal(code, 64);
  assert.match(stderr, /^sluice: unknown command 'validat'\nDid you mean `sluice validate`\?\n/);
  assert.doesNotMatch((await run("zzzzzz")).stderr, /Did you mean/);
});

test("an unknown or missing subcommand or value is a usage error that lists what is expected", async () => {
  const expected = "expected `show`, `verify`, `repair`, `export`, `import` or `confirm`";
  const cases: readonly (readonly [string, string])[] = [
    ["token", "missing subcommand; expected `new` or `hash`"],
    ["token make", "unknown subcommand 'make'; expected `new` or `hash`"],
    ["state mend", `unknown subcommand 'mend'; ${expected}`],
    ["init provider", "unknown subcommand 'provider'; expected `plugin`"],
    ["start --fallback none", "invalid --fallback 'none'; expected last-valid"],
    ["validate --output xml", "invalid --output 'xml'; expected text, json, github or sarif"],
    ["state repair --output json", "invalid --output 'json'; expected text"],
  ];
  for (const [line, message] of cases) {
    const [command = "", ...args] = line.split(" ");
    const { code, stderr } = await run(command, ...args);
    assert.deepEqual([code, stderr], [64, `sluice ${command}: ${message}\nTry: sluice ${command} --help\n`]);
  }
});

verifies(
  "cli.overview",
  "the overview lists every command in its group, aligned, within 80 columns",
  async () => {
    const { code, stdout } = await run("--help");
    assert.equal(code, 0);
    const lines = stdout.split("\n");
    for (const line of lines) assert.ok(line.length <= 80, line);
    const titles = ["Configuration", "Review", "Operate"].filter((title) => lines.includes(title));
    assert.deepEqual([titles[0], titles.at(-1)], ["Configuration", "Operate"]);
    const listed = lines.filter((line) => /^ {2}[a-z]+ {2,}\S/.test(line));
    assert.equal(new Set(listed.map((line) => /^ {2}[a-z]+ +/.exec(line)?.[0].length)).size, 1, "aligned");
    const source = readFileSync(new URL("../../src/cli/main.ts", import.meta.url), "utf8");
    const [, table = ""] = /const COMMANDS[^{]*\{\n(.*?)\n\};/s.exec(source) ?? [];
    const commands = [...table.matchAll(/^ {2}(\w+): async/gm)].map(([, name = ""]) => name);
    assert.ok(commands.length >= 8);
    assert.deepEqual(listed.map((line) => line.trim().split(" ")[0]).toSorted(), commands.toSorted());
  },
);

test("the help of each command has usage, options, examples and exit codes", async () => {
  for (const command of [
    "start",
    "validate",
    "token",
    "init",
    "import",
    "state",
    "status",
    "reload",
    "doctor",
  ]) {
    const { stdout } = await run(command, "--help");
    for (const part of [
      `Usage: sluice ${command}`,
      "\n  --",
      "\nExamples:\n  sluice ",
      "\nExit status: 0 ",
    ]) {
      assert.ok(stdout.includes(part), `${command}: ${part}`);
    }
    for (const line of stdout.split("\n")) assert.ok(line.length <= 120, `${command}: ${line}`);
  }
});

test("Node versions below the oldest supported one get one clear line", () => {
  assert.equal(unsupportedNode("18.20.8"), "Sluice needs Node 20.19 or newer; this is 18.20.8.");
  assert.notEqual(unsupportedNode("20.18.3"), undefined);
  for (const version of ["20.19.0", "22.0.0", "24.21.0", "26.10.0"])
    assert.equal(unsupportedNode(version), undefined);
});

test("npm start and the program print one line on an old Node version, and exit with 1", () => {
  const old = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.8" } })`;
  const pretend = ["--import", `data:text/javascript,${encodeURIComponent(old)}`];
  const tsx = ["--conditions=sluice-source", "--import", "tsx"];
  for (const args of [["scripts/sluice.mjs"], [...tsx, "src/main.ts"]]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...pretend, ...args, "start"], {
      cwd: new URL("../..", import.meta.url),
      encoding: "utf8",
    });
    const line = "Sluice needs Node 20.19 or newer; this is 18.20.8.\n";
    assert.deepEqual([status, stdout, stderr], [1, "", line]);
  }
});

test("the oldest Node version is the one that package.json names", () => {
  const { engines } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const oldest = String(engines.node).replace(">=", "");
  assert.equal(unsupportedNode(`${oldest}.0`), undefined);
  const script = readFileSync(new URL("../../scripts/sluice.mjs", import.meta.url), "utf8");
  assert.ok(script.includes(`Sluice needs Node ${oldest} or newer`));
});
