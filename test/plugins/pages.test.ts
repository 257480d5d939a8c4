/** The pages of plugins: every plugin has one with the same sections, and its YAML examples are valid configurations. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { parse, stringify } from "yaml";
import { pluginFolders, pluginPages } from "../../scripts/plugin-pages.ts";
import { pluginLoader } from "../../src/gateway/load.ts";
import { BUILT_IN } from "../../src/plugins-host/builtin.ts";
import { brief, folderOf, PROJECT_UUID } from "../config/kit.ts";

const ROOT = new URL("../../", import.meta.url);
const pages = [...pluginPages()];

test("every folder of plugins/ has a page, and every page a plugin", () => {
  const paths = pluginFolders().map((name) => `plugins/${name}/README.md`);
  assert.deepEqual(pages.map(([path]) => path).sort(), paths.sort());
  assert.ok(paths.length >= 15);
});

test("a page says what the plugin does, its options or keys, what it catches, its limits, and its cost", () => {
  for (const [path, text] of pages) {
    const titles = [...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    const isGuardrail = text.startsWith("# Guardrail");
    const wanted = isGuardrail
      ? ["Options", "Examples", "What it catches", "What it does not catch", "Cost"]
      : ["Keys", "What it refuses", "Limits", "Cost"];
    assert.deepEqual(
      wanted.filter((title) => !titles.includes(title)),
      [],
      path,
    );
    assert.match(text.split("## Cost")[1] ?? "", /µs|round trip|npm run bench/, path);
    for (const [, link = ""] of text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
      assert.ok(existsSync(new URL(link, new URL(path, ROOT))), `${path} links to ${link}`);
    }
  }
});

const PLACES = {
  project: ["tokens"],
  root: ["log"],
};

/** A configuration that holds the fragment where its keys belong: of the root, of a project, or of an endpoint. */
function configurationWith(fragment: Readonly<Record<string, unknown>>): object {
  const [key = ""] = Object.keys(fragment);
  const endpoint = { name: "Echo", provider: "mock", model: "mock-1", credential: "mock" };
  const isEndpoint = !PLACES.project.includes(key) && !PLACES.root.includes(key);
  return {
    version: 1,
    ...(PLACES.root.includes(key) && fragment),
    projects: [
      {
        uuid: PROJECT_UUID,
        name: "Support",
        type: "ai_gateway",
        credentials: [{ name: "mock", provider: "mock" }],
        ...(PLACES.project.includes(key) && fragment),
        endpoints: [{ ...endpoint, ...(isEndpoint && fragment) }],
      },
    ],
  };
}

test("the YAML of every page is valid where its keys belong", async (t) => {
  let examples = 0;
  for (const [path] of pages) {
    const text = readFileSync(new URL(path, ROOT), "utf8");
    for (const [, yaml = ""] of text.matchAll(/```yaml\n(.*?)```/gs)) {
      examples++;
      const folder = folderOf(t, { "gateway.config.yaml": stringify(configurationWith(parse(yaml))) });
      const { errors, config } = await folder.load({ env: { GUARD_SECRET: "s" } }, pluginLoader);
      assert.deepEqual(errors.map(brief), [], path);
      assert.ok(config !== undefined);
    }
  }
  assert.equal(examples, BUILT_IN.filter(({ kind }) => kind === "stage" || kind === "guardrail").length);
});

test("an example that is not valid is found", async (t) => {
  const fragment = { guardrails: [{ use: "pii", kinds: ["shoe_size"] }] };
  const folder = folderOf(t, { "gateway.config.yaml": stringify(configurationWith(fragment)) });
  assert.notDeepEqual((await folder.load({}, pluginLoader)).errors, []);
});
