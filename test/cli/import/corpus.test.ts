/** Every file of the corpus imports into a configuration that is valid, tested, commented and free of secrets. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { parse } from "yaml";
import { convert, PRODUCTS, TEST_FILE } from "../../../src/cli/import/convert.ts";
import { readSource, type SourceNode } from "../../../src/cli/import/source.ts";
import { main } from "../../../src/cli/main.ts";
import { at } from "../../spec/kit/at.ts";
import { verifies } from "../../spec/verifies.ts";
import { CANARY, folderOf, imported, SOURCES, sourceText, validated } from "./kit.ts";

/** How many of the public files that the corpus follows use each feature. */
const SPREAD: readonly (readonly [feature: string, form: RegExp, files: number])[] = [
  ["master_key", /\bmaster_key:/, 19],
  ["drop_params", /\bdrop_params:/, 13],
  ["timeouts and retries", /\b(?:request_timeout|timeout|num_retries|max_retries):/, 12],
  ["callbacks", /\b(?:callbacks|success_callback):/, 8],
  ["database_url", /\bdatabase_url:/, 6],
  ["caches", /\bcache: (?:true|True|false)/, 5],
  ["own prices", /\binput_cost_per_token:/, 5],
  ["wildcards", /model: "?[\w/-]+\*/, 4],
  ["fallbacks", /\bfallbacks:/, 4],
  ["one name several times", /model_name: "?([\w.-]+)"?[\s\S]*model_name: \1\s/, 3],
  ["tpm or rpm", /\b[tr]pm:/, 2],
  ["Azure", /model: azure\//, 2],
  ["Bedrock", /model: bedrock\//, 2],
  ["Vertex", /model: vertex_ai\//, 2],
  ["OpenRouter", /model: "?openrouter\//, 2],
  ["own OpenAI-compatible address", /api_base: "?(?:https?:|\$|os)/, 7],
];

verifies(
  "import.valid",
  "the corpus has as many files and features as the public files that it follows",
  () => {
    const count = (product: string) => SOURCES.filter((source) => source.product === product).length;
    assert.ok(count("litellm") >= 28 && count("portkey") >= 10 && count("bifrost") >= 10);
    const texts = SOURCES.filter(({ product }) => product === "litellm").map(sourceText);
    for (const [feature, form, files] of SPREAD) {
      const found = texts.filter((text) => form.test(text)).length;
      assert.ok(found >= files, `${feature}: ${found} of ${files}`);
    }
  },
);

for (const source of SOURCES) {
  const label = `${source.product}/${source.name}`;

  verifies(
    "import.valid",
    `${label} becomes a configuration that \`validate --no-secrets --strict\` accepts`,
    async (t) => {
      const { folder, config } = await imported(t, source);
      const { errors, config: loaded } = await validated(join(folder, "gateway.config.yaml"));
      assert.deepEqual(errors, []);
      const [project] = loaded?.projects ?? [];
      assert.equal(project?.type, "ai_wrapper");
      assert.equal(
        config.split("\n").find((line) => line.length > 200),
        undefined,
      );
    },
  );

  verifies("import.every-key", `each key of ${label} has one finding, on itself or on what holds it`, () => {
    const { findings } = convert(source.product, source.name, sourceText(source));
    const { root } = readSource(source.name, sourceText(source));
    const reported = new Set(findings.map((finding) => finding.source.key));
    const silent = leavesOf(root).filter((path) => !ancestorsOf(path).some((one) => reported.has(one)));
    assert.deepEqual(silent, []);
    for (const { source: place, message } of findings) {
      assert.ok(place.line >= 1 && place.line <= sourceText(source).split("\n").length);
      assert.match(message, /^[A-Za-z`\d].*\.$/, message);
    }
  });

  verifies("import.every-key", `what is reported of ${label} is a level that the mapping foresees`, () => {
    const { mapping } = PRODUCTS[source.product];
    for (const { pattern, level, source: place } of convert(source.product, source.name, sourceText(source))
      .findings) {
      const row = mapping.find(pattern);
      if (row === undefined) {
        const isUsual =
          level === "no effect" || level === "exact" || /^(?:targets\[\])?$|\[\]$/.test(pattern);
        assert.ok(isUsual, `${place.key}: ${level}, and the mapping has no ${pattern}`);
        continue;
      }
      const foreseen = [row.level, ...(row.or ?? []), "exact", "no effect"];
      const isLeftOut = level === "unsupported" || level === "manual";
      assert.ok(foreseen.includes(level) || isLeftOut, `${place.key}: ${level} is not among ${foreseen}`);
    }
  });

  verifies("import.secrets", `no secret of ${label} is in any output`, async (t) => {
    const outputs = [];
    for (const output of ["text", "json", "sarif"]) {
      const { stdout, stderr, config, tests } = await imported(t, source, "--output", output);
      outputs.push(stdout, stderr, config, tests);
    }
    for (const text of outputs) {
      assert.doesNotMatch(text.replaceAll(/sluice-import-\w+/g, ""), CANARY);
    }
  });

  verifies("import.comments", `every comment of ${label} is in the configuration`, async (t) => {
    const { config } = await imported(t, source);
    const written = words(config);
    for (const { text } of readSource(source.name, sourceText(source)).comments) {
      if (CANARY.test(text)) continue;
      assert.ok(written.includes(words(text)), text);
    }
  });

  verifies("import.tests", `the tests of ${label} name each alias with its targets in order`, async (t) => {
    const { folder, tests } = await imported(t, source);
    const { config } = await validated(join(folder, "gateway.config.yaml"));
    const listed = at(parse(tests), "tests");
    const cases: readonly unknown[] = Array.isArray(listed) ? listed : [];
    assert.ok(cases.length > 0);
    for (const { alias, failover, model, credential } of config?.projects[0]?.aliases ?? []) {
      const own = cases.filter((one) => at(one, "call", "alias") === alias);
      const targets = [{ credential, model }, ...failover].map((one) => `${one.credential}/${one.model}`);
      const attempts = own.map((one) => at(one, "expect", "attempts"));
      assert.deepEqual(attempts[0], [{ [targets[0] ?? ""]: "ok" }]);
      if (targets.length === 1) continue;
      const failing = targets.slice(0, -1).map((target) => ({ [target]: 503 }));
      assert.deepEqual(attempts[1], [...failing, { [targets.at(-1) ?? ""]: "ok" }]);
    }
  });
}

/** In groups, so that each test is short on a busy machine. */
const GROUP = 8;

for (let first = 0; first < SOURCES.length; first += GROUP) {
  const group = SOURCES.slice(first, first + GROUP);
  const names = group.map(({ product, name }) => `${product}/${name}`).join(", ");
  verifies("import.tests", `the tests of ${names} pass`, (t) => passesTests(t, group));
}

async function passesTests(t: TestContext, group: typeof SOURCES): Promise<void> {
  const folder = folderOf(t);
  const files = group.map((source) => {
    const made = join(folder, source.product, source.name);
    mkdirSync(made, { recursive: true });
    const { files: texts } = convert(source.product, source.name, sourceText(source));
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(made, name), text);
    return join(made, TEST_FILE);
  });
  const out = { stdout: "", stderr: "" };
  const code = await main(["test", ...files], {
    stdout: (text) => void (out.stdout += text),
    stderr: (text) => void (out.stderr += text),
    stdin: async () => "",
    env: {},
    cwd: folder,
    isTerminal: false,
  });
  assert.deepEqual([code, out.stderr], [0, ""], out.stdout.slice(-4000));
  const passed = Number(/(\d+) passed, 0 failed/.exec(out.stdout)?.[1]);
  assert.ok(passed >= group.length, out.stdout.slice(-200));
}

/** Without line breaks and signs of comments, since long ones are wrapped. */
function words(text: string): string {
  return text.replace(/^\s*#/gm, " ").replace(/\s+/g, " ").trim();
}

function leavesOf(node: SourceNode): readonly string[] {
  return node.children.length === 0 ? [node.path] : node.children.flatMap(leavesOf);
}

/** The path itself and all that holds it. */
function ancestorsOf(path: string): readonly string[] {
  const found = [path];
  for (let index = path.length; index > 0; index--) {
    if (path[index] === "." || path[index] === "[") found.push(path.slice(0, index));
  }
  return found;
}
