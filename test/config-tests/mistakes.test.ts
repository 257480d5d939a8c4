/** Mistakes in test files: found before anything runs, each at its place. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { verifies } from "../spec/verifies.ts";
import { CONFIG, testFolder, WRAPPER } from "./kit.ts";

/** Errors as `file:line:column code message -> suggestion`. */
async function mistakes(
  t: Parameters<typeof testFolder>[0],
  text: string,
  config = CONFIG,
): Promise<readonly string[]> {
  const folder = testFolder(t, { "gateway.config.yaml": config, "a.test.yaml": text });
  const { code, stdout } = await folder.run(["--output", "json"]);
  assert.equal(code, 1, stdout);
  const { errors }: { errors: Record<string, unknown>[] } = JSON.parse(stdout);
  return errors.map(({ code: id, line, column, message, suggestion }) => {
    return `${line}:${column} ${id} ${message}${suggestion === null ? "" : ` -> ${suggestion}`}`;
  });
}

verifies("tests.mistakes", "mistakes of shape are found with frames, suggestions and synonyms", async (t) => {
  const found = await mistakes(
    t,
    `tests:
  - name: a
    call: { endpont: triage, message: hi }
    expct: { status: 200 }
  - name: b
    call: { endpoint: triage, message: hi }
    provider: { reply: hi, status: 500 }
    expect: { status: ok, content: { matchs: x }, body: { a: { matches: "(?=x)" } } }
  - name: c
    request: { endpoint: triage }
    call: { endpoint: triage }
    assert: { status: 200 }
  - name: d
    steps:
      - { advance: 5 }
      - { expect: { status: 200 } }
  - name: d
    call: { endpoint: triage, message: hi }
    http: { path: / }
`,
  );
  assert.deepEqual(found, [
    "3:13 E0501 the call names no endpoint, alias, tool or proxy -> endpoint",
    "4:5 E0101 unknown key `expct` -> expect",
    "7:28 E0501 `status` cannot stand beside `reply`",
    '8:23 E0105 status is "ok": must be a number, a matcher such as {max: 5}, or a placeholder',
    "8:38 E0101 unknown key `matchs` -> matches",
    "8:73 E0504 the pattern cannot be used: look-around `(?=` is not supported",
    "10:5 E0101 unknown key `request` -> call",
    "12:5 E0101 unknown key `assert` -> expect",
    "15:20 E0103 advance is 5: must be a string",
    "16:9 E0501 the step makes no call",
    '17:11 E0307 case "d" exists already at a.test.yaml:13:5',
    "19:5 E0501 `call` and `http` exclude each other",
  ]);
});

verifies("tests.mistakes", "a mistake is printed with its line and a mark under it", async (t) => {
  const folder = testFolder(t, {
    "gateway.config.yaml": CONFIG,
    "a.test.yaml":
      "tests:\n  - name: a\n    call: { endpoint: triage, message: hi }\n    expect: { staus: 200 }\n",
  });
  const { code, stdout } = await folder.run();
  assert.equal(code, 1);
  assert.equal(
    stdout,
    `error[E0101]: unknown key \`staus\`
 --> a.test.yaml:4:15
  |
4 |     expect: { staus: 200 }
  |               ^^^^^
  = at: tests[0].expect.staus
  = help: did you mean \`status\`?

1 error
`,
  );
});

verifies(
  ["tests.mistakes", "tests.rows"],
  "placeholders must be keys of every row, saved before, or facts; a row's value of a wrong type is found in its row",
  async (t) => {
    const found = await mistakes(
      t,
      `tests:
  - name: a
    each: [{ text: a, status: x }, { text: b, status: 200, other: 1 }]
    call: { endpoint: triage, message: "{{txt}} {{other}} {{project.name}}" }
    expect: { status: "{{status}}" }
  - name: b
    steps:
      - { call: { endpoint: triage, message: "{{later}}" } }
      - { call: { endpoint: triage, message: hi }, save: { later: session_id } }
      - { call: { endpoint: triage, message: "{{later}} \\\\{{kept}}" } }
`,
    );
    assert.deepEqual(found, [
      '3:31 E0105 status is "x": must be a number, a matcher such as {max: 5}, or a placeholder',
      "4:40 E0503 unknown placeholder `{{txt}}`",
      "4:40 E0503 unknown placeholder `{{other}}`",
      "8:46 E0503 unknown placeholder `{{later}}`",
    ]);
  },
);

test("what is given holds no placeholders but those of rows, amounts are plain, and circuits are those of targets", async (t) => {
  const found = await mistakes(
    t,
    `tests:
  - name: "{{token}}"
    given: { spent_usd: [{ endpoint: summarise, amount: "{{project.id}}" }] }
    call: { endpoint: summarise, message: hi }
  - name: b
    each: [{ amount: 5 }, { amount: many }, { amount: -1 }]
    given: { spent_usd: [{ endpoint: summarise, amount: "{{amount}}" }] }
    call: { endpoint: summarise, message: hi }
`,
  );
  assert.deepEqual(found, [
    "2:11 E0503 unknown placeholder `{{token}}`",
    "3:57 E0503 unknown placeholder `{{project.id}}`",
    '6:37 E0105 amount is "many": must be a plain decimal, such as 12 or 0.002',
    "6:55 E0107 amount is -1: must be from 0 to 9000000",
  ]);
  const circuits =
    "tests:\n  - { name: a, given: { circuits: { open: [openai-main/gpt-5] } }, call: { endpoint: triage, message: hi } }\n";
  assert.deepEqual(await mistakes(t, circuits), [
    '2:44 E0502 nothing uses "gpt-5" with credential "openai-main" -> openai-main/gpt-5-mini',
  ]);
});

verifies(
  "tests.names",
  "names that the configuration lacks are found with the nearest known one",
  async (t) => {
    const found = await mistakes(
      t,
      `defaults: { project: Suport, token: web }
tests:
  - name: a
    call: { endpoint: sumarise, message: hi, project: Support }
  - name: b
    call: { endpoint: triage, message: hi, token: wep, project: Support }
  - name: c
    given: { spent_usd: [{ endpoint: trage, project: Support, amount: 1 }], tokens: { revoked: [nobody] }, circuits: { open: [openai-man] } }
    call: { endpoint: summarise, message: hi, project: Support }
    expect:
      guardrails: { pi: mask, "pii[2]": pass }
      attempts: [{ openai-main/gpt-5-mni: ok }]
      sent: { target: openai-spare/gpt-5 }
`,
    );
    assert.deepEqual(found, [
      '1:22 E0502 there is no project "Suport" -> Support',
      '4:23 E0502 project "Support" has no endpoint "sumarise" -> summarise',
      '6:51 E0502 project "Support" has no token "wep" -> web',
      '8:38 E0502 project "Support" has no endpoint "trage" -> triage',
      '8:97 E0502 there is no project "Suport" -> Support',
      '8:127 E0502 no project has a credential "openai-man" -> openai-main',
      '11:21 E0502 endpoint "summarise" has no guardrail "pi" -> pii',
      '11:31 E0502 endpoint "summarise" uses pii once',
      '12:20 E0502 endpoint "summarise" has no target "openai-main/gpt-5-mni" -> openai-main/gpt-5-mini',
      '13:23 E0502 endpoint "summarise" has no target "openai-spare/gpt-5" -> openai-spare/gpt-5-nano',
    ]);
  },
);

verifies("tests.names", "a fact of a project needs one, where the configuration has several", async (t) => {
  const second = WRAPPER.replace(/^version: 1\nprojects:\n/, "")
    .replace("id: web", "id: other")
    .replace(/a{64}/, "c".repeat(64));
  const http = 'http: { path: "/api/{{project.uuid}}/triage", body: { message: hi } }';
  assert.deepEqual(await mistakes(t, `tests:\n  - name: a\n    ${http}\n`, CONFIG + second), [
    "3:19 E0502 `{{project.uuid}}` is of no project, since the configuration has several",
  ]);
  const files = {
    "gateway.config.yaml": CONFIG + second,
    "a.test.yaml": `defaults: { project: Support }\ntests:\n  - name: a\n    ${http}\n    expect: { status: 200 }\n`,
  };
  const { code, stdout } = await testFolder(t, files).run();
  assert.equal(code, 0, stdout);
});

verifies("tests.mistakes", "a configuration with errors is reported once, and nothing runs", async (t) => {
  const cases = "tests:\n  - { name: a, call: { endpoint: triage, message: hi } }\n";
  const folder = testFolder(t, {
    "gateway.config.yaml": CONFIG.replace("type: ai_gateway", "type: ai_gatewya"),
    "a.test.yaml": cases,
    "b.test.yaml": cases,
  });
  const { code, stdout } = await folder.run();
  assert.equal(code, 1);
  assert.match(stdout, /^error\[E0104\].*\n --> gateway\.config\.yaml:5:11\n/);
  assert.match(stdout, /\n1 error\n$/);
});

test("a test file without a configuration, that cannot be read, or without cases says so", async (t) => {
  const cases = "tests:\n  - { name: a, call: { endpoint: triage, message: hi } }\n";
  const folder = testFolder(t, { "sub/a.test.yaml": cases, "sub/empty.test.yaml": "# nothing\n" });
  const alone = await folder.run(["sub/a.test.yaml"]);
  assert.equal(alone.code, 1);
  assert.match(alone.stdout, /no gateway\.config\.yaml stands in the folder of this file or above it/);
  const missing = await folder.run(["none.test.yaml"]);
  assert.equal(missing.code, 1);
  assert.match(missing.stdout, /none\.test\.yaml does not exist/);
  const empty = await folder.run(["sub/empty.test.yaml"]);
  assert.equal(empty.code, 1);
  assert.match(empty.stdout, /the file holds no test cases/);
});

test("a misspelled key of a call is a warning, since other keys go into the body", async (t) => {
  const folder = testFolder(t, {
    "gateway.config.yaml": CONFIG,
    "a.test.yaml": "tests:\n  - { name: a, call: { endpoint: triage, message: hi, sesion_id: x } }\n",
  });
  const { code, stderr } = await folder.run();
  assert.equal(code, 0);
  assert.match(stderr, /^warning\[W0501\]: `sesion_id` goes into the body as it is/);
  assert.match(stderr, /did you mean `session_id`\?/);
});
