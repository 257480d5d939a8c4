/** Holds the messages of broken configurations to those that were read and graded. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import type { Diagnostic } from "../../src/config/report/diagnostic.ts";
import { renderText } from "../../src/config/report/render.ts";
import { pluginLoader } from "../../src/gateway/load.ts";
import { type BrokenCase, brokenCases, type GradedMessage, gradedMessages, MESSAGES } from "./broken.ts";
import { type Folder, folderOf } from "./kit.ts";

const cases = brokenCases();
const env = { KEY: "sk-hidden-0001" };

interface Outcome {
  readonly folder: Folder;
  readonly errors: readonly Diagnostic[];
}

async function outcomeOf(t: TestContext, { files, hasOverlay }: BrokenCase): Promise<Outcome> {
  const folder = folderOf(t, files);
  return { folder, errors: (await load(folder, hasOverlay)).errors };
}

function load(folder: Folder, hasOverlay: boolean) {
  return folder.load({ env, overlays: hasOverlay ? [folder.path("overlay.yaml")] : [] }, pluginLoader);
}

/** Folders of tests have random names. */
function shown({ folder, errors }: Outcome): string {
  return renderText(errors, false, folder.path(".")).replaceAll(folder.path("."), "/config");
}

test("the messages of broken configurations are those that were graded, at the places that are wrong", async (t) => {
  assert.ok(cases.length >= 90);
  assert.equal(new Set(cases.map(({ name }) => name)).size, cases.length);
  const isUpdate = process.env["UPDATE_MESSAGES"] === "1";
  const graded = gradedMessages();
  const sections: string[] = [];
  for (const one of cases) {
    const outcome = await outcomeOf(t, one);
    const { folder, errors } = outcome;
    const text = shown(outcome);
    const known = graded.get(one.name);
    if (isUpdate) {
      sections.push(section(one.name, text, known));
      continue;
    }
    assert.equal(text, known?.text, one.name);
    assert.ok(
      errors.some(({ file, line, column }) =>
        [folder.path(one.at.file), one.at.line, one.at.column].every(
          (value, at) => value === [file, line, column][at],
        ),
      ),
      `${one.name}: nothing at ${one.at.file}:${one.at.line}:${one.at.column}\n${text}`,
    );
  }
  if (isUpdate) writeFileSync(MESSAGES, `${HEAD}\n${sections.join("\n")}`);
  else
    assert.deepEqual(
      [...graded.keys()],
      cases.map(({ name }) => name),
    );
});

const HEAD = `# Messages of broken configurations

Grades: 3, less one for each of position (the piece to change), cause, what to do, and a suggestion where there is one
right replacement. \`UPDATE_MESSAGES=1 npm test -- test/config/broken.test.ts\` writes the messages anew and keeps the
grades, which are to be read again then.
`;

function section(name: string, text: string, known: GradedMessage | undefined): string {
  const { grade = 0, reasons = "not graded" } = known ?? {};
  return `## ${name}\n\nGrade ${grade}: ${reasons}\n\n~~~\n${text}~~~\n`;
}

test("graded messages say what to do, in one diagnostic, and none is useless", () => {
  const graded = [...gradedMessages()];
  const mean = graded.reduce((sum, [, { grade }]) => sum + grade, 0) / graded.length;
  assert.ok(mean >= 2.7, `the mean grade is ${mean.toFixed(2)}`);
  for (const [name, { grade, reasons, text }] of graded) {
    assert.ok(grade >= 1 && grade <= 3, name);
    assert.match(reasons, /position .*; cause .*; action .*; suggestion /, name);
    if (grade < 3) continue;
    assert.match(text, /\n1 error\n$/, `${name}: more than one diagnostic is not a 3`);
    assert.match(
      text,
      /help: |must |missing |begins with |write the value without|make it with |put it under /,
      `${name}: a 3 says what to do`,
    );
  }
});

test("a suggestion, written in place of what is marked, removes the error", async (t) => {
  let applied = 0;
  for (const one of cases) {
    const { folder, errors } = await outcomeOf(t, one);
    const [error] = errors;
    const { suggestion, end } = error ?? {};
    if (error === undefined || suggestion === undefined || end === undefined) continue;
    const name = error.file.slice(folder.path(".").length + 1);
    const lines = (one.files[name] ?? "").split("\n");
    const line = lines[error.line - 1] ?? "";
    assert.equal(end.line, error.line, one.name);
    lines[error.line - 1] = line.slice(0, error.column - 1) + suggestion + line.slice(end.column - 1);
    folder.write({ [name]: lines.join("\n") });
    const after = await load(folder, one.hasOverlay);
    const remains = after.errors.some(
      ({ code, path, line: at }) => code === error.code && path === error.path && at === error.line,
    );
    assert.ok(!remains, `${one.name}: ${suggestion}`);
    applied += 1;
  }
  assert.ok(applied >= 30, `${applied} suggestions`);
});
