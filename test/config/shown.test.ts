/** What is shown of a configuration: references as written, where values come from, and the hash of it all. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { folderOf, projectOf } from "./kit.ts";

/** What stands at a path, as a map. */
function mapAt(root: unknown, ...path: readonly (string | number)[]): { readonly [key: string]: unknown } {
  return path.reduce<unknown>((at, key) => Reflect.get(Object(at), key), root) as { [key: string]: unknown };
}

const CANARY = "canary-3b1f";

const BODY = `    endpoint_defaults: { temperature: 0.5 }
    credentials:
      - { name: main, provider: openai, api_key: "\${env:KEY}" }
    endpoints:
      - name: Sum Up
        provider: openai
        model: gpt-5-mini
        credential: main
        rate_limit_per_minute: \${env:RPM}
        prompt: "\${file:./prompt.md} For \${env:TEAM}."
`;

const PROVIDERS = `providers:
  openai: { proxy: "http://\${env:USER}:x@proxy.example:3128" }
`;

const FILES = { "gateway.config.yaml": PROVIDERS + projectOf(BODY), "prompt.md": "Be brief.\n" };

for (const secrets of ["keep", "skip", "resolve"] as const) {
  test(`references stay as they are written, and texts of files are filled in (${secrets})`, async (t) => {
    const folder = folderOf(t, FILES);
    const env = { KEY: CANARY, RPM: "12", TEAM: `${CANARY}-team`, USER: CANARY };
    const { shown, errors } = await folder.load({ secrets, env, shows: true });
    assert.deepEqual(errors, []);
    const text = JSON.stringify(shown?.config);
    assert.ok(!text.includes(CANARY), "no value of a variable is in it");
    const endpoint = mapAt(shown?.config, "projects", 0, "endpoints", 0);
    assert.equal(endpoint["prompt"], "Be brief. For ${env:TEAM}.");
    assert.equal(endpoint["rate_limit_per_minute"], "${env:RPM}");
    assert.equal(endpoint["slug"], "sum-up");
    assert.equal(endpoint["temperature"], 0.5);
    const credential = mapAt(shown?.config, "projects", 0, "credentials", 0);
    assert.equal(credential["api_key"], "${env:KEY}");
    const { proxy } = mapAt(shown?.config, "providers", "openai");
    assert.match(String(proxy), /^http:\/\/\$\{env:USER\} fingerprint:\w+@proxy\.example:3128$/);
  });
}

test("a value knows where it was written, inherited ones included; a default stands nowhere", async (t) => {
  const folder = folderOf(t, FILES);
  const { shown } = await folder.load({ secrets: "keep", shows: true });
  const endpoint = ["projects", 0, "endpoints", 0];
  const inherited = shown?.originOf([...endpoint, "temperature"]);
  assert.equal(inherited?.path, "projects[0].endpoint_defaults.temperature");
  assert.equal(
    shown?.originOf([...endpoint, "rate_limit_per_minute"])?.path,
    "projects[0].endpoints[0].rate_limit_per_minute",
  );
  assert.equal(shown?.originOf([...endpoint, "rate_limit_per_hour"]), undefined);
});

test("the hash covers references and texts, and no value of a variable or a secret's file", async (t) => {
  const withSecretFile = PROVIDERS + projectOf(BODY.replace("${env:KEY}", "${file:./key}"));
  const files = { ...FILES, "gateway.config.yaml": withSecretFile, key: "one" };
  const folder = folderOf(t, files);
  const env = { RPM: "12", TEAM: "a", USER: "u" };
  const before = await folder.load({ env });
  const kept = await folder.load({ secrets: "keep" });
  writeFileSync(folder.path("key"), "two");
  const rotated = await folder.load({ env: { ...env, TEAM: "b" } });
  assert.deepEqual([before.errors, kept.errors, rotated.errors], [[], [], []]);
  assert.equal(kept.hash, before.hash);
  assert.equal(rotated.hash, before.hash);
  assert.notEqual(rotated.digest, before.digest, "a rotated secret is a change to load");
  writeFileSync(folder.path("prompt.md"), "Be long.");
  assert.notEqual((await folder.load({ secrets: "keep" })).hash, before.hash);
});
