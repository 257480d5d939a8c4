/** The whole of a test file, as the documentation shows it: every key at work, on several configurations. */
import assert from "node:assert/strict";
import { verifies } from "../spec/verifies.ts";
import { CONFIG, testFolder, WRAPPER } from "./kit.ts";

const SAMPLE = `config: ./gateway.config.yaml
clock: 2026-11-22T10:00:00Z
env: { OPENAI_API_KEY: any }
defaults: { project: Support, token: web }

tests:
  - name: an e-mail address never reaches the model
    call: { endpoint: summarise, message: "Write to ann@example.org" }
    provider: { reply: "Done.", usage: { prompt: 40, completion: 5 } }
    expect:
      status: 200
      content: Done.
      sent:
        target: openai-main/gpt-5-mini
        messages: [{ role: system, content: { matches: "^You " } }, { role: user, content: { contains: "[EMAIL]" } }]
        excludes: [ann@example.org]
      guardrails: { pii: mask, prompt_injection: pass }
      cost_usd: { max: 0.001 }
  - name: the spare takes over
    call: { endpoint: summarise, message: hi }
    provider: [{ status: 503 }, { reply: ok }]
    expect: { status: 200, attempts: [{ openai-main/gpt-5-mini: 503 }, { openai-spare/gpt-5-nano: ok }] }
  - name: a mask holds across chunks
    call: { endpoint: summarise, message: hi, stream: true }
    provider: { chunks: ["mail ann@exa", "mple.org now"] }
    expect: { content: "mail [EMAIL] now" }
  - name: the month's money ends
    given: { spent_usd: [{ endpoint: summarise, amount: 199.9999 }] }
    call: { endpoint: summarise, message: hi }
    expect: { status: 402, error: { contains: "monthly budget" }, stage: budget, attempts: [] }
  - name: two a minute, and a conversation
    steps:
      - { call: { endpoint: triage, message: hi }, repeat: 2, expect: { status: 200 }, save: { session: session_id } }
      - { call: { endpoint: triage, message: hi }, expect: { status: 429, retry_after: { max: 60 } } }
      - { advance: 61s }
      - { call: { endpoint: triage, message: again, session_id: "{{session}}" }, expect: { status: 200 } }
  - name: card numbers
    each: [{ text: "4111 1111 1111 1111", status: 422 }, { text: "4111 1111 1111 1112", status: 200 }]
    call: { endpoint: triage, message: "{{text}}" }
    expect: { status: "{{status}}" }
---
config: ./wrapper.config.yaml
tests:
  - name: a client's own bytes
    http: { method: POST, path: "/api/{{project.uuid}}/v1/chat/completions", body: ./cases/openai.json }
    expect: { status: 200, snapshot: ./cases/openai.answer.json }
`;

verifies(
  ["tests.cases", "tests.documents"],
  "a file of two documents runs each against its own configuration, with every key at work",
  async (t) => {
    const folder = testFolder(t, {
      "gateway.config.yaml": CONFIG,
      "wrapper.config.yaml": WRAPPER,
      "cases/openai.json": '{"model":"default","messages":[{"role":"user","content":"hi"}]}',
      "gateway.test.yaml": SAMPLE,
    });
    const first = await folder.run();
    assert.match(first.stdout, /openai\.answer\.json does not exist; `sluice test --update`\s+writes it/);
    assert.match(first.stdout, /\n7 passed, 1 failed\n$/);
    assert.equal(first.code, 3);
    assert.deepEqual(await folder.run(["--update"]).then(({ code }) => code), 0);
    const { code, stdout, stderr } = await folder.run();
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    assert.match(stdout, /^ok {2}gateway\.test\.yaml {2}8 passed {2}\S+ m?s\n\n8 passed, 0 failed\n$/);
  },
);

verifies(
  "tests.snapshot",
  "a snapshot holds the body without ids and times, and a changed body fails at its line",
  async (t) => {
    const folder = testFolder(t, {
      "gateway.config.yaml": CONFIG,
      "a.test.yaml": `tests:
  - name: same
    call: { endpoint: summarise, message: hi }
    provider: { reply: first }
    expect: { snapshot: snapshots/same.json }
`,
    });
    const updated = await folder.run(["--update", "--mutate", "--run", "same"]);
    assert.match(updated.stdout, /snapshot written: snapshots\/same\.json/);
    assert.match(updated.stdout, /no test fails without pii on/, "mutations see what was written");
    const written = folder.read("snapshots/same.json");
    assert.match(written, /"id": "<id>"/);
    assert.match(written, /"request_id": "<id>"/);
    assert.match(written, /"content": "first"/);
    assert.equal((await folder.run()).code, 0);
    folder.write({ "a.test.yaml": folder.read("a.test.yaml").replace("reply: first", "reply: second") });
    const { code, stdout } = await folder.run();
    assert.equal(code, 3);
    assert.match(stdout, /5 {2}snapshot.*"content": "first".*"content": "second"/);
    assert.equal(folder.read("snapshots/same.json"), written, "nothing is written without --update");
  },
);

verifies("tests.snapshot", "a snapshot is never written outside the root", async (t) => {
  const folder = testFolder(t, {
    "gateway/gateway.config.yaml": CONFIG,
    "gateway/a.test.yaml": `tests:
  - name: escapes
    call: { endpoint: summarise, message: hi }
    expect: { snapshot: ../../outside.json }
`,
  });
  const { code, stdout } = await folder.run(["gateway/a.test.yaml", "--update"]);
  assert.equal(code, 3);
  assert.match(stdout, /snapshot: \.\.\/\.\.\/outside\.json is outside the root folder/);
});
