/** `sluice plan`: exits, acceptance, formats and what is printed when there is no plan. */
import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { visibleWidth } from "../../src/cli/terminal.ts";
import { verifies } from "../spec/verifies.ts";
import { briefly, configOf, documentOf, isThere, repositoryOf, textOf } from "./plan-kit.ts";

const CONFIG = "gateway.config.yaml";
const GUARDED = `    endpoints:
      - name: Triage
        provider: mock
        model: m
        prompt: Sort tickets by urgency and answer with one word.
        rate_limit_per_minute: 60
        guardrails:
          - use: pii
            options: { kinds: [email, iban] }
          - use: prompt_injection
      - name: Summarise
        provider: mock
        model: m
`;

verifies("plan.exit", "changes are 2 with --exit-code, a risk of --fail-on is 1, and 1 wins", async (t) => {
  const repository = repositoryOf(t, { [CONFIG]: configOf(GUARDED) });
  assert.equal((await repository.plan(["--exit-code", "--fail-on", "breaking"])).code, 0);
  repository.write({ [CONFIG]: configOf(GUARDED.replace("60", "30")) });
  assert.equal((await repository.plan([])).code, 0);
  assert.equal((await repository.plan(["--exit-code"])).code, 2);
  assert.equal((await repository.plan(["--exit-code", "--fail-on", "weakens,money"])).code, 2);
  assert.equal((await repository.plan(["--exit-code", "--fail-on", "weakens,breaking"])).code, 1);
  assert.equal((await repository.plan(["--fail-on", "breaking", "--accept", "P107"])).code, 0);
});

verifies("plan.exit", "unknown values of options name the allowed ones, and exit 64", async (t) => {
  const repository = repositoryOf(t, { [CONFIG]: configOf(GUARDED) });
  for (const [args, message] of [
    [["--output", "sarif"], /invalid --output 'sarif'; expected text, json, markdown or github/],
    [
      ["--fail-on", "broken"],
      /invalid --fail-on 'broken'; expected breaking, weakens, money, behavior or safe/,
    ],
    [["--accept", "P999@x"], /invalid --accept 'P999'; expected P101, P102/],
    [["somewhere"], /unexpected argument 'somewhere'; name the sides with --from and --to/],
  ] as const) {
    const { code, stderr } = await repository.plan(args);
    assert.equal(code, 64);
    assert.match(stderr, message);
  }
});

const ACCEPT = "# sluice: accept P202 until 2027-01-31: load tested";
const RAISED = GUARDED.replace("minute: 60", "minute: 90");

/** The rules of all changes from the guarded endpoint, each with the reason for which it is accepted. */
async function acceptedBy(
  t: Parameters<typeof repositoryOf>[0],
  after: string,
): Promise<readonly (readonly [rule: string, reason: string | null])[]> {
  const repository = repositoryOf(t, { [CONFIG]: configOf(GUARDED) });
  repository.write({ [CONFIG]: configOf(after) });
  const { changes } = await repository.document();
  return changes.map(({ rule, accepted }) => [rule, accepted?.reason ?? null]);
}

verifies(
  "plan.accept.comment",
  "a comment on the line, or alone on the line above, accepts a change",
  async (t) => {
    const accepted = [["P202", "load tested"]];
    assert.deepEqual(await acceptedBy(t, RAISED.replace("minute: 90", `minute: 90 ${ACCEPT}`)), accepted);
    const above = (comments: string): string =>
      RAISED.replace("        rate_limit", `${comments}        rate_limit`);
    assert.deepEqual(await acceptedBy(t, above(`        ${ACCEPT}\n`)), accepted);
    const other = "        # sluice: accept P301, P401 until 2027-01-31: other\n";
    assert.deepEqual(await acceptedBy(t, above(`        ${ACCEPT}\n${other}`)), accepted);
  },
);

verifies(
  "plan.accept.comment",
  "for something removed the comment is where the list or map that held it begins",
  async (t) => {
    const unlimited = GUARDED.replace("        rate_limit_per_minute: 60\n", "");
    const onMap = unlimited.replace("- name: Triage", `- name: Triage ${ACCEPT}`);
    assert.deepEqual(await acceptedBy(t, onMap), [["P202", "load tested"]]);
    const unguarded = GUARDED.replace("          - use: prompt_injection\n", "");
    const onGuardrails = unguarded.replace("guardrails:", `guardrails: ${ACCEPT.replace("P202", "P201")}`);
    assert.deepEqual(await acceptedBy(t, onGuardrails), [["P201", "load tested"]]);
    assert.deepEqual(await acceptedBy(t, unguarded), [["P201", null]]);
    const gone = GUARDED.slice(0, GUARDED.indexOf("      - name: Summarise"));
    const onList = gone.replace("endpoints:", `endpoints: ${ACCEPT.replace("P202", "P101")}`);
    assert.deepEqual(await acceptedBy(t, onList), [["P101", "load tested"]]);
  },
);

verifies(
  "plan.accept.comment",
  "no other line, no other rule, and no text that only looks like a comment counts",
  async (t) => {
    const refused = [["P202", null]];
    // On the line above, but for that line.
    const trailing = RAISED.replace("one word.", `one word. ${ACCEPT}`);
    assert.deepEqual(await acceptedBy(t, trailing), refused);
    const otherRule = RAISED.replace("minute: 90", `minute: 90 ${ACCEPT.replace("P202", "P301")}`);
    assert.deepEqual(await acceptedBy(t, otherRule), refused);
    const inText = RAISED.replace("prompt: Sort", `prompt: |\n          ${ACCEPT}\n          Sort`);
    const found = await acceptedBy(t, inText);
    assert.deepEqual(found, [
      ["P202", null],
      ["P401", null],
    ]);
  },
);

verifies(
  "plan.accept.expired",
  "an acceptance without date or reason, or past its date, is a warning and fails",
  async (t) => {
    const repository = repositoryOf(t, { [CONFIG]: configOf(GUARDED) });
    for (const [comment, warning] of [
      [
        "# sluice: accept P202 until 2026-11-21: old",
        /gateway\.config\.yaml:11:35 the acceptance of P202 ended with 2026-11-21 and counts for nothing/,
      ],
      [
        "# sluice: accept P202: why not",
        /this accepts nothing: write `# sluice: accept RULE until YYYY-MM-DD: reason`/,
      ],
      ["# sluice: accept P202 until 2027-01-31", /this accepts nothing: write/],
      ["# sluice: accept P202 until 2027-01-31:", /this accepts nothing: write/],
      ["# sluice: accept P202 until 2027-02-31: x", /'2027-02-31' is not a date/],
      ["# sluice: accept P999 until 2027-01-31: x", /there is no rule 'P999'/],
    ] as const) {
      repository.write({ [CONFIG]: configOf(RAISED.replace("minute: 90", `minute: 90 ${comment}`)) });
      const { code, stdout } = await repository.plan(["--fail-on", "weakens"], {
        columns: 300,
        isTerminal: true,
      });
      assert.equal(code, 1, comment);
      assert.match(stripVTControlCharacters(stdout), warning);
      assert.match(
        (await repository.plan(["--output", "json"])).stderr,
        /^warning: .*gateway\.config\.yaml:11: /,
      );
      const github = (await repository.plan(["--output", "github"])).stdout;
      assert.match(github, /^::warning file=gateway\.config\.yaml,line=11,col=35,title=sluice accept::/m);
    }
    const today = RAISED.replace("minute: 90", "minute: 90 # sluice: accept P202 until 2026-11-22: today");
    repository.write({ [CONFIG]: configOf(today) });
    assert.equal((await repository.plan(["--fail-on", "weakens"])).code, 0, "the last day counts");
  },
);

verifies(
  "plan.accept.option",
  "--accept takes a rule for all objects or for one, and lists what it accepted",
  async (t) => {
    const repository = repositoryOf(t, { [CONFIG]: configOf(GUARDED) });
    repository.write({ [CONFIG]: configOf(GUARDED.replace("60", "30")) });
    const code = async (accept: string): Promise<number> =>
      (await repository.plan(["--fail-on", "breaking", "--accept", accept])).code;
    assert.equal(await code("P107@support/triage"), 0);
    assert.equal(await code("P107@6F1F3C52-1d3a-4d0a-9a39-8f6f5d1c2b3a/triage"), 0);
    assert.equal(await code("P107@support/summarise"), 1);
    assert.equal(await code("P201,P107"), 0);
    const { changes, counts } = await repository.document(["--accept", "P107"]);
    assert.deepEqual(changes[0]?.accepted, { reason: "--accept", until: null });
    assert.equal(counts.breaking, 0);
    const { stdout } = await repository.plan(["--accept", "P107"]);
    assert.match(stdout, /accepted: --accept/);
    assert.match(stdout, /\nPlan: 0 to add, 1 to change, 0 to remove\.\n$/);
  },
);

verifies("plan.json", "the JSON has the documented keys, and --save writes the same", async (t) => {
  const repository = repositoryOf(t, { [CONFIG]: configOf(GUARDED) });
  const more = GUARDED.replace("60", "30").replace("Summarise", "Shorten");
  repository.write({ [CONFIG]: configOf(more) });
  const { stdout } = await repository.plan(["--output", "json", "--save", "plan.json"]);
  assert.equal(stdout, textOf(repository.path("plan.json")));
  const document = documentOf(stdout);
  const keys = ["plan_version", "from", "to", "changes", "counts", "overrides", "drift"];
  assert.deepEqual(Object.keys(document), keys);
  assert.equal(document.plan_version, 1);
  for (const side of [document.from, document.to]) {
    assert.deepEqual(Object.keys(side), ["side", "hash", "revision"]);
    assert.match(side.hash, /^[0-9a-f]{64}$/);
  }
  const change = ["rule", "risk", "object", "path", "file", "line", "column", "before", "after", "message"];
  for (const one of document.changes) {
    assert.deepEqual(Object.keys(one), [...change, "reaches", "accepted"]);
    assert.deepEqual(Object.keys(one.object), ["kind", "project", "name"]);
  }
  const zero = { money: 0, behavior: 0, weakens: 0 };
  assert.deepEqual(document.counts, { add: 1, change: 1, remove: 1, breaking: 2, safe: 1, ...zero });
  assert.ok(document.changes.some(({ before, after }) => before === 60 && after === 30));
});

verifies(
  "plan.invalid",
  "diagnostics of both sides are printed in each format, and the exit is 1",
  async (t) => {
    const repository = repositoryOf(t, { [CONFIG]: configOf(GUARDED.replace("60", "-1")) });
    repository.write({ [CONFIG]: configOf(GUARDED.replace("60", "many")) });
    const { code, stdout } = await repository.plan(["--output", "json", "--save", "plan.json"]);
    assert.equal(code, 1);
    assert.equal(isThere(repository.path("plan.json")), false);
    const answer: unknown = JSON.parse(stdout);
    assert.ok(typeof answer === "object" && answer !== null && "errors" in answer);
    assert.deepEqual(Object.keys(answer), ["plan_version", "errors"]);
    // The diagnostics are those of `validate --output json`, whose keys other tests check.
    const { errors } = answer as {
      errors: Record<"from" | "to", readonly { code: string; line: number; file: string }[]>;
    };
    assert.deepEqual(
      [...errors.from, ...errors.to].map(({ code: id, file, line }) => `${id} ${file}:${line}`),
      [`E0107 ${CONFIG}:11`, `E0103 ${CONFIG}:11`],
    );
    const text = (await repository.plan([])).stdout;
    assert.match(
      text,
      /^--from is not a valid configuration:\n\nerror\[E0107\].*--to is not a valid configuration:\n\nerror/s,
    );
    assert.match(
      (await repository.plan(["--output", "github"])).stdout,
      /^::error file=gateway\.config\.yaml,line=11/,
    );
    assert.match((await repository.plan(["--output", "markdown"])).stdout, /there is no plan/);
  },
);

verifies("plan.text", "lines stay within the width, in any width, and the last one counts", async (t) => {
  const repository = repositoryOf(t, { [CONFIG]: configOf(GUARDED) });
  const changed = GUARDED.replace("60", "30")
    .replace("by urgency and answer", "by topic, then by urgency, and reply at once")
    .replace("- use: prompt_injection", "- use: content_length\n            options: { max: 100 }")
    .replace("name: Summarise", "name: Shorten\n        description: A shorter text");
  repository.write({ [CONFIG]: configOf(changed, "log: { level: debug }\n") });
  for (const columns of [80, 120, 200]) {
    const { stdout } = await repository.plan(["--all"], { columns, isTerminal: true });
    // The last one stays one line.
    const wide = stdout
      .split("\n")
      .slice(0, -2)
      .filter((line) => visibleWidth(line) > columns);
    assert.deepEqual(wide, [], `${columns} columns`);
  }
  const { stdout } = await repository.plan([], { columns: 80, isTerminal: true });
  assert.ok(stdout.includes("\u001b["), "a terminal has colors");
  const piped = (await repository.plan([])).stdout;
  assert.ok(!piped.includes("\u001b"), "a pipe has none");
  assert.equal(stripVTControlCharacters(stdout), piped);
  assert.match(piped, /\[-urgency and answer-\]|\{\+.*topic/);
  assert.match(piped, /^support\n {2}~ endpoint triage\n {4}breaking {2}P107 {2}/m);
  assert.match(piped, /^whole gateway\n {2}~ section log\n {4}behavior {2}P401 {2}/m);
  assert.match(piped, /\d safe changes? (?:is|are) not listed; --all/);
  assert.match(piped, /\n\nPlan: 1 to add, 2 to change, 1 to remove\. .*\.\n$/);
});

verifies(
  "plan.plugins",
  "modules of plugins are compared and never executed, and the plan says so",
  async (t) => {
    const plugin = (word: string): string =>
      `import { writeFileSync } from "node:fs";\nwriteFileSync(new URL("./ran", import.meta.url), "${word}");\n`;
    const using = GUARDED.replace(
      "use: pii\n            options: { kinds: [email, iban] }",
      "use: mine\n            options: { level: 1 }",
    );
    const repository = repositoryOf(t, {
      [CONFIG]: configOf(using, "plugins: [./mine.mjs]\n"),
      "mine.mjs": plugin("one"),
    });
    repository.write({
      "mine.mjs": plugin("two"),
      [CONFIG]: configOf(using.replace("level: 1", "level: 2"), "plugins: [./mine.mjs]\n"),
    });
    const { stdout } = await repository.plan([]);
    assert.match(stdout, /No code of plugins was executed/);
    const { changes } = await repository.document();
    assert.deepEqual(changes.map(({ rule, object }) => `${rule} ${object.name}`).sort(), [
      "P107 triage",
      "P201 triage",
      "P401 ./mine.mjs",
    ]);
    assert.equal(isThere(repository.path("ran")), false);
  },
);

verifies(
  "plan.github",
  "annotations are workflow commands at lines of the new files, errors for what fails",
  async (t) => {
    const repository = repositoryOf(t, { [CONFIG]: configOf(GUARDED) });
    const after = GUARDED.replace("60", "30").replace(
      "answer with one word",
      "be 100% sure:\\n::error::x, y",
    );
    repository.write({ [CONFIG]: configOf(after.slice(0, after.indexOf("      - name: Summarise"))) });
    const { stdout, code } = await repository.plan(["--output", "github", "--fail-on", "breaking", "--all"]);
    assert.equal(code, 1);
    const lines = textOf(repository.path(CONFIG)).split("\n");
    for (const line of stdout.trimEnd().split("\n")) {
      const [, level, place, title] =
        /^::(error|warning|notice) (?:file=gateway\.config\.yaml,line=(\d+),col=\d+,)?title=([^:,]+)::[^\r\n]+$/.exec(
          line,
        ) ?? [];
      assert.ok(level !== undefined, `by the grammar: ${line}`);
      if (place !== undefined) assert.ok(Number(place) <= lines.length, "the line is in the new file");
      if (title?.startsWith("breaking") === true) assert.equal(level, "error");
    }
    assert.match(
      stdout,
      /^::error file=gateway\.config\.yaml,line=6,col=\d+,title=breaking P101%3A.*::support\/summarise: /m,
    );
    assert.match(stdout, /^::notice title=sluice plan::Plan: 0 to add, 1 to change, 1 to remove/m);
    assert.equal(briefly(await repository.document()).length, 3);
  },
);
