/** `sluice render`: what it prints loads again as an equal configuration, with the place of every value on request. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { parse, parseDocument } from "yaml";
import { renderCommand, renderedYaml } from "../../src/cli/render.ts";
import type { LoadOutcome } from "../../src/config/load.ts";
import { type Folder, folderOf } from "../config/kit.ts";
import { verifies } from "../spec/verifies.ts";
import { configOf, isThere, loadPlugins, run, UUID } from "./plan-kit.ts";

const CONFIG = "gateway.config.yaml";
const render = renderCommand(loadPlugins);
const kept = { secrets: "keep", plugins: "skip", shows: true } as const;

const WHOLE = {
  version: 1,
  server: { port: 0, trusted_proxies: ["10.0.0.0/8"] },
  network: { allow: ["crm.internal"] },
  telemetry: { otlp: { endpoint: "http://127.0.0.1:4318", headers: { "X-Team": "${env:TEAM_KEY}" } } },
  prices: [{ provider: "openai", model: "m", input: 1, output: "2.5" }],
  control_plane: { tokens: [{ name: "ops", hash: `sha256:${"b".repeat(64)}` }] },
  projects: [
    {
      uuid: UUID,
      name: "Support",
      type: "ai_gateway",
      credentials: [{ name: "main", provider: "openai", api_key: "${env:OPENAI_API_KEY}" }],
      provider_templates: [{ name: "fast", provider: "openai", model: "gpt-5-mini", credential: "main" }],
      tokens: [{ name: "web", hash: `sha256:${"a".repeat(64)}`, scopes: ["chat"], expires_at: "2999-01-01" }],
      endpoint_defaults: { temperature: 1, guardrails: [{ use: "pii", options: { kinds: ["email"] } }] },
      endpoints: [
        { name: "A", provider_template: "fast", failover: [{ credential: "main", model: "gpt-5-nano" }] },
        {
          ...{
            name: "B",
            slug: "b",
            provider: "mock",
            model: "m",
            prompt: "${file:./prompt.md} Be ${env:TONE:-calm}.",
          },
          input_schema: { type: "object", properties: { "a b": { type: "string" } } },
          output_schema: true,
        },
      ],
      proxy_endpoints: [{ slug: "crm", upstream_url: "https://crm.example/" }],
      mcp_servers: [
        { name: "docs", url: "https://d.example/mcp", headers: { Authorization: "Bearer ${env:DOCS}" } },
      ],
      webhooks: [{ name: "w", url: "https://w.example/", events: ["token.revoked"], secret: "${env:HOOK}" }],
    },
  ],
};

/** Without the places of what was read. */
const withoutPlaces = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, item: unknown) => (key === "at" ? undefined : item)) ?? "null");

async function rendered(folder: Folder, { shown, errors }: LoadOutcome, name: string): Promise<LoadOutcome> {
  assert.deepEqual(errors, []);
  assert.ok(shown !== undefined);
  folder.write({ [name]: renderedYaml(shown, false, folder.path("")) });
  const again = await folder.load({ ...kept, path: folder.path(name) }, loadPlugins);
  assert.deepEqual(
    again.errors.map(({ message, line }) => `${line}: ${message}`),
    [],
  );
  return again;
}

verifies("render.again", "the YAML of any configuration loads again as an equal one", async (t) => {
  const folder = folderOf(t, {});
  const odd = fc.constantFrom(
    ...[
      "",
      "x",
      "${env:A}",
      "$${env:A}",
      "$$${env:A}",
      "a: b # c",
      "- x",
      "yes",
      "1e3",
      "\ttab\n\n end ",
      "'\"`",
      "null",
      "é\u2028\u{1f600}",
    ],
  );
  const prompt = fc
    .oneof(fc.string({ maxLength: 60, unit: "grapheme" }), odd)
    .filter((text) => text.trim() !== "");
  const property = fc.asyncProperty(
    prompt,
    prompt,
    odd,
    fc.integer({ min: 1, max: 9_999 }),
    async (file, inline, word, limit) => {
      const [project] = WHOLE.projects;
      const [first, second] = project?.endpoints ?? [];
      const endpoints = [
        { ...first, user_prompt_template: `${inline} {{input}}`, rate_limit_per_hour: limit },
        {
          ...second,
          description: word,
          input_schema: { type: "object", description: word, properties: { [word]: {} } },
        },
      ];
      const config = { ...WHOLE, projects: [{ ...project, endpoints }] };
      folder.write({ [CONFIG]: JSON.stringify(config), "prompt.md": file });
      const outcome = await folder.load({ ...kept }, loadPlugins);
      // A text such as `${env:A` is no reference, and no configuration.
      if (outcome.config === undefined) return;
      const again = await rendered(folder, outcome, "again.yaml");
      assert.deepEqual(again.shown?.config, outcome.shown?.config);
      assert.deepEqual(withoutPlaces(again.config), withoutPlaces(outcome.config));
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

verifies(
  "render.merged",
  "included files, overlays and defaults are merged, and references stay as written",
  async (t) => {
    const folder = folderOf(t, {
      [CONFIG]: `include: [team.yaml]\nversion: 1\n`,
      "team.yaml": configOf(
        `    endpoints:\n      - { name: A, provider: mock, model: m, prompt: "\${file:./prompt.md} \${env:TONE}" }\n`,
      ).slice("version: 1\n".length),
      "prompt.md": "Be brief.\n",
      "production.yaml": `projects: [{ uuid: ${UUID}, endpoints: [{ slug: a, temperature: 0.5 }] }]\n`,
    });
    const cwd = folder.path("");
    const { code, stdout, stderr } = await run(render, ["--overlay", "production.yaml"], { cwd });
    assert.equal(code, 0, stderr);
    const config: unknown = parse(stdout);
    assert.deepEqual(Object.keys(Object(config)).includes("include"), false);
    assert.match(stdout, /^ {6,}prompt: Be brief\. \$\{env:TONE\}$/m);
    assert.match(stdout, /^ {6,}temperature: 0\.5$/m);
    assert.match(stdout, /^ {2}port: 8080$/m, "defaults are filled in");
    const json = await run(render, ["--overlay", "production.yaml", "--output", "json"], { cwd });
    assert.deepEqual(JSON.parse(json.stdout), config);
  },
);

verifies(
  "render.provenance",
  "every value has its file and line, in YAML as a comment and in JSON as data",
  async (t) => {
    const folder = folderOf(t, {
      [CONFIG]: configOf(
        `    endpoints:\n      - name: A\n        provider: mock\n        model: m\n        tags: []\n`,
      ).replace("        tags: []\n", ""),
      "production.yaml": `projects: [{ uuid: ${UUID}, endpoints: [{ slug: a, temperature: 0.5, prompt: "one\\ntwo\\n" }] }]\n`,
    });
    const cwd = folder.path("");
    const args = ["--overlay", "production.yaml", "--provenance"];
    const { stdout } = await run(render, args, { cwd });
    assert.match(
      stdout,
      /^ {6,}provider: mock #gateway\.config\.yaml:8$|^ {6,}provider: mock # gateway\.config\.yaml:8$/m,
    );
    assert.match(stdout, /temperature: 0\.5 # production\.yaml:1$/m);
    assert.match(stdout, /port: 8080 # default$/m);
    assert.match(stdout, /trusted_proxies: \[\] # default$/m);
    assert.ok(!stdout.includes("\n\n"));
    assert.match(stdout, /prompt: \| # production\.yaml:1\n/);
    assert.deepEqual(parseDocument(stdout).errors, []);
    const plain = await run(render, args.slice(0, 2), { cwd });
    assert.deepEqual(parse(stdout), parse(plain.stdout), "comments change nothing");
    const json = JSON.parse((await run(render, [...args, "--output", "json"], { cwd })).stdout);
    assert.deepEqual(json.projects[0].endpoints[0].temperature, { value: 0.5, at: "production.yaml:1" });
    assert.deepEqual(json.server.port, { value: 8080, at: "default" });
  },
);

verifies(
  "render.invalid",
  "an invalid configuration prints its diagnostics on standard error, and exits 1",
  async (t) => {
    const folder = folderOf(t, { [CONFIG]: configOf("    endpoints: 5\n") });
    const { code, stdout, stderr } = await run(render, [], { cwd: folder.path("") });
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /error\[E\d+\].*gateway\.config\.yaml:6/s);
    const wrong = await run(render, ["--output", "toml"], { cwd: folder.path("") });
    assert.equal(wrong.code, 64);
    assert.match(wrong.stderr, /invalid --output 'toml'; expected yaml or json/);
  },
);

verifies(
  ["render.merged", "plan.plugins"],
  "plugins are not executed, and that is said beside the output",
  async (t) => {
    const folder = folderOf(t, { [CONFIG]: `plugins: [./mine.mjs]\n${configOf("")}` });
    writeFileSync(
      join(folder.path(""), "mine.mjs"),
      `import { writeFileSync } from "node:fs";\nwriteFileSync(new URL("./ran", import.meta.url), "x");\n`,
    );
    const { code, stdout, stderr } = await run(render, [], { cwd: folder.path("") });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^No code of plugins was executed/);
    assert.match(stdout, /^plugins:\n {2}- \.\/mine\.mjs$/m);
    assert.equal(isThere(folder.path("ran")), false);
  },
);
