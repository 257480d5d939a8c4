/** One mistake in the layout of a file is one diagnostic: at the thing to change, saying what to do. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Diagnostic } from "../../src/config/report/diagnostic.ts";
import { folderOf, projectOf } from "./kit.ts";

const HEAD = projectOf("");

async function diagnosticsOf(
  t: Parameters<typeof folderOf>[0],
  text: string,
): Promise<readonly Diagnostic[]> {
  const { errors } = await folderOf(t, { "gateway.config.yaml": text }).load();
  return errors;
}

/** The only diagnostic: `line:column message`. */
async function cause(t: Parameters<typeof folderOf>[0], text: string): Promise<string> {
  const errors = await diagnosticsOf(t, text);
  assert.deepEqual(errors.map(({ code, message }) => [code, message]).slice(1), [], text);
  const [error] = errors;
  assert.equal(error?.code, "E0002", text);
  return `${error?.line}:${error?.column} ${error?.message}`;
}

const ENDPOINTS = `    endpoints:
      - name: A
        provider: mock
        model: m
      - name: B
        provider: mock
        model: m
`;

test("a line that is indented wrong is reported with the indentation of its siblings", async (t) => {
  const file = HEAD + ENDPOINTS;
  const cases: readonly (readonly [from: string, to: string, told: string])[] = [
    [
      "        model: m\n      - name: B",
      "         model: m\n      - name: B",
      "9:10 wrong indentation: indented 9, its siblings 8",
    ],
    [
      "        model: m\n      - name: B",
      "       model: m\n      - name: B",
      "9:8 wrong indentation: indented 7, its siblings 8",
    ],
    ["      - name: B", "     - name: B", "10:6 wrong indentation: indented 5, its siblings 6"],
    ["    name: Support", "   name: Support", "4:4 wrong indentation: indented 3, its siblings 4"],
    ["    name: Support", "      name: Support", "4:7 wrong indentation: indented 6, its siblings 4"],
    ["      - name: B", "        - name: B", "10:9 expected a key, found an entry of a list"],
    ["      - name: B", "        name: B", ""],
  ];
  for (const [from, to, told] of cases) {
    if (told !== "")
      assert.equal(
        await cause(
          t,
          file.replace(from, () => to),
        ),
        told,
        to,
      );
  }
});

test("a missing dash or colon is named", async (t) => {
  const file = HEAD + ENDPOINTS;
  const cases: readonly (readonly [from: string, to: string, told: string])[] = [
    ["      - name: B", "      name: B", "10:7 expected an entry of the list, found a key"],
    ["        provider: mock", "        provider mock", "8:9 a `:` is missing after `provider`"],
    ["        provider: mock", "        provider:mock", "8:9 a blank is missing after the `:` of `provider`"],
    ["      - name: B", "      -name: B", "10:7 a blank is missing after the `-`"],
    ["    endpoints:\n", "    endpoints\n", "6:5 a `:` is missing after `endpoints`"],
    [
      "        model: m",
      "        prompt: |\n          one\n         two\n        model: m",
      "11:10 wrong indentation: indented 9, the first line of this block text 10",
    ],
    ["        model: m", "        model: - m", "9:16 a list cannot begin on the line of its key"],
  ];
  for (const [from, to, told] of cases)
    assert.equal(
      await cause(
        t,
        file.replace(from, () => to),
      ),
      told,
      to,
    );
});

test("a bracket or quote that is not closed is reported where it opens", async (t) => {
  const endpoint = (text: string) =>
    `${HEAD}    endpoints:\n      - ${text}\n      - { name: B, provider: mock, model: m }\n`;
  const cases: readonly (readonly [text: string, told: string])[] = [
    [endpoint("{ name: A, provider: mock, model: m"), "7:9 this `{` is not closed"],
    [endpoint("{ name: A, failover: [ , model: m }"), "7:30 this `[` is not closed: `}` comes first"],
    [
      endpoint("{ name: A, provider: mock, model: m\n        temperature: 1 }"),
      "7:9 this `{` is not closed, or a `,` is missing at the end of a line",
    ],
    [endpoint("{ name: A provider: mock, model: m }"), "7:19 a `,` is missing before this key"],
    [endpoint("{ name: A, model: m }}"), "7:30 this `}` closes nothing"],
    [endpoint('{ name: "A, provider: mock, model: m }'), '7:17 this `"` is not closed'],
    [`${HEAD}    endpoints: [\n`, "6:16 this `[` is not closed"],
    [endpoint("name: A\n        model: ]"), "8:16 this `]` closes nothing"],
    [endpoint("name: A\n        prompt: 'it's'"), "8:21 nothing may follow the end of the value on its line"],
    [endpoint('name: A\n        prompt: "open'), '8:17 this `"` is not closed'],
    ['{\n  "version": 1,\n  "projects": []\n', "1:1 this `{` is not closed"],
    [
      '{\n  "version": 1\n  "projects": []\n}\n',
      "1:1 this `{` is not closed, or a `,` is missing at the end of a line",
    ],
  ];
  for (const [text, told] of cases) assert.equal(await cause(t, text), told, text);
});

test("values that need quotes are suggested with them, unless they may be secrets", async (t) => {
  const endpoint = (line: string) =>
    `${HEAD}    endpoints:\n      - name: A\n        ${line}\n        provider: mock\n        model: m\n`;
  const [colon] = await diagnosticsOf(t, endpoint("description: Note: be brief"));
  assert.deepEqual([colon?.line, colon?.column, colon?.suggestion], [8, 22, '"Note: be brief"']);
  const [at] = await diagnosticsOf(t, endpoint("description: @team"));
  assert.deepEqual([at?.line, at?.column, at?.suggestion], [8, 22, '"@team"']);
  const secret = `${HEAD}    credentials:\n      - name: a\n        api_key: abcd: efgh\n        provider: mock\n`;
  const [hidden] = await diagnosticsOf(t, secret);
  assert.equal(hidden?.suggestion, undefined);
  assert.ok(!JSON.stringify(hidden).includes("efgh"));
});

test("merge conflicts are called that", async (t) => {
  const file = `${HEAD}    endpoints:
      - name: A
<<<<<<< HEAD
        model: m
=======
        model: n
>>>>>>> theirs
        provider: mock
`;
  assert.equal(await cause(t, file), "8:1 unresolved merge conflict in lines 8 to 12");
  assert.equal(
    await cause(t, `${file}<<<<<<< HEAD\n`),
    "8:1 unresolved merge conflict in lines 8 to 12, and 1 more below",
  );
});

test("a tab as indentation is one mistake, however many lines have one", async (t) => {
  const file = `${HEAD}    endpoints:\n\t\t- name: A\n\t\t  provider: mock\n\t\t  model: m\n`;
  assert.equal(await cause(t, file), "7:1 a tab is used as indentation");
});

test("texts, comments and nested lists are no mistakes, whatever is in them", async (t) => {
  const file = `${HEAD}    endpoints:
      - name: "A: {b}"   # it's {
        prompt: |
          Note: {{input}} [
            - more indented: but text
          "quoted
        description: it's }] one
          two - three
          - four
        user_prompt_template: >-
          {
        failover: [
          # ] }
        ]
        input_schema: { type: object,
          properties: { a: { enum: ['it''s', "\\"{"] } }
        }
        model: &m m
        provider: mock
        top_p 1
`;
  assert.equal(await cause(t, file), "25:9 a `:` is missing after `top_p`");
});

test("a mistake in a large file is found in time that grows with the file", async (t) => {
  const lines = Array.from(
    { length: 40_000 },
    (_, index) => `      - { name: "A ${index}", provider: mock, model: m }`,
  );
  const file = `${HEAD}    endpoints:\n${lines.join("\n")}\n     - { name: Z, provider: mock, model: m }\n`;
  assert.equal(await cause(t, file), "40007:6 wrong indentation: indented 5, its siblings 6");
});
