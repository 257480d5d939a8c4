/** docs/testing.md: every example in it runs, and every key of test files is explained. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { answerKeys, callKeys } from "../../src/config-tests/schema/call.ts";
import { expectKeys } from "../../src/config-tests/schema/expect.ts";
import { caseSchema, testFileSchema } from "../../src/config-tests/schema/file.ts";
import { matcherKeys } from "../../src/config-tests/schema/forms.ts";
import { givenSchema } from "../../src/config-tests/schema/given.ts";
import { reportOf, testFolder } from "./kit.ts";

const GUIDE = readFileSync(new URL("../../docs/testing.md", import.meta.url), "utf8");

const blocks = (kind: string): readonly string[] =>
  [...GUIDE.matchAll(/^```yaml (\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, of, text = ""]) =>
    of === kind ? [text] : [],
  );

test("every example of the guide passes", async (t) => {
  const [config = ""] = blocks("config");
  const examples = blocks("test");
  assert.ok(examples.length >= 7);
  const folder = testFolder(t, {
    "gateway.config.yaml": config,
    "gateway.test.yaml": examples.join("---\n"),
  });
  const ran = await folder.run(["--output", "json"]);
  const failed = reportOf(ran).cases?.filter(({ ok }) => !ok);
  assert.deepEqual(failed, [], ran.stdout);
});

test("every key of test files is explained in the guide", () => {
  const keys = [testFileSchema, caseSchema, givenSchema].flatMap(({ properties }) => Object.keys(properties));
  const all = [...keys, ...Object.keys({ ...callKeys, ...answerKeys, ...expectKeys, ...matcherKeys })];
  for (const key of new Set(all)) assert.match(GUIDE, new RegExp(`\\b${key}\\b`), key);
});
