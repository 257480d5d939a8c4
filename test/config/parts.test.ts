/** How files become one configuration: directories, includes, overlays, what is watched. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, errorsOf, folderOf, loaded, PROJECT_UUID, projectOf } from "./kit.ts";

const OTHER_UUID = "7b0c4f2e-91ad-4c38-8e65-d2f0a1b3c4d5";
const ECHO = "      - { name: Echo, provider: mock, model: m }\n";

test("a directory's files are parts in the order of their names, and their lists join", async (t) => {
  const folder = folderOf(t, {
    "conf/20.yml": `projects:\n  - { uuid: ${OTHER_UUID}, name: Second, type: proxy }\n`,
    "conf/10.yaml": projectOf(""),
    "conf/.hidden.yaml": "not: [yaml",
    "conf/notes.md": "nothing",
  });
  const { config, watch } = await folder.load({ path: folder.path("conf") });
  assert.deepEqual(
    config?.projects.map(({ name }) => name),
    ["Support", "Second"],
  );
  assert.deepEqual(watch.directories, [folder.path("conf")]);
  assert.deepEqual(watch.files, [folder.path("conf/10.yaml"), folder.path("conf/20.yml")]);
});

test("a key that cannot be merged may be in one part only, and both places are named", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": `include: [more.yaml]\nlog: { level: debug }\n${projectOf("")}`,
    "more.yaml": "# more\nlog: { level: warn }\n",
  });
  const { errors } = await folder.load();
  assert.deepEqual(errors.map(brief), ["E0009 2:1 log"]);
  assert.equal(errors[0]?.file, folder.path("more.yaml"));
  assert.ok(errors[0]?.message.includes(`${folder.path("gateway.config.yaml")}:2:1`));
});

test("patterns reach into folders, and a file is read once", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": `include: ["parts/**/*.yaml", parts/a.yaml]\n${projectOf("")}`,
    "parts/a.yaml": "prices:\n  - { provider: openai, model: a, input: 1, output: 2 }\n",
    "parts/deep/er/b.yaml": "prices:\n  - { provider: openai, model: b, input: 1, output: 2 }\n",
  });
  const { config, errors, watch } = await folder.load();
  assert.deepEqual(errors, []);
  assert.deepEqual(
    config?.prices.map(({ model }) => model),
    ["a", "b"],
  );
  const parts = ["parts", "parts/deep", "parts/deep/er"].map((name) => folder.path(name));
  assert.deepEqual([...watch.directories].sort(), parts);
});

test("files that include each other are an error that names all of them", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": `include: [a.yaml]\n${projectOf("    include: [team.yaml]\n")}`,
    "a.yaml": "include: [./b.yaml]\n",
    "b.yaml": 'include: ["{a,c}.yaml"]\n',
    "c.yaml": "include: [c.yaml]\n",
    "team.yaml": "include: [gateway.config.yaml]\n",
  });
  const { errors } = await folder.load();
  const cycles = errors.map(({ code, file, line, message }) => {
    const told = message.replaceAll(`${folder.path("")}/`, "");
    return `${code} ${file.replace(`${folder.path("")}/`, "")}:${line} ${told}`;
  });
  assert.deepEqual(cycles, [
    "E0013 b.yaml:1 files include each other in a circle: a.yaml -> b.yaml -> a.yaml",
    "E0013 c.yaml:1 a file includes itself: c.yaml -> c.yaml",
    "E0013 team.yaml:1 files include each other in a circle: gateway.config.yaml -> team.yaml -> gateway.config.yaml",
  ]);
});

test("a pattern that matches its own file means the others", async (t) => {
  const price = (model: string) =>
    `prices:\n  - { provider: openai, model: ${model}, input: 1, output: 2 }\n`;
  const folder = folderOf(t, {
    "gateway.config.yaml": `include: ["*.yaml"]\n${projectOf("")}${price("a")}`,
    "b.yaml": price("b"),
  });
  const { config, errors } = await folder.load();
  assert.deepEqual(errors, []);
  assert.deepEqual(
    config?.prices.map(({ model }) => model),
    ["a", "b"],
  );
});

test("a project's includes are parts of that project, and errors in them have their own place", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(`    include: [teams/*.yaml]\n    endpoints:\n${ECHO}`),
    "teams/b.yaml": "endpoints:\n  - { name: B, provider: mock, model: m, top_p: 7 }\n",
    "teams/a.yaml": "endpoints:\n  - { name: A, provider: mock, model: m }\n",
  });
  const { errors } = await folder.load();
  assert.deepEqual(errors.map(brief), ["E0107 2:49 projects[0].endpoints[2].top_p"]);
  assert.equal(errors[0]?.file, folder.path("teams/b.yaml"));
});

test("an included file that is missing is an error, a pattern that matches nothing a warning", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": `include: [gone.yaml, none/*.yaml]\n${projectOf("")}`,
  });
  const { errors, warnings, watch } = await folder.load();
  assert.deepEqual(errors.map(brief), ["E0008 1:11 include[0]"]);
  assert.deepEqual(warnings.map(brief), ["W0107 1:22 include[1]"]);
  assert.ok(
    watch.files.includes(folder.path("gone.yaml")),
    "it is watched, so that it is seen when it comes",
  );
});

test("a part that is not YAML is reported, and what it would have declared is not reported as missing", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(
      "    include: [credentials.yaml]\n    endpoints:\n      - { name: A, provider: openai, model: m, credential: main, temperature: 9 }\n",
    ),
    "credentials.yaml": "credentials:\n  - { name: main, provider: openai\n",
  });
  const { errors } = await folder.load();
  assert.deepEqual(
    errors.map(({ code }) => code),
    ["E0002", "E0107"],
  );
});

test("an overlay merges by key and by name, null removes, and a list without names is replaced", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(`    tokens:
      - { name: web, hash: "sha256:${"a".repeat(64)}", scopes: [chat, models], monthly_budget_usd_cap: 5 }
    endpoint_defaults: { prompt: Be brief. }
    endpoints:
${ECHO}      - { name: Other, slug: other, provider: mock, model: m, temperature: 1 }
`),
    "production.yaml": `server: { port: 9000 }
projects:
  - uuid: ${PROJECT_UUID.toUpperCase()}
    tokens:
      - { name: web, scopes: [chat], monthly_budget_usd_cap: null }
    endpoint_defaults: null
    endpoints:
      - { slug: echo, model: large }
      - { slug: other, temperature: null }
      - { name: New, provider: mock, model: m }
`,
  });
  const { config, errors } = await folder.load({ overlays: [folder.path("production.yaml")] });
  assert.deepEqual(errors, []);
  const [project] = config?.projects ?? [];
  assert.equal(config?.server.port, 9000);
  assert.deepEqual(project?.tokens[0]?.scopes, ["chat"]);
  assert.equal(project?.tokens[0]?.monthly_budget_usd_cap, null);
  assert.deepEqual(
    project?.endpoints.map(({ slug, model, temperature, prompt }) => [slug, model, temperature, prompt]),
    [
      ["echo", "large", null, ""],
      ["other", "m", null, ""],
      ["new", "m", null, ""],
    ],
  );
});

test("what an overlay gets wrong is reported in the overlay", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(`    endpoints:\n${ECHO}`),
    "bad.yaml": `projects:\n  - uuid: ${PROJECT_UUID}\n    endpoints:\n      - slug: echo\n        top_p: 2\n`,
  });
  const { errors } = await folder.load({ overlays: [folder.path("bad.yaml")] });
  assert.deepEqual(errors.map(brief), ["E0107 5:16 projects[0].endpoints[0].top_p"]);
  assert.equal(errors[0]?.file, folder.path("bad.yaml"));
});

test("a file that is missing, empty, a list, or not UTF-8 is one error that names it", async (t) => {
  const missing = await folderOf(t, {}).load();
  assert.deepEqual(
    missing.errors.map(({ code }) => code),
    ["E0001"],
  );
  assert.match(missing.errors[0]?.message ?? "", /gateway\.config\.yaml does not exist/);
  assert.equal(missing.watch.files.length, 1);
  assert.deepEqual(await errorsOf(t, ""), ["E0007 1:1 "]);
  assert.deepEqual(await errorsOf(t, "- a\n"), ["E0007 1:1 "]);
});

test("the hash changes with any text that was read, and with nothing else", async (t) => {
  const files = {
    "gateway.config.yaml": projectOf(
      `    endpoints:\n      - { name: A, provider: mock, model: m, prompt: "\${file:prompt.txt}" }\n`,
    ),
    "prompt.txt": "Be brief.\n",
  };
  const folder = folderOf(t, files);
  const first = await folder.load();
  assert.equal(first.config?.projects[0]?.endpoints[0]?.prompt, "Be brief.");
  assert.equal((await folder.load()).hash, first.hash);
  assert.equal((await folderOf(t, files).load()).hash, first.hash);
  folder.write({ "prompt.txt": "Be long.\n" });
  assert.notEqual((await folder.load()).hash, first.hash);
  assert.ok(first.watch.files.includes(folder.path("prompt.txt")));
});

test("a configuration of nothing but its name is filled with defaults", async (t) => {
  const config = await loaded(t, projectOf("    endpoints:\n"));
  assert.deepEqual(config.projects[0]?.endpoints, []);
  assert.equal(config.state.driver, "memory");
});
