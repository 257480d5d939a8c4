/** Diagnostics as text, JSON, GitHub's commands and SARIF. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VERSION } from "../../src/base/version.ts";
import { CODES } from "../../src/config/report/codes.ts";
import type { Diagnostic } from "../../src/config/report/diagnostic.ts";
import { renderGithub, renderJson, renderSarif, renderText } from "../../src/config/report/render.ts";

const ERROR: Diagnostic = {
  code: "E0107",
  severity: "error",
  message: "temperature is 3.5: must be from 0 to 2, see /srv/other.yaml:1:1",
  file: "/srv/gateway.config.yaml",
  line: 12,
  column: 20,
  end: { line: 12, column: 23 },
  path: "projects[0].endpoints[2].temperature",
  frame: { text: "      temperature: 3.5", length: 3 },
};

const WARNING: Diagnostic = {
  code: "W0103",
  severity: "warning",
  message: "event `a` is never raised: 100% sure,\nreally",
  file: "/elsewhere/a.yaml",
  line: 3,
  column: 1,
  path: "",
  suggestion: "b",
};

test("text shows the line, marks what is meant, and says what to do", () => {
  assert.equal(
    renderText([ERROR, WARNING], false, "/srv"),
    `error[E0107]: temperature is 3.5: must be from 0 to 2, see other.yaml:1:1
  --> gateway.config.yaml:12:20
   |
12 |       temperature: 3.5
   |                    ^^^
   = at: projects[0].endpoints[2].temperature

warning[W0103]: event \`a\` is never raised: 100% sure,
really
 --> /elsewhere/a.yaml:3:1
  = help: did you mean \`b\`?

1 error, 1 warning
`,
  );
  assert.equal(renderText([], false), "");
});

test("colours are there when asked for, and only then", () => {
  const bare = "\x1b[";
  assert.ok(renderText([ERROR], true, "/srv").includes(bare));
  assert.ok(!renderText([ERROR], false, "/srv").includes(bare));
});

test("long lines are cut around what is meant, and tabs keep the marks in place", () => {
  const text = `${"a".repeat(500)}HERE${"b".repeat(500)}`;
  const long = renderText([{ ...ERROR, column: 501, frame: { text, length: 4 } }], false, "/srv").split("\n");
  assert.ok((long[3] ?? "").length < 200);
  assert.equal((long[3] ?? "").indexOf("HERE"), (long[4] ?? "").indexOf("^"));
  const tabbed = renderText(
    [{ ...ERROR, column: 3, frame: { text: "\t\tx", length: 1 } }],
    false,
    "/srv",
  ).split("\n");
  assert.equal(tabbed[4], "   | \t\t^");
});

test("JSON has its documented shape, with nothing left out", () => {
  const report: unknown = JSON.parse(renderJson({ errors: [ERROR], warnings: [WARNING] }, "/srv"));
  assert.deepEqual(report, {
    ok: false,
    errors: [
      {
        code: "E0107",
        message: "temperature is 3.5: must be from 0 to 2, see other.yaml:1:1",
        file: "gateway.config.yaml",
        line: 12,
        column: 20,
        end_line: 12,
        end_column: 23,
        path: "projects[0].endpoints[2].temperature",
        suggestion: null,
        help: null,
      },
    ],
    warnings: [
      {
        code: "W0103",
        message: WARNING.message,
        file: "/elsewhere/a.yaml",
        line: 3,
        column: 1,
        end_line: null,
        end_column: null,
        path: "",
        suggestion: "b",
        help: null,
      },
    ],
  });
  assert.equal(renderJson({ errors: [], warnings: [] }, "/").includes('"ok": true'), true);
});

test("GitHub's commands escape what would end them", () => {
  assert.equal(
    renderGithub({ errors: [], warnings: [WARNING] }, "/srv"),
    "::warning file=/elsewhere/a.yaml,line=3,col=1,title=W0103 unknown event::event `a` is never raised: 100%25 sure,%0Areally (did you mean `b`?)\n",
  );
});

test("JSON keeps replacements and prose apart", () => {
  const advised: Diagnostic = { ...ERROR, suggestion: "2", help: "prose: nothing that a tool could write" };
  const report: unknown = JSON.parse(
    renderJson({ errors: [advised, { ...ERROR, help: "prose" }], warnings: [] }, "/"),
  );
  assert.ok(
    typeof report === "object" && report !== null && "errors" in report && Array.isArray(report.errors),
  );
  assert.deepEqual(
    report.errors.map(({ suggestion, help }) => [suggestion, help]),
    [
      ["2", "prose: nothing that a tool could write"],
      [null, "prose"],
    ],
  );
  assert.match(
    renderText([advised], false, "/"),
    /help: did you mean `2`\?\n +(?:\|)? ?= help: prose: nothing that a tool could write\n/,
  );
});

test("unset variables are one list in text, each once, with what to paste", () => {
  const unset = (subject: string, line: number): Diagnostic => ({
    ...ERROR,
    code: "E0201",
    message: `environment variable \`${subject}\` is not set`,
    line,
    subject,
  });
  const errors = [unset("A_KEY", 3), unset("LONGER_KEY", 4), ERROR, unset("A_KEY", 9)];
  const shown = renderText(errors, false, "/srv");
  assert.ok(
    shown.startsWith(`error[E0201]: 2 environment variables are not set
  A_KEY       --> gateway.config.yaml:3:20 and 1 more place
  LONGER_KEY  --> gateway.config.yaml:4:20
  = help: set them, give defaults (\`\${env:NAME:-default}\`), or check without them (\`--no-secrets\`):
      export A_KEY=
      export LONGER_KEY=

error[E0107]`),
    shown,
  );
  assert.match(shown, /\n4 errors\n$/);
  const report: unknown = JSON.parse(renderJson({ errors, warnings: [] }, "/"));
  assert.ok(
    typeof report === "object" && report !== null && "errors" in report && Array.isArray(report.errors),
  );
  assert.equal(report.errors.length, 4, "machines get each place");
});

test("SARIF tells the tool's version, what each rule means and how to repair", () => {
  const log = JSON.parse(renderSarif({ errors: [{ ...ERROR, suggestion: "2" }], warnings: [] }, "/srv"));
  const [run] = log.runs;
  const { name, version, rules } = run.tool.driver;
  assert.deepEqual([name, version], ["sluice", VERSION]);
  for (const { helpUri, help } of rules) {
    assert.ok(URL.canParse(helpUri), helpUri);
    assert.ok(help.text.length > 0);
  }
  const region = { startLine: 12, startColumn: 20, endLine: 12, endColumn: 23 };
  const [{ locations, fixes }] = run.results;
  assert.deepEqual(locations[0].physicalLocation.region, region);
  assert.deepEqual(fixes[0].artifactChanges[0].replacements, [
    { deletedRegion: region, insertedContent: { text: "2" } },
  ]);
});

test("SARIF names each rule once", () => {
  const log: unknown = JSON.parse(renderSarif({ errors: [ERROR, ERROR], warnings: [] }, "/srv"));
  const text = JSON.stringify(log);
  assert.equal(text.split(CODES.E0107.title).length, 2);
  assert.equal(text.split('"ruleId":"E0107"').length, 3);
});
