// docs/behavior.md: every requirement with the tests that verify it, read from test/spec/requirements and the tests' text.
import { readdirSync, readFileSync } from "node:fs";
import { verificationsOf } from "../test/spec/coverage.ts";
import { AREAS } from "../test/spec/requirements.ts";

const TESTS = new URL("../test/", import.meta.url);

export function behaviorPage(written: string): string {
  const tests = testsById();
  const areas = AREAS.map(({ title, requirements }) => {
    const rows = Object.entries(requirements).map(
      ([id, behavior]) =>
        `| \`${id}\` | ${cell(behavior)} | ${(tests.get(id) ?? []).map(cell).join("<br>")} |`,
    );
    return `## ${title}\n\n| Requirement | Behavior | Verified by |\n|---|---|---|\n${rows.join("\n")}\n`;
  });
  return `${written}

# Behavior

What Sluice does, one sentence for each requirement, and the tests that verify it: file (in test/) and name of the test. Comments
in the code refer to requirements by their ids. A requirement without a test fails \`npm test\`.

${areas.join("\n")}`;
}

/** Requirement id -> its tests, by file. */
function testsById(): ReadonlyMap<string, readonly string[]> {
  const tests = new Map<string, string[]>();
  const files = readdirSync(TESTS, { recursive: true, encoding: "utf8" }).map((file) =>
    file.replaceAll("\\", "/"),
  );
  for (const file of files
    .filter((name) => name.endsWith(".test.ts") && !name.endsWith("coverage.test.ts"))
    .sort()) {
    for (const { ids, sentence } of verificationsOf(readFileSync(new URL(file, TESTS), "utf8"))) {
      for (const id of ids) {
        const list = tests.get(id) ?? [];
        list.push(`\`${file}\`: ${sentence.replace(/\$\{[^}]*\}/g, "…")}`);
        tests.set(id, list);
      }
    }
  }
  return tests;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
