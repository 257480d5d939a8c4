/** Reports for machines: each is held to its format by a reader of that format. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Parser } from "tap-parser";
import { verifies } from "../spec/verifies.ts";
import { CONFIG, reportOf, runCases, testFolder } from "./kit.ts";
import { assertJunit, parseXml } from "./xml.ts";

/** Names and values with everything that a format may stumble over. */
const CASES = `  - name: passes
    call: { endpoint: triage, message: hi }
    expect: { status: 200 }
  - name: 'fails: <a> & "b", 50 % # not a directive \\ {x}'
    call: { endpoint: triage, message: "4111 1111 1111 1111" }
    expect: { status: 200, error: "two\\nlines\\u0007 ]]> %0A <&>" }
  - name: "::error file=x::injected\\n::set-output"
    call: { endpoint: triage, message: hi }
    provider: { reply: "\\n::stop-commands::x\\ud83d\\ude00" }
    expect: { content: "::error::y" }
`;

const SCHEMA = fileURLToPath(new URL("junit.xsd", import.meta.url));

verifies(
  "tests.junit",
  "a JUnit report is well-formed and as JUnit's schema has it, hostile names included",
  async (t) => {
    const { stdout, code } = await runCases(t, CASES, ["--output", "junit", "--coverage", "--mutate"]);
    assert.equal(code, 3);
    const root = parseXml(stdout);
    assertJunit(root);
    const [suite, coverage] = root.children;
    assert.equal(suite?.attributes["name"], "gateway.test.yaml");
    const cases = suite?.children.filter(({ name }) => name === "testcase") ?? [];
    assert.deepEqual(
      cases.map(({ attributes, children }) => [attributes["name"], children.length]),
      [
        ["passes", 0],
        ['fails: <a> & "b", 50 % # not a directive \\ {x}', 1],
        ["::error file=x::injected\n::set-output", 1],
      ],
    );
    assert.match(
      cases[1]?.children[0]?.text ?? "",
      /^gateway\.test\.yaml:5:5\n.*status: expected: 200; actual: 422/,
    );
    assert.equal(coverage?.attributes["name"], "coverage");
    const folder = testFolder(t, {});
    writeFileSync(folder.path("report.xml"), stdout);
    const { error, status, stderr } = spawnSync("xmllint", [
      "--noout",
      "--schema",
      SCHEMA,
      folder.path("report.xml"),
    ]);
    if (error === undefined) assert.equal(status, 0, String(stderr));
  },
);

test("the check of JUnit reports sees a missing attribute, a wrong order and a wrong count", () => {
  const suite = (attributes: string, inner: string): string =>
    `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite name="a" package="b" id="0" timestamp="2026-01-01T00:00:00" hostname="c" failures="0" errors="0" skipped="0" time="0.1"${attributes}>${inner}</testsuite></testsuites>`;
  const good = '<properties/><testcase name="a" classname="b" time="0"/><system-out/><system-err/>';
  assertJunit(parseXml(suite(' tests="1"', good)));
  const bad = [
    ["", good],
    [' tests="2"', good],
    [' tests="1"', good.replace(' time="0"', "")],
    [' tests="1"', `${good.replace("<properties/>", "")}<properties/>`],
    [' tests="1"', good.replace("<system-out/>", "<system-out/>text")],
    [' tests="1"', good.replace('name="a"', 'name="&a"')],
    [' tests="1"', good.replace("<properties/>", "<properties>")],
  ];
  for (const [attributes = "", inner = ""] of bad)
    assert.throws(() => assertJunit(parseXml(suite(attributes, inner))), `${attributes} ${inner}`);
});

verifies(
  "tests.tap",
  "a TAP report is read by a TAP parser, with every case, its details and its plan",
  async (t) => {
    const { stdout } = await runCases(t, CASES, ["--output", "tap"]);
    const parser = new Parser({ strict: true });
    const complained: unknown[] = [];
    const points: { ok: boolean; name: string; diag: unknown }[] = [];
    parser.on("extra", (line: unknown) => complained.push(line));
    parser.on("bailout", (line: unknown) => complained.push(line));
    parser.on("assert", ({ ok, name, diag }: (typeof points)[number]) => points.push({ ok, name, diag }));
    const summary = await new Promise<{
      ok: boolean;
      count: number;
      fail: number;
      plan: { end: number | null };
    }>((resolve) => {
      parser.on("complete", resolve);
      parser.end(stdout);
    });
    assert.deepEqual(complained, []);
    assert.deepEqual([summary.ok, summary.count, summary.fail, summary.plan.end], [false, 3, 2, 3]);
    assert.deepEqual(
      points.map(({ ok, name }) => [ok, name]),
      [
        [true, "passes"],
        [false, 'fails: <a> & "b", 50 % # not a directive \\ {x}'],
        [false, "::error file=x::injected ::set-output"],
      ],
    );
    // As the report has it.
    const { at, failures = [] } = (points[1]?.diag ?? {}) as {
      at?: string;
      failures?: Record<string, string>[];
    };
    assert.equal(at, "gateway.test.yaml:5:5");
    assert.deepEqual(failures[0], {
      path: "status",
      at: "gateway.test.yaml:7:15",
      expected: "200",
      actual: "422",
    });
  },
);

/** `::command key=value,…::message`, as GitHub's runner reads it: no raw line break, `%`, and in values no `:` or `,`. */
const COMMAND =
  /^::(error|warning) file=([^,:\r\n]+),line=(\d+),col=(\d+),title=((?:%[0-9A-F]{2}|[^%:,\r\n])*)::((?:%25|%0D|%0A|[^%\r\n])*)$/;

verifies(
  "tests.github",
  "GitHub annotations follow the grammar, one for each failed expectation, at its line",
  async (t) => {
    const { stdout } = await runCases(t, CASES, ["--output", "github"]);
    const lines = stdout.trimEnd().split("\n");
    assert.equal(lines.at(-1), "1 passed, 2 failed");
    const read = lines.slice(0, -1).map((line) => COMMAND.exec(line));
    assert.ok(
      read.every((match) => match !== null),
      stdout,
    );
    assert.deepEqual(
      read.map((match) => [match?.[2], match?.[3]]),
      [
        ["gateway.test.yaml", "7"],
        ["gateway.test.yaml", "7"],
        ["gateway.test.yaml", "11"],
      ],
    );
    assert.equal(decodeURIComponent(read[2]?.[5] ?? ""), "::error file=x::injected\n::set-output");
  },
);

verifies(
  "tests.json",
  "the JSON report has every case with place, failures, trace, coverage and mutations",
  async (t) => {
    const report = reportOf(await runCases(t, CASES, ["--output", "json", "--coverage"]));
    assert.deepEqual([report.ok, report.passed, report.failed], [false, 1, 2]);
    assert.deepEqual(
      report.cases.map(({ name, line, ok }) => [name.slice(0, 5), line, ok]),
      [
        ["passe", 2, true],
        ["fails", 5, false],
        ["::err", 8, false],
      ],
    );
    assert.equal(report.cases[1]?.failures[0]?.path, "status");
    assert.ok((report.cases[1]?.trace.length ?? 0) > 0);
    assert.deepEqual(report.cases[0]?.trace, []);
    assert.equal(report.mutations, null);
    assert.equal(report.coverage?.all, 11);
  },
);

verifies(
  ["tests.failure", "tests.exit"],
  "a failure has its place, both values side by side and the trace; the last line counts",
  async (t) => {
    for (const columns of [80, 200]) {
      const folder = testFolder(t, {
        "gateway.config.yaml": CONFIG,
        "gateway.test.yaml": `tests:\n${CASES}`,
      });
      const { stdout, code } = await folder.run([], { columns });
      assert.equal(code, 3);
      assert.match(stdout, /^FAILED fails: <a>.*\n {2}--> gateway\.test\.yaml:5:5\n/);
      assert.match(stdout, /\n {2}line +expected +actual\n {5}7 {2}status +200 +422\n/);
      assert.match(stdout, /pii: block|pii +block/, "the trace names the guardrail that decided");
      assert.match(stdout, /\n1 passed, 2 failed\n$/);
      for (const line of stdout.split("\n"))
        assert.ok(line.length <= columns || line.includes("FAILED"), line);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be in a report.
      assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f]/);
    }
  },
);

verifies("tests.exit", "on a terminal the report is colored, and not with NO_COLOR", async (t) => {
  const folder = testFolder(t, { "gateway.config.yaml": CONFIG, "gateway.test.yaml": `tests:\n${CASES}` });
  assert.ok((await folder.run([], { isTerminal: true })).stdout.includes("\u001b[31m"));
  assert.ok(!(await folder.run([], { isTerminal: true, env: { NO_COLOR: "1" } })).stdout.includes("\u001b"));
});
