/** What differs between two configurations, before any rule says what it means. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { changesBetween, type ObjectChange } from "../../src/plan/changes.ts";
import type { Side } from "../../src/plan/side.ts";
import { type Folder, folderOf, projectOf } from "../config/kit.ts";

const BASE = `    credentials:
      - { name: main, provider: openai, api_key: "\${env:KEY}" }
    endpoint_defaults: { provider: openai, model: gpt-5-mini, credential: main, temperature: 0.5 }
    endpoints:
      - { name: One }
      - { name: Two, temperature: 1 }
`;

async function sideOf(folder: Folder, name: string): Promise<Side> {
  const { shown, config, hash, errors } = await folder.load({ secrets: "keep", shows: true });
  assert.deepEqual(errors, []);
  assert.ok(shown !== undefined && config !== undefined);
  return { name, hash, revision: null, shown, config };
}

async function between(t: TestContext, before: string, after: string): Promise<readonly ObjectChange[]> {
  const [from, to] = [before, after].map((body) => folderOf(t, { "gateway.config.yaml": projectOf(body) }));
  assert.ok(from !== undefined && to !== undefined);
  return changesBetween(await sideOf(from, "before"), await sideOf(to, "after"));
}

const brief = ({ ref, before, after, isMoved, fields }: ObjectChange): string => {
  const what = before === undefined ? "add" : after === undefined ? "remove" : isMoved ? "move" : "change";
  const shown = fields.map(({ key, before: was, after: is }) => ` ${key} ${String(was)} -> ${String(is)}`);
  return `${what} ${ref.kind} ${ref.project ?? "-"}/${ref.name}${shown.join("")}`;
};

test("two equal configurations have no changes, whatever the order of their lists", async (t) => {
  const [head = "", one = "", two = ""] = BASE.split(/(?=^ {6}- \{ name: (?:One|Two))/m);
  assert.deepEqual(await between(t, BASE, head + two + one), []);
});

test("a value that endpoints inherit is a change of each, and says where it is written", async (t) => {
  const changes = await between(t, BASE, BASE.replace("temperature: 0.5", "temperature: 0.7"));
  assert.deepEqual(changes.map(brief), ["change endpoint support/one temperature 0.5 -> 0.7"]);
  const [field] = changes[0]?.fields ?? [];
  assert.equal(field?.to?.path, "projects[0].endpoint_defaults.temperature");
  assert.equal(field?.to?.at.line, 8);
});

test("objects are matched by identity: an endpoint of another name is another one", async (t) => {
  const changes = await between(t, BASE, BASE.replace("name: Two", "name: Three"));
  assert.deepEqual(changes.map(brief), ["add endpoint support/three", "remove endpoint support/two"]);
});

test("a reference is compared as it is written", async (t) => {
  const changes = await between(t, BASE, BASE.replace("env:KEY", "env:OTHER"));
  assert.deepEqual(changes.map(brief), ["change credential support/main api_key ${env:KEY} -> ${env:OTHER}"]);
});
