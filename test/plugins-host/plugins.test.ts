/** Plugins of third parties: TypeScript and JavaScript files and packages, in folders that know nothing of Sluice. */
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { echoEntry } from "../spec/kit/config.ts";
import { startGateway } from "../spec/kit/gateway.ts";

const guardrail = (name: string): string => `import { block, defineGuardrail, refuse } from "sluice/plugin";
export default defineGuardrail({
  name: "${name}",
  description: "Refuses one word.",
  schema: { type: "object", additionalProperties: false, required: ["word"], properties: { word: { type: "string" } } },
  examples: [{ word: "no" }],
  setup: ({ word }) => ({
    window: 0,
    judge: (said) => (said.includes(word) ? block(refuse(422, "${name}", "Refused by ${name}."), "word") : undefined),
  }),
});
`;

const typescript = guardrail("acme-ts").replace(
  "defineGuardrail({",
  "defineGuardrail<{ readonly word: string }>({",
);

test("a TypeScript file, a JavaScript file and a package each register a guardrail", async (t) => {
  const g = await startGateway(t, {
    files: {
      "plugins/acme.ts": typescript,
      "plugins/plain.js": guardrail("acme-js"),
      "node_modules/acme-pack/package.json": '{"name":"acme-pack","type":"module","exports":"./index.js"}',
      "node_modules/acme-pack/index.js": guardrail("acme-pack"),
    },
    root: { plugins: ["./plugins/acme.ts", "./plugins/plain.js", "acme-pack"] },
    endpoint: {
      guardrails: [
        { use: "acme-ts", options: { word: "one" } },
        { use: "acme-js", options: { word: "two" } },
        { use: "acme-pack", word: "three" },
      ],
    },
  });
  const refusals = { one: "acme-ts", two: "acme-js", three: "acme-pack" };
  for (const [word, name] of Object.entries(refusals)) {
    const answer = await g.call({ message: `say ${word}` });
    assert.equal(answer.status, 422);
    assert.equal(answer.text, `{"ok":false,"error":"Refused by ${name}."}`);
  }
});

test("an edited plugin file is loaded anew with the next reload", async (t) => {
  const g = await startGateway(t, {
    files: { "acme.js": guardrail("acme-js") },
    root: { plugins: ["./acme.js"] },
    endpoint: { guardrails: [{ use: "acme-js", word: "two" }] },
  });
  assert.match((await g.call({ message: "two" })).text, /Refused by acme-js\./);
  writeFileSync(join(g.folder, "acme.js"), guardrail("acme-js").replace("Refused by", "Stopped by"));
  assert.equal((await g.gateway.reload()).changed, true);
  assert.match((await g.call({ message: "two" })).text, /Stopped by acme-js\./);
});

test("a plugin that cannot be set up refuses the configuration at the line that uses it", async (t) => {
  const broken = guardrail("acme-js").replace(
    "setup: ({ word }) => ({",
    'setup: () => { throw new Error("no luck"); }, x: ({ word }) => ({',
  );
  const g = await startGateway(t, {
    files: { "acme.js": broken },
    root: { plugins: ["./acme.js"] },
  });
  g.rewrite({
    root: { plugins: ["./acme.js"] },
    endpoint: { guardrails: [{ use: "acme-js", word: "two" }] },
  });
  const outcome = await g.gateway.reload();
  assert.equal(outcome.ok, false);
  assert.equal(outcome.errors[0]?.code, "E0900");
  assert.match(outcome.errors[0]?.message ?? "", /no luck/);
  assert.ok((outcome.errors[0]?.line ?? 0) > 1);
});

for (const [what, source, words] of [
  ["exports nothing", "export const x = 1;", /no default export|make it with definePlugin/],
  ["exports something else", "export default { name: 'x' };", /make it with definePlugin/],
  ["takes the name of a built-in", guardrail("pii"), /a guardrail named 'pii' already/],
  [
    "has a plugin without a name",
    guardrail("x").replace('name: "x",', ""),
    /is not a plugin: it has no name/,
  ],
  [
    "has a plugin with a name that is not kebab-case",
    guardrail("Acme Words"),
    /`name` must be kebab-case or snake_case of at most 64 characters, not 'Acme Words'/,
  ],
  [
    "has a plugin with a name that is too long",
    guardrail("a".repeat(65)),
    /`name` must be kebab-case or snake_case of at most 64 characters/,
  ],
  [
    "has a plugin without a description",
    guardrail("acme").replace("Refuses one word.", " "),
    /`description` of 'acme' must be a sentence/,
  ],
  [
    "has a plugin with an example that its schema rejects",
    guardrail("acme").replace('{ word: "no" }', "{ word: 5 }"),
    /`examples\[0\]` of 'acme' is not what its schema accepts: .*word/,
  ],
  ["has a plugin without setup", guardrail("acme").replace("setup:", "start:"), /setup/],
  ["throws when it is loaded", "throw new Error('boom at load');", /boom at load/],
] as const) {
  test(`a module that ${what} is an error at its line, in words for its author`, async (t) => {
    const g = await startGateway(t);
    writeFileSync(join(g.folder, "acme.js"), source);
    g.rewrite({ root: { plugins: ["./acme.js"] } });
    const { ok, errors } = await g.gateway.reload();
    assert.equal(ok, false);
    assert.equal(errors[0]?.code, "E0316");
    assert.match(errors[0]?.message ?? "", words);
  });
}

test("a third-party stage at authenticate runs before the body is read and may refuse", async (t) => {
  const stage = `import { definePlugin, refuse } from "sluice/plugin";
export default definePlugin({
  name: "acme-door", stage: "authenticate", description: "x", schema: { type: "object" }, examples: [],
  setup: () => ({
    request: (x) => (x.headers["x-team"] === "red" ? undefined : refuse(403, "team", "Wrong team.")),
  }),
});`;
  const g = await startGateway(t, {
    files: { "door.js": stage },
    root: { plugins: ["./door.js"] },
    project: { stages: [{ use: "acme-door" }] },
    endpoint: echoEntry({}),
  });
  assert.equal((await g.call("not json")).status, 403);
  assert.equal((await g.call({ message: "hi" }, { headers: { "x-team": "red" } })).status, 200);
});

/** A guardrail whose refusal is worded two imports away. */
function ofThreeFiles(ending: string, word: string): Readonly<Record<string, string>> {
  return {
    [`acme.${ending}`]: guardrail("acme")
      .replace('"Refused by acme."', "text")
      .replace("import {", 'import { text } from "./lib/words.js";\nimport {'),
    [`lib/words.${ending}`]: `import { word } from "./deep/word.js";\nexport const text = \`Refused as \${word}.\`;\n`,
    [`lib/deep/word.${ending}`]: `export const word = "${word}";\n`,
  };
}

const FORMS = [
  ["js", "module"],
  ["js", "commonjs"],
  ["ts", "module"],
  ["ts", "commonjs"],
] as const;

for (const [ending, type] of FORMS) {
  test(`a changed helper of a .${ending} plugin of type ${type}, two imports away, reloads it whole`, async (t) => {
    const parts = {
      root: { plugins: [`./acme.${ending}`] },
      endpoint: { guardrails: [{ use: "acme", word: "two" }] },
    };
    const g = await startGateway(t, {
      ...parts,
      files: { ...ofThreeFiles(ending, "first"), "package.json": JSON.stringify({ type }) },
    });
    assert.match((await g.call({ message: "two" })).text, /Refused as first\./);
    assert.equal((await g.gateway.reload()).changed, false);
    for (const word of ["second", "third"]) {
      writeFileSync(join(g.folder, `lib/deep/word.${ending}`), `export const word = "${word}";\n`);
      assert.equal((await g.gateway.reload()).changed, true);
      assert.match((await g.call({ message: "two" })).text, new RegExp(`Refused as ${word}\\.`));
    }
    const { files } = g.gateway.config.plugins[0] ?? { files: [] };
    assert.equal(files.length, 3);
  });
}

test("a helper outside the root is refused, as the plugin itself would be", async (t) => {
  const g = await startGateway(t, {
    files: { "acme.js": guardrail("acme-js") },
    root: { plugins: ["./acme.js"] },
  });
  const outside = join(g.folder, "..", `${basename(g.folder)}-outside.js`);
  writeFileSync(outside, "export const word = 1;\n");
  t.after(() => rmSync(outside));
  writeFileSync(join(g.folder, "acme.js"), `import "../${basename(outside)}";\n${guardrail("acme-js")}`);
  const { ok, errors } = await g.gateway.reload();
  assert.deepEqual([ok, errors[0]?.code], [false, "E0011"]);
});
