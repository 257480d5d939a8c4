/** `sluice import` as a command: what it writes and never overwrites, its exit codes, and its three outputs. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { compileRules } from "../../../src/base/json-schema.ts";
import { visibleWidth } from "../../../src/cli/terminal.ts";
import { at } from "../../spec/kit/at.ts";
import { verifies } from "../../spec/verifies.ts";
import { CORPUS, folderOf, imported, runImport, SOURCES } from "./kit.ts";
import { SARIF_SCHEMA } from "./sarif-schema.ts";

const CLEAN = `model_list:
  - model_name: gpt-5-mini
    litellm_params: { model: openai/gpt-5-mini, api_key: os.environ/OPENAI_API_KEY }
litellm_settings: { drop_params: true }
`;

verifies(
  "import.exit",
  "the exit code is 0 when all was carried over, and 1 when something needs a person",
  async (t) => {
    const folder = folderOf(t);
    writeFileSync(join(folder, "clean.yaml"), CLEAN);
    writeFileSync(join(folder, "dead.yaml"), `${CLEAN}server: { port: 4000 }\n`);
    writeFileSync(join(folder, "manual.yaml"), `${CLEAN}general_settings: { master_key: sk-1 }\n`);
    writeFileSync(join(folder, "unsupported.yaml"), CLEAN.replace("true }", "true, cache: true }"));
    for (const [name, code] of [
      ["clean", 0],
      ["dead", 0],
      ["manual", 1],
      ["unsupported", 1],
    ] as const) {
      const run = await runImport(folder, ["litellm", `${name}.yaml`, "--out", name]);
      assert.deepEqual([run.code, run.stderr], [code, ""], name);
    }
  },
);

verifies(
  "import.files",
  "files are written to ./sluice by default and never over existing ones",
  async (t) => {
    const folder = folderOf(t);
    writeFileSync(join(folder, "c.yaml"), CLEAN);
    mkdirSync(join(folder, "sluice"));
    writeFileSync(join(folder, "sluice/gateway.test.yaml"), "mine\n");
    const refused = await runImport(folder, ["litellm", "c.yaml"]);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /^sluice import: sluice\/gateway\.test\.yaml exists already; nothing was written\./,
    );
    assert.equal(refused.stdout, "");
    assert.equal(existsSync(join(folder, "sluice/gateway.config.yaml")), false);
    assert.equal(readFileSync(join(folder, "sluice/gateway.test.yaml"), "utf8"), "mine\n");

    writeFileSync(join(folder, "sluice/gateway.test.yaml"), "");
    const { stdout, code } = await runImport(folder, ["litellm", "c.yaml", "--out", "other"]);
    assert.equal(code, 0);
    assert.match(stdout, /^wrote other\/gateway\.config\.yaml\nwrote other\/gateway\.test\.yaml$/m);
  },
);

verifies("import.files", "the same source makes the same files", async (t) => {
  for (const source of SOURCES.slice(0, 4)) {
    const [first, second] = [await imported(t, source), await imported(t, source)];
    assert.deepEqual([first.config, first.tests], [second.config, second.tests]);
  }
});

test("wrong usage exits with 64 and says what is expected", async (t) => {
  const folder = folderOf(t);
  for (const [args, message] of [
    [[], "missing subcommand; expected `litellm`, `portkey` or `bifrost`"],
    [["kong", "c.yaml"], "unknown subcommand 'kong'; expected `litellm`, `portkey` or `bifrost`"],
    [["litellm"], "expected exactly one FILE"],
    [["litellm", "a", "b"], "expected exactly one FILE"],
    [["litellm", "a", "--output", "xml"], "invalid --output 'xml'; expected text, json or sarif"],
  ] as const) {
    const { code, stderr } = await runImport(folder, args);
    assert.deepEqual([code, stderr], [64, `sluice import: ${message}\nTry: sluice import --help\n`]);
  }
});

verifies(
  "import.refused",
  "a file that is none of the product's is refused without quoting it",
  async (t) => {
    const folder = folderOf(t);
    const cases = {
      "absent.yaml": [undefined, /absent\.yaml cannot be read$/],
      "broken.yaml": [
        "model_list: [sk-canary-1\n  : {",
        /broken\.yaml:\d+:\d+ is not valid YAML or JSON \([A-Z_]+\)$/,
      ],
      "list.yaml": [
        "just a sentence with sk-canary-2",
        /list\.yaml does not hold a map or a list at its top$/,
      ],
      "other.yaml": [
        "services: { web: { image: sk-canary-3 } }",
        /other\.yaml has none of the keys of LiteLLM, such as `model_list`$/,
      ],
      "loop.yaml": ["model_list: &a [*a]", /loop\.yaml is too large or nested too deep$/],
    } as const;
    for (const [name, [text, message]] of Object.entries(cases)) {
      if (text !== undefined) writeFileSync(join(folder, name), text);
      const { code, stdout, stderr } = await runImport(folder, ["litellm", name]);
      assert.deepEqual([code, stdout], [1, ""], name);
      assert.match(stderr.trimEnd(), message);
      assert.doesNotMatch(stderr, /canary/);
    }
  },
);

verifies(
  "import.text",
  "keys without effect come first, then what needs a person; the last line says it all",
  async (t) => {
    const folder = folderOf(t);
    const file = join(CORPUS, "litellm/15-copied-from-a-blog.yaml");
    const { stdout } = await runImport(folder, ["litellm", file]);
    assert.match(stdout, /^No effect: these 11 keys never had an effect in LiteLLM\.\n/);
    const order = ["No effect: ", "\nManual: ", "\nExact: ", "\nwrote "].map((title) =>
      stdout.indexOf(title),
    );
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    const last = stdout.trimEnd().split("\n\n").at(-1)?.replaceAll("\n", " ") ?? "";
    assert.match(
      last,
      /Imported 1 model name: 3 exact, 1 manual, 11 without effect\. Next: act on the 1 manual and unsupported key, make a token \(sluice token new\), then sluice validate sluice\/gateway\.config\.yaml and sluice test sluice\/gateway\.test\.yaml\.$/,
    );
  },
);

verifies("import.text", "a level shows at most 200 rows and counts the rest", async (t) => {
  const folder = folderOf(t);
  const keys = Array.from({ length: 205 }, (_, index) => `unknown_${index}: 1\n`).join("");
  writeFileSync(join(folder, "c.yaml"), CLEAN + keys);
  const { stdout } = await runImport(folder, ["litellm", "c.yaml"]);
  assert.match(stdout, /^No effect: these 205 keys never had an effect in LiteLLM\./);
  assert.equal(stdout.match(/ {2}unknown_\d+/g)?.length, 200);
  assert.match(stdout, /^ {2}and 5 more keys; --output json lists all$/m);
});

for (const columns of [80, 200]) {
  verifies(
    "import.text",
    `findings fit a terminal of ${columns} columns, aligned and in color`,
    async (t) => {
      for (const source of SOURCES) {
        const { stdout } = await runImport(
          CORPUS,
          [source.product, join(source.product, source.name), "--out", join(folderOf(t), "out")],
          {
            isTerminal: true,
            columns,
          },
        );
        const lines = stdout.split("\n").filter((line) => !line.includes("sluice-import-"));
        const wide = lines.filter((line) => visibleWidth(line) > columns && !/\S{50}/.test(line));
        assert.deepEqual(wide, [], source.name);
        assert.ok(stdout.includes("\u001b[1m"));
      }
    },
  );
}

test("nothing is colored in a pipe or with NO_COLOR", async (t) => {
  for (const more of [{ isTerminal: false }, { isTerminal: true, env: { NO_COLOR: "1" } }]) {
    const { stdout } = await runImport(
      CORPUS,
      ["litellm", "litellm/01-one-model.yaml", "--out", join(folderOf(t), "out")],
      more,
    );
    assert.equal(stdout.includes("\u001b"), false);
  }
});

verifies(
  "import.json",
  "JSON has findings with level, source, target and message, and the files",
  async (t) => {
    for (const source of SOURCES) {
      const { stdout } = await imported(t, source, "--output", "json");
      const report: unknown = JSON.parse(stdout);
      const findings = at(report, "findings");
      assert.ok(Array.isArray(findings) && findings.length > 0);
      for (const finding of findings) {
        assert.deepEqual(Object.keys(finding), ["level", "source", "target", "message"]);
        assert.deepEqual(Object.keys(finding.source), ["file", "line", "key"]);
        assert.ok(finding.target === null || typeof finding.target === "string");
      }
      assert.deepEqual(at(report, "files"), ["made/gateway.config.yaml", "made/gateway.test.yaml"]);
    }
  },
);

verifies(
  "import.json",
  "SARIF is valid, with a rule for each level and a result for each finding",
  async (t) => {
    const compiled = compileRules(SARIF_SCHEMA);
    assert.ok(compiled.ok);
    for (const source of SOURCES) {
      const { stdout } = await imported(t, source, "--output", "sarif");
      const log: unknown = JSON.parse(stdout);
      assert.deepEqual(compiled.faultsOf(log), [], source.name);
      const rules = at(log, "runs", 0, "tool", "driver", "rules");
      const results = at(log, "runs", 0, "results");
      assert.ok(Array.isArray(rules) && Array.isArray(results));
      const known = new Set(rules.map((rule) => rule.id));
      for (const { ruleId } of results) assert.ok(known.has(ruleId), ruleId);
    }
  },
);
