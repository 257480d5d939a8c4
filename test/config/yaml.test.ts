/** Which YAML is taken: the core schema, with every surprise of YAML refused at its place. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { errorsOf, folderOf, loaded, projectOf } from "./kit.ts";

const endpoint = (lines: string) =>
  projectOf(`    endpoints:\n      - name: A\n        provider: mock\n        model: m\n${lines}`);

test("words of older YAML are texts, and hex digests need no quotes", async (t) => {
  const config = await loaded(
    t,
    projectOf(`    tokens:\n      - { name: on, hash: sha256:${"1".repeat(64)} }\n`),
  );
  assert.equal(config.projects[0]?.tokens[0]?.name, "on");
});

test("tabs, open quotes, custom tags and second documents are errors at their line", async (t) => {
  assert.deepEqual(await errorsOf(t, "version: 1\nprojects:\n\t- a\n"), ["E0002 3:1 "]);
  assert.deepEqual((await errorsOf(t, 'version: 1\nprojects: "open\n'))[0]?.slice(0, 5), "E0002");
  assert.deepEqual(await errorsOf(t, endpoint("        prompt: !secret x\n")), ["E0006 10:17 "]);
  assert.deepEqual(await errorsOf(t, `${projectOf("")}---\nversion: 1\n`), ["E0002 6:1 "]);
});

test("a key twice names both places", async (t) => {
  const folder = folderOf(t, { "gateway.config.yaml": endpoint("        top_p: 0.5\n        top_p: 0.6\n") });
  const { errors } = await folder.load();
  assert.deepEqual(
    errors.map(({ code, line, column }) => [code, line, column]),
    [["E0003", 11, 9]],
  );
  assert.match(errors[0]?.message ?? "", /first at .*:10:9$/);
});

test("keys that reach into JavaScript's objects are refused", async (t) => {
  for (const key of ["__proto__", "constructor", "prototype"]) {
    assert.deepEqual(await errorsOf(t, endpoint(`        ${key}: { a: 1 }\n`)), ["E0004 10:9 "]);
  }
  assert.equal(Reflect.get({}, "a"), undefined);
});

test("aliases expand within bounds, and never into themselves", async (t) => {
  const config = await loaded(t, endpoint("        prompt: &p Be brief.\n        description: *p\n"));
  assert.equal(config.projects[0]?.endpoints[0]?.description, "Be brief.");
  const levels = Array.from(
    { length: 9 },
    (_, level) => `l${level + 1}: &l${level + 1} [${`*l${level}, `.repeat(9)}]`,
  );
  const bomb = await errorsOf(
    t,
    `l0: &l0 [a, a, a, a, a, a, a, a, a]\n${levels.join("\n")}\n${projectOf("")}`,
  );
  assert.ok(bomb.some((error) => error.startsWith("E0005")));
  assert.deepEqual(await errorsOf(t, endpoint("        stages: &s [*s]\n")), ["E0005 10:21 "]);
  assert.deepEqual((await errorsOf(t, endpoint("        prompt: *none\n")))[0]?.slice(0, 11), "E0005 10:17");
});

test("merge keys are explained", async (t) => {
  const folder = folderOf(t, { "gateway.config.yaml": endpoint("        <<: { top_p: 1 }\n") });
  const { errors } = await folder.load();
  assert.deepEqual(
    errors.map(({ code }) => code),
    ["E0101"],
  );
  assert.match(errors[0]?.help ?? "", /endpoint_defaults/);
});

test("text nested a hundred thousand deep is refused, not a crash", async (t) => {
  const errors = await errorsOf(t, `version: 1\nprojects: ${"[".repeat(100_000)}`);
  assert.equal(errors.length, 1);
  assert.match(errors[0] ?? "", /^E0002/);
});
