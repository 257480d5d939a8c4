/** Overlays: what they change, what they add, and what they cannot do in silence. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { verifies } from "../spec/verifies.ts";
import { brief, type Folder, folderOf, PROJECT_UUID, projectOf } from "./kit.ts";

const HASHES = ["a", "b", "c", "d"].map((letter) => `sha256:${letter.repeat(64)}`);

/** `base` and `over` are bodies of the same project, indented by four spaces. */
function withOverlay(t: TestContext, base: string, over: string): Folder {
  return folderOf(t, {
    "gateway.config.yaml": projectOf(base),
    "o.yaml": `projects:\n  - uuid: ${PROJECT_UUID}\n${over}`,
  });
}

const load = (folder: Folder) => folder.load({ overlays: [folder.path("o.yaml")] });

verifies(
  ["config.overlay.lists"],
  "an overlay that names one token keeps the others, by whatever each is known",
  async (t) => {
    const folder = withOverlay(
      t,
      `    tokens:
      - { id: web, hash: "${HASHES[0]}" }
      - { id: 7, name: batch, hash: "${HASHES[1]}" }
      - { name: mail, hash: "${HASHES[2]}" }
      - { hash: "${HASHES[3]}" }
`,
      `    tokens:
      - { id: web, monthly_budget_usd_cap: 500 }
      - { id: "7", scopes: [models] }
      - { name: mail, is_active: false }
      - { hash: "${HASHES[3]?.toUpperCase().replace("SHA256", "sha256")}", name: last }
`,
    );
    const { config, errors } = await load(folder);
    assert.deepEqual(errors.map(brief), []);
    assert.deepEqual(
      config?.projects[0]?.tokens.map((token) => [
        ...[token.name, token.scopes.join(), token.is_active, token.monthly_budget_usd_cap?.text ?? null],
      ]),
      [
        ["web", "chat", true, "500"],
        ["batch", "models", true, null],
        ["mail", "chat", false, null],
        ["last", "chat", true, null],
      ],
    );
  },
);

verifies(
  ["config.overlay.unmatched"],
  "an entry that matches nothing is added when it is complete, and else named with the nearest",
  async (t) => {
    const base = `    tokens:
      - { id: web, hash: "${HASHES[0]}" }
    endpoints:
      - { name: Summarise ticket, provider: mock, model: m }
      - { name: Other, provider: mock, model: m }
`;
    const folder = withOverlay(
      t,
      base,
      `    tokens:
      - { id: wbe, monthly_budget_usd_cap: 5 }
      - { name: new, hash: "${HASHES[1]}" }
      - { scopes: [chat] }
    endpoints:
      - { slug: summarize-ticket, temperature: 1 }
      - { name: Brand new, provider: mock }
      - { name: Complete, provider: mock, model: m }
`,
    );
    const { errors } = await load(folder);
    assert.deepEqual(errors.map(brief), [
      "E0012 4:15 projects[0].tokens[0].id -> web",
      "E0012 6:9 projects[0].tokens[2]",
      "E0012 8:17 projects[0].endpoints[0].slug -> summarise-ticket",
      "E0012 9:17 projects[0].endpoints[1].name",
    ]);
    const [id, none, slug, name] = errors.map(({ message, help }) => `${message} ${help ?? ""}`);
    assert.match(id ?? "", /`tokens` has no entry with `id: wbe` .*`hash` is missing to add it/);
    assert.match(none ?? "", /has no `id`, `name`, `hash`/);
    assert.match(slug ?? "", /`slug: summarize-ticket`.*`name`, `provider`, `model`/);
    assert.match(name ?? "", /`name: Brand new`.*`model`.* known: /s);

    const unknown = folderOf(t, {
      "gateway.config.yaml": projectOf(base),
      "o.yaml": `projects:\n  - { uuid: ${PROJECT_UUID.replace("3e", "3f")}, endpoints: [] }\n`,
    });
    assert.deepEqual((await load(unknown)).errors.map(brief), [
      `E0012 2:13 projects[0].uuid -> ${PROJECT_UUID}`,
    ]);
  },
);

test("an endpoint may be completed by the project's defaults, of either file", async (t) => {
  const endpoints = "    endpoints:\n      - { name: New, model: m }\n";
  const given = withOverlay(t, "    endpoint_defaults: { provider: mock }\n    endpoints: []\n", endpoints);
  assert.deepEqual((await load(given)).errors, []);
  const over = withOverlay(
    t,
    "    endpoints: []\n",
    `    endpoint_defaults: { provider: mock }\n${endpoints}`,
  );
  assert.deepEqual((await load(over)).errors, []);
});

verifies(
  ["config.overlay.replace"],
  "lists without identities replace, with a warning for what they drop unless it is intended",
  async (t) => {
    const base = `    endpoints:
      - name: Echo
        provider: mock
        model: m
        guardrails: [{ use: content_length, max: 9 }, { use: tone }]
`;
    const over = (guardrails: string) =>
      `    endpoints:\n      - slug: echo\n        guardrails: ${guardrails}\n`;
    const uses = async (guardrails: string) => {
      const { config, errors, warnings } = await load(withOverlay(t, base, over(guardrails)));
      assert.deepEqual(errors, []);
      const [endpoint] = config?.projects[0]?.endpoints ?? [];
      return [endpoint?.guardrails.map(({ use }) => use), warnings.map(brief)];
    };
    const warning = "W0111 5:9 projects[0].endpoints[0].guardrails";
    assert.deepEqual(await uses("[{ use: tone }]"), [["tone"], [warning]]);
    assert.deepEqual(await uses("[]"), [[], [warning]]);
    assert.deepEqual(await uses("[{ replace: true }, { use: tone }]"), [["tone"], []]);
    assert.deepEqual(await uses("[{ use: shaped }, { use: tone }, { use: content_length, max: 9 }]"), [
      ["shaped", "tone", "content_length"],
      [],
    ]);
  },
);

test("an overlay cannot include files, rather than do so in silence", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(""),
    "o.yaml": "include: [more.yaml]\nlog: { level: warn }\n",
  });
  assert.deepEqual((await load(folder)).errors.map(brief), ["E0008 1:1 include"]);
});

test("a list whose entries have names cannot be replaced", async (t) => {
  const folder = withOverlay(
    t,
    `    tokens:\n      - { id: web, hash: "${HASHES[0]}" }\n`,
    `    tokens:\n      - { replace: true }\n      - { id: batch, hash: "${HASHES[1]}" }\n`,
  );
  const { errors } = await load(folder);
  assert.deepEqual(errors.map(brief), ["E0012 4:9 projects[0].tokens[0]"]);
  assert.match(errors[0]?.help ?? "", /is_active: false/);
});

test("prices merge by provider and model, and control-plane tokens by name", async (t) => {
  const price = (model: string, input: number) =>
    `  - { provider: openai, model: ${model}, input: ${input}, output: 2 }\n`;
  const tokens = (name: string, hash: string | undefined) =>
    `control_plane:\n  tokens:\n    - { name: ${name}, hash: "${hash}" }\n`;
  const folder = folderOf(t, {
    "gateway.config.yaml": `prices:\n${price("a", 1)}${price("b", 1)}${tokens("ops", HASHES[0])}${projectOf("")}`,
    "o.yaml": `prices:\n${price("b", 5)}${tokens("ci", HASHES[1])}`,
  });
  const { config, errors } = await load(folder);
  assert.deepEqual(errors.map(brief), []);
  assert.deepEqual(
    config?.prices.map(({ model, input }) => `${model} ${input.text}`),
    ["a 1", "b 5"],
  );
  assert.deepEqual(
    config?.control_plane.tokens.map(({ name }) => name),
    ["ops", "ci"],
  );
});
