/** A configuration's files: how they are put together, what references do, which YAML is taken. */
import assert from "node:assert/strict";
import { OTHER_PROJECT, PROJECT } from "./kit/config.ts";
import { loaded, loadFiles, refused } from "./kit/load.ts";
import { verifies } from "./verifies.ts";

const HASH = `sha256:${"a".repeat(64)}`;

/** A project with one mock endpoint; `more` are lines of the project, at its indentation. */
function project(more = "", name = "Support", uuid = PROJECT): string {
  return `projects:
  - uuid: ${uuid}
    name: ${name}
    type: ai_gateway
${more}`;
}

const ENDPOINT = `    endpoints:
      - { name: Echo, provider: mock, model: m }
`;

function file(more = "", head = "version: 1\n"): { "gateway.config.yaml": string } {
  return { "gateway.config.yaml": head + project(more) };
}

verifies("config.file", "one YAML file is a configuration", async () => {
  const config = await loaded(file(ENDPOINT));
  assert.equal(config.projects[0]?.endpoints[0]?.slug, "echo");
});

verifies(
  ["config.directory", "config.merge.lists"],
  "a directory's YAML files are its parts, in name order, and their lists join",
  async () => {
    const files = {
      "conf/20-more.yml": project("", "Second", OTHER_PROJECT),
      "conf/10-first.yaml": `version: 1\n${project(ENDPOINT)}`,
      "conf/notes.txt": "not: [yaml",
    };
    const config = await loaded(files, { path: "conf" });
    assert.deepEqual(
      config.projects.map(({ name }) => name),
      ["Support", "Second"],
    );
  },
);

verifies("config.include", "includes are globs relative to the file that has them", async () => {
  const files = {
    "gateway.config.yaml": "version: 1\ninclude: [teams/*.yaml]\n",
    "teams/a.yaml": `include: [deep/b.yaml]\n${project(ENDPOINT)}`,
    "teams/deep/b.yaml": project("", "Second", OTHER_PROJECT),
  };
  const config = await loaded(files);
  assert.deepEqual(new Set(config.projects.map(({ name }) => name)), new Set(["Support", "Second"]));
});

verifies("config.project-include", "a project's includes are parts of that project", async () => {
  const files = {
    ...file(`    include: [support/*.yaml]\n${ENDPOINT}`),
    "support/one.yaml": "endpoints:\n  - { name: One, provider: mock, model: m }\n",
    "support/two.yaml": `tokens:\n  - { name: web, hash: "${HASH}", scopes: [chat] }\n`,
  };
  const config = await loaded(files);
  assert.deepEqual(
    config.projects[0]?.endpoints.map(({ slug }) => slug),
    ["echo", "one"],
  );
  assert.equal(config.projects[0]?.tokens.length, 1);
});

verifies("config.merge.single", "a key that is not a list may be in one part only", async () => {
  const files = {
    "gateway.config.yaml": `version: 1\ninclude: [b.yaml]\nlog: { level: info }\n${project(ENDPOINT)}`,
    "b.yaml": "log: { level: warn }\n",
  };
  const error = await refused(files);
  assert.equal(error.code, "E0009");
  assert.match(`${error.file}:${error.line} ${error.message}`, /gateway\.config\.yaml:3/);
  assert.match(`${error.file}:${error.line} ${error.message}`, /b\.yaml:1/);
});

verifies(
  "config.duplicate.name",
  "what must be unique and is not is an error that names both places",
  async () => {
    const token = (hash: string): string =>
      `{ name: web, hash: "sha256:${hash.repeat(64)}", scopes: [chat] }`;
    const twice: Readonly<Record<string, [string, string]>> = {
      endpoints: [
        "{ name: Echo, provider: mock, model: m }",
        "{ name: Other, slug: echo, provider: mock, model: m }",
      ],
      tokens: [token("a"), token("b")],
      credentials: ["{ name: main, provider: mock }", "{ name: main, provider: mock }"],
      webhooks: [1, 2].map(
        (n) =>
          `{ name: siem, url: "https://hooks.example.com/${n}", events: [token.revoked], secret: "\${env:S}" }`,
      ) as [string, string], // Two in, two out.
    };
    for (const [list, [first, second]] of Object.entries(twice)) {
      const files = {
        ...file(`    include: [part.yaml]\n    ${list}:\n      - ${first}\n`),
        "part.yaml": `${list}:\n  - ${second}\n`,
      };
      const error = await refused(files, { env: { S: "long-enough" } });
      assert.equal(error.code, "E0307", list);
      const places = `${error.file}:${error.line} ${error.message}`;
      assert.match(places, /part\.yaml:2/, list);
      assert.match(places, /gateway\.config\.yaml:8/, list);
    }
    const error = await refused({
      "gateway.config.yaml": `version: 1\ninclude: [b.yaml]\n${project(ENDPOINT)}`,
      "b.yaml": project("", "Again", PROJECT.toUpperCase()),
    });
    assert.equal(error.code, "E0307");
    assert.match(
      `${error.file} ${error.message}`,
      /gateway\.config\.yaml.*b\.yaml|b\.yaml.*gateway\.config\.yaml/,
    );
  },
);

verifies("config.missing", "a config that is not there is an error that names it", async () => {
  const error = await refused({});
  assert.equal(error.code, "E0001");
  assert.match(`${error.file} ${error.message}`, /gateway\.config\.yaml/);
});

verifies(
  ["config.ref.env", "config.ref.file", "config.ref.plain"],
  "references are replaced, and nothing else that looks like one",
  async () => {
    const prompts: Readonly<Record<string, string>> = {
      "a ${env:NAME} b": "a value b",
      "${env:NONE:-a default}": "a default",
      "${env:NONE:-}": "",
      "${env:NAME:-unused}": "value",
      "${file:prompts/one.txt}": "First.\nSecond.\n",
      "${name} ${ENV} $5 ${": "${name} ${ENV} $5 ${",
      "$${env:NAME}": "${env:NAME}",
      "${env:NAME}${env:NAME}": "valuevalue",
    };
    const endpoints = Object.keys(prompts).map(
      (prompt, n) => `      - { name: E${n}, provider: mock, model: m, prompt: ${JSON.stringify(prompt)} }\n`,
    );
    const files = {
      ...file(`    endpoints:\n${endpoints.join("")}`),
      "prompts/one.txt": "First.\nSecond.\n\n",
    };
    const config = await loaded(files, { env: { NAME: "value" } });
    assert.deepEqual(
      config.projects[0]?.endpoints.map(({ prompt }) => prompt),
      Object.values(prompts),
    );
  },
);

verifies("config.ref.scalar", "a value never becomes YAML", async () => {
  const value = "x, model: other }\n- { evil: true";
  const files = file('    endpoints:\n      - { name: E, provider: mock, model: m, prompt: "${env:V}" }\n');
  const config = await loaded(files, { env: { V: value } });
  assert.equal(config.projects[0]?.endpoints[0]?.prompt, value);
});

verifies(
  "config.ref.unresolved",
  "a reference that cannot be resolved is an error at its position",
  async () => {
    const lines = (prompt: string): string =>
      `    endpoints:\n      - name: E\n        provider: mock\n        model: m\n        prompt: "${prompt}"\n`;
    const unset = await refused(file(lines("Say ${env:NOWHERE}.")));
    assert.deepEqual([unset.code, unset.line], ["E0201", 10]);
    assert.ok(unset.column >= 17, String(unset.column));
    assert.match(unset.message, /NOWHERE/);
    const gone = await refused(file(lines("${file:gone.txt}")));
    assert.deepEqual([gone.code, gone.line], ["E0202", 10]);
    assert.match(gone.message, /gone\.txt/);
  },
);

verifies("config.schema.ref-file", "a schema can be a file of its own", async () => {
  const endpoint = "{ name: E, provider: mock, model: m, input_schema: { $ref: ./schemas/in.json } }";
  const files = {
    ...file(`    endpoints:\n      - ${endpoint}\n`),
    "schemas/in.json": '{ "required": ["ticket"] }',
  };
  const config = await loaded(files);
  assert.deepEqual(config.projects[0]?.endpoints[0]?.input_schema, { required: ["ticket"] });
});

verifies("config.yaml.core", "words of older YAML are texts", async () => {
  const endpoint = "{ name: no, slug: off, provider: mock, model: yes, prompt: on }";
  const config = await loaded(file(`    endpoints:\n      - ${endpoint}\n`));
  const { name, slug, model, prompt } = config.projects[0]?.endpoints[0] ?? {};
  assert.deepEqual([name, slug, model, prompt], ["no", "off", "yes", "on"]);
});

verifies(
  "config.yaml.rejected",
  "custom tags, keys twice, alias bombs and prototype keys are errors",
  async () => {
    const wrong: [string, string][] = [
      ["E0006", "version: 1\nlog: !acme { level: info }\n"],
      ["E0003", "version: 1\nlog: { level: info }\nlog: { level: warn }\n"],
      ["E0004", "version: 1\n__proto__: { a: 1 }\n"],
      ["E0004", "version: 1\nlog: { constructor: 1 }\n"],
      ["E0004", "version: 1\nlog: { prototype: 1 }\n"],
    ];
    for (const [code, text] of wrong) {
      const { errors } = await loadFiles({ "gateway.config.yaml": text + project(ENDPOINT) });
      assert.ok(
        errors.some((error) => error.code === code),
        `${code}: ${JSON.stringify(errors)}`,
      );
    }
    const layers = Array.from({ length: 30 }, (_, n) => `  l${n + 1}: &l${n + 1} [*l${n}, *l${n}]\n`).join(
      "",
    );
    const bomb = `version: 1\nlog:\n  l0: &l0 [a, a]\n${layers}${project(ENDPOINT)}`;
    const { errors } = await loadFiles({ "gateway.config.yaml": bomb });
    assert.ok(
      errors.some(({ code }) => code === "E0005"),
      JSON.stringify(errors.slice(0, 3)),
    );
  },
);

verifies(
  ["config.overlay.maps", "config.overlay.lists", "config.overlay.null"],
  "an overlay merges maps and named things, and null removes",
  async () => {
    const files = {
      "gateway.config.yaml": `version: 1
server: { host: 127.0.0.1, port: 9000, max_body_bytes: 5000 }
log: { level: warn }
${project(`    endpoints:
      - { name: Echo, provider: mock, model: m, temperature: 1, prompt: Hi }
      - { name: Gone, provider: mock, model: m }
`)}`,
      "staging.yaml": `server: { port: 9001 }
log: null
projects:
  - uuid: ${PROJECT}
    endpoints:
      - { slug: echo, prompt: Staging, temperature: null }
      - { slug: new, name: New, provider: mock, model: m }
`,
      "more.yaml": "server: { max_body_bytes: 6000 }\n",
    };
    const config = await loaded(files, { overlays: ["staging.yaml", "more.yaml"] });
    assert.deepEqual(
      [config.server.host, config.server.port, config.server.max_body_bytes, config.log.level],
      ["127.0.0.1", 9001, 6000, "info"],
    );
    const endpoints = config.projects[0]?.endpoints ?? [];
    assert.deepEqual(
      endpoints.map(({ slug }) => slug),
      ["echo", "gone", "new"],
    );
    assert.deepEqual(
      [endpoints[0]?.prompt, endpoints[0]?.temperature, endpoints[0]?.model],
      ["Staging", null, "m"],
    );
  },
);
