/** Plugins whose code does not parse: reported in their own file, with the line. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pluginLoader } from "../../src/gateway/load.ts";
import { folderOf, projectOf } from "./kit.ts";

test("a plugin that does not parse is reported at the line and column of its file", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": `plugins:\n  - ./tone.ts\n  - ./audit.js\n  - ./whole.ts\n${projectOf("")}`,
    "tone.ts": "export const a = 1;\nexport default const tone = ;\n",
    "audit.js": "export const a = 1;\n\nexport default { name: };\n",
    "whole.ts": 'import { a } from "./part.ts";\nexport default a;\n',
    "part.ts": "export const a = (1;\n",
  });
  const { errors } = await folder.load({}, pluginLoader);
  assert.deepEqual(
    errors.map(({ code, file, line, column, path }) => [code, file, line, column, path]),
    [
      ["E0316", folder.path("audit.js"), 3, 24, "plugins[1]"],
      ["E0316", folder.path("part.ts"), 1, 20, "plugins[2]"],
      ["E0316", folder.path("tone.ts"), 2, 16, "plugins[0]"],
    ],
  );
  for (const { message, help, frame } of errors) {
    assert.match(message, /^plugin `\.\/\w+\.[jt]s` does not parse: .*(?:Unexpected|Expected) /);
    assert.match(help ?? "", /^the plugin is named at .*gateway\.config\.yaml:\d:5$/);
    assert.ok(frame !== undefined && frame.text.length > 0);
  }
});

test("what a plugin throws while it loads is reported where it is named", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": `plugins: [./tone.ts]\n${projectOf("")}`,
    "tone.ts": 'throw new Error("no luck");\n',
  });
  const { errors } = await folder.load({}, pluginLoader);
  assert.deepEqual(
    errors.map(({ file, line, message }) => [file, line, message]),
    [[folder.path("gateway.config.yaml"), 1, "plugin `./tone.ts` cannot be used: no luck"]],
  );
});
