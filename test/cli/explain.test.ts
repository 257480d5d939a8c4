/** `sluice explain`: what each stage decides, where that is configured, and what is never shown. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Detail, Explanation, StageExplanation } from "../../src/offline/explain/explanation.ts";
import { SUPPORT } from "../offline/kit.ts";
import { verifies } from "../spec/verifies.ts";
import { deskWith } from "./explain-kit.ts";

const UUID = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f701";
const FILES = { "gateway.config.yaml": SUPPORT };
const SUMMARISE = ["--endpoint", "support/summarise"];

function stageOf({ stages }: Explanation, name: string): StageExplanation {
  const found = stages.find(({ stage }) => stage === name);
  assert.ok(found !== undefined, name);
  return found;
}

function detailOf(stage: StageExplanation, name: string): Detail {
  const found = stage.details.find((detail) => detail.name === name);
  assert.ok(found !== undefined, `${stage.stage} has ${stage.details.map((one) => one.name).join(", ")}`);
  return found;
}

/** The line of the configuration that holds this text, as places name it. */
function lineWith(text: string, yaml = SUPPORT): string {
  const at = yaml.split("\n").findIndex((line) => line.includes(text));
  assert.ok(at >= 0, text);
  return `gateway.config.yaml:${at + 1}:`;
}

verifies("explain.stages", "each stage has a line with what decided it, in text as in JSON", async (t) => {
  const desk = deskWith(t, FILES);
  const message = ["--message", "Write to ann@example.org"];
  const explanation = await desk.explained(...SUMMARISE, ...message);
  assert.deepEqual(
    explanation.stages.map(({ stage, outcome }) => [stage, outcome]),
    [
      ["authenticate", "ok"],
      ["limit", "none"],
      ["budget", "ok"],
      ["guard", "acted"],
      ["validate", "none"],
      ["prepare", "ok"],
      ["call", "ok"],
    ],
  );
  assert.equal(explanation.outcome.refused_at, null);
  const { code, stdout } = await desk.run([...SUMMARISE, ...message]);
  assert.equal(code, 0);
  assert.ok(!stdout.includes("\u001b"), "no colors in a pipe");
  for (const { stage, summary, details } of explanation.stages) {
    assert.match(stdout, new RegExp(`^  ${stage} `, "m"));
    assert.ok(stdout.replace(/\s+/g, " ").includes(summary.replace(/\s+/g, " ")), summary);
    for (const { name, at } of details) {
      assert.ok(stdout.includes(name), name);
      if (at !== null) assert.ok(stdout.includes(at), at);
    }
  }
  assert.match(
    stdout,
    /\nAdmitted: openai-main\/gpt-5-mini is asked, then 1 failover entry; pii masks;\n\$0\.0555 reserved\.\n$/,
  );
  for (const line of stdout.split("\n")) assert.ok(line.length <= 80, line);
});

verifies("explain.places", "places are of single keys, inherited and overlaid ones included", async (t) => {
  const yaml = `version: 1
projects:
  - name: Shop
    uuid: ${UUID}
    type: ai_gateway
    provider_templates:
      - { name: fast, provider: mock, model: quick }
    endpoint_defaults:
      rate_limit_per_minute: 7
      usage_hard_limit_tokens: 500
      prompt: \${file:prompts/shop.md}
    tokens:
      - { id: 9, name: till, hash: "sha256:${"f".repeat(64)}", scopes: [chat] }
    endpoints:
      - name: Ask
        provider_template: fast
        usage_hard_limit_tokens: 50
        guardrails:
          - { use: content_length, max: 100 }
          - { use: pii, mode: mask }
`;
  const overlay = `projects:
  - uuid: ${UUID}
    endpoints:
      - slug: ask
        temperature: 0.4
`;
  const desk = deskWith(t, {
    "conf/gateway.config.yaml": yaml,
    "conf/prompts/shop.md": "You sell.\nBe brief.\n",
    "prod.yaml": overlay,
  });
  const explanation = await desk.explained(
    ...["conf/gateway.config.yaml", "--overlay", "prod.yaml"],
    ...["--endpoint", "ask", "--message", "hi"],
  );
  assert.equal(explanation.request.object, "shop/ask");
  assert.equal(explanation.request.at, "conf/gateway.config.yaml:15:9");
  const limit = stageOf(explanation, "limit");
  assert.equal(detailOf(limit, "rate_limit_per_minute").at, "conf/gateway.config.yaml:9:7");
  assert.equal(detailOf(limit, "usage_hard_limit_tokens").at, "conf/gateway.config.yaml:17:9");
  const guard = stageOf(explanation, "guard");
  assert.equal(detailOf(guard, "content_length").at, "conf/gateway.config.yaml:19:13");
  assert.equal(detailOf(guard, "pii").at, "conf/gateway.config.yaml:20:13");
  const [system] = stageOf(explanation, "prepare").details;
  assert.equal(system?.text, "prompt from prompts/shop.md");
  assert.equal(system?.at, "conf/gateway.config.yaml:11:7");
  assert.equal(system?.body, "You sell.\nBe brief.");
  const [target] = stageOf(explanation, "call").details;
  assert.equal(target?.name, "mock/quick");
  assert.match(target?.text ?? "", /^temperature 0\.4/);
  assert.equal(target?.at, "conf/gateway.config.yaml:16:9", "the line that names the template");
  assert.equal(
    detailOf(stageOf(explanation, "authenticate"), "token till").at,
    "conf/gateway.config.yaml:13:9",
  );
});

verifies(
  "explain.prompt",
  "the final prompt has the origin of each message, masks and template",
  async (t) => {
    const desk = deskWith(t, FILES);
    const explanation = await desk.explained(...SUMMARISE, "--message", "Write to ann@example.org");
    const { details } = stageOf(explanation, "prepare");
    assert.deepEqual(
      details.map(({ name, text, body }) => [name, text, body]),
      [
        ["system", "prompt", "You summarise."],
        [
          "user",
          "messages[0] of the request, masked by pii, in user_prompt_template",
          "Text: Write to [EMAIL]",
        ],
      ],
    );
    assert.ok(details[1]?.at?.startsWith(lineWith("user_prompt_template")));
  },
);

verifies("explain.targets", "targets have their settings and what is left out for each model", async (t) => {
  const yaml = SUPPORT.replace("max_output_tokens: 100", "max_output_tokens: 100\n        temperature: 0.2");
  const desk = deskWith(t, { "gateway.config.yaml": yaml.replace("model: gpt-5-nano", "model: gpt-4o") });
  const explanation = await desk.explained(...SUMMARISE, "--message", "hi");
  const { details } = stageOf(explanation, "call");
  assert.deepEqual(
    details.map(({ name, verdict }) => [name, verdict]),
    [
      ["openai-main/gpt-5-mini", "first"],
      ["openai-spare/gpt-4o", "then 1"],
    ],
  );
  assert.equal(
    details[0]?.text,
    "max_output_tokens 100; temperature 0.2 is not sent to gpt-5-mini: reasoning models choose it themselves",
  );
  assert.equal(details[1]?.text, "temperature 0.2, max_output_tokens 100");
  assert.ok(details[0]?.at?.startsWith(lineWith("model: gpt-5-mini")));
  assert.ok(details[1]?.at?.startsWith(lineWith("openai-spare, model")));
});

verifies("explain.spans", "spans are UTF-16 code units, and texts are shown on request alone", async (t) => {
  const desk = deskWith(t, FILES);
  const message = "🎉 ann@example.org";
  const hidden = await desk.explained(...SUMMARISE, "--message", message);
  const found = detailOf(stageOf(hidden, "guard"), "pii");
  assert.equal(found.text, "email in messages[0] at [3, 18)");
  assert.ok(!JSON.stringify(hidden).includes("ann@example.org"));
  assert.ok(!(await desk.run([...SUMMARISE, "--message", message])).stdout.includes("ann@example.org"));
  const shown = await desk.explained(...SUMMARISE, "--message", message, "--show-text");
  assert.equal(
    detailOf(stageOf(shown, "guard"), "pii").text,
    'email in messages[0] at [3, 18) "ann@example.org"',
  );
});

verifies("explain.refused", "a refusal of each stage is explained with its line, and exits 0", async (t) => {
  const long = "word ".repeat(100);
  const desk = deskWith(t, { ...FILES, "body.json": JSON.stringify({ message: 7 }) });
  const cases: readonly (readonly [
    string,
    readonly string[],
    number,
    string | undefined,
    string | undefined,
  ])[] = [
    [
      "authenticate",
      [...SUMMARISE, "--message", "hi", "--token", "readonly"],
      403,
      "token readonly",
      "id: 2, name: readonly",
    ],
    ["request", [...SUMMARISE, "--body", "body.json"], 400, undefined, undefined],
    [
      "limit",
      ["--endpoint", "triage", "--message", long],
      422,
      "usage_hard_limit_tokens",
      "usage_hard_limit_tokens",
    ],
    ["guard", [...SUMMARISE, "--message", "forbidden"], 422, "keyword_blocklist", "keyword_blocklist"],
  ];
  for (const [stage, args, status, by, line] of cases) {
    const explanation = await desk.explained(...args);
    const { outcome } = explanation;
    assert.deepEqual(
      [outcome.refused_at, outcome.status, outcome.decided_by],
      [stage, status, by ?? null],
      stage,
    );
    if (line !== undefined) assert.ok(outcome.at?.startsWith(lineWith(line)), `${stage}: ${outcome.at}`);
    const at = explanation.stages.findIndex((one) => one.outcome === "refused");
    assert.equal(explanation.stages[at]?.stage, stage);
    assert.ok(explanation.stages.slice(at + 1).every((one) => one.outcome === "not reached"));
    const { stdout } = await desk.run(args);
    assert.match(
      stdout,
      new RegExp(`Refused ${stage === "request" ? "before the chain" : `at ${stage}`}.*: ${status}`),
    );
    assert.equal(outcome.at === null ? true : stdout.trimEnd().endsWith(`decided at ${outcome.at}`), true);
  }
});

verifies(
  "explain.reply",
  "the way back has the checks of the answer, its guardrails and the cost",
  async (t) => {
    const desk = deskWith(t, FILES);
    const answered = await desk.explained(...SUMMARISE, "--message", "hi", "--reply", "Ask bob@example.org");
    assert.deepEqual(
      answered.answer.map(({ stage, outcome }) => [stage, outcome]),
      [
        ["call", "ok"],
        ["check", "none"],
        ["guard", "acted"],
        ["record", "ok"],
      ],
    );
    const [, , guard, record] = answered.answer;
    assert.ok(guard !== undefined && record !== undefined);
    assert.equal(detailOf(guard, "pii").text, "email in answer at [4, 19)");
    assert.equal(detailOf(record, "answer").body, "Ask [EMAIL]");
    assert.match(answered.outcome.summary, /^Answered with 200; pii masks; \$0\.\d+ settled\.$/);
    const invalid = await desk.explained(
      "--endpoint",
      "triage",
      "--message",
      "hi",
      "--reply",
      "{}",
      "--stream",
    );
    assert.equal(invalid.outcome.refused_at, "check");
    assert.ok(invalid.outcome.at?.startsWith(lineWith("output_schema")));
    const without = await desk.explained("--endpoint", "triage", "--message", "hi");
    assert.deepEqual(
      [without.answer, without.outcome.error],
      [[], null],
      "nothing of an answer is judged unasked",
    );
  },
);

verifies(
  "explain.token",
  "the first active token with the scope calls, or none where there is none",
  async (t) => {
    const yaml = SUPPORT.replace(
      "- id: 1\n        name: web",
      "- id: 1\n        is_active: false\n        name: web",
    );
    const desk = deskWith(t, { "gateway.config.yaml": yaml });
    const none = await desk.explained(...SUMMARISE, "--message", "hi");
    assert.equal(none.outcome.status, 401);
    assert.ok(none.notes.includes("No active token has scope 'chat'."));
    const other = deskWith(t, FILES);
    const first = await other.explained(...SUMMARISE, "--message", "hi");
    assert.equal(stageOf(first, "authenticate").summary, "token web of Support");
  },
);

verifies(
  "explain.plugins",
  "no code of plugins is executed on request, and skipped guardrails are named",
  async (t) => {
    const yaml = SUPPORT.replace("version: 1", "version: 1\nplugins: [./mine.mjs]").replace(
      "- { use: keyword_blocklist, keywords: [forbidden] }",
      "- { use: stranger, level: 9 }",
    );
    const plugin = `globalThis.strangerRan = true; throw new Error("executed");`;
    const desk = deskWith(t, { "gateway.config.yaml": yaml, "mine.mjs": plugin });
    const explanation = await desk.explained(...SUMMARISE, "--message", "hi", "--no-plugins");
    assert.equal(Reflect.get(globalThis, "strangerRan"), undefined);
    const skipped = detailOf(stageOf(explanation, "guard"), "stranger");
    assert.deepEqual([skipped.verdict, skipped.text], ["skipped", "its plugin was not executed"]);
    assert.ok(explanation.notes.some((note) => note.includes("--no-plugins")));
    const { code, stderr } = await desk.run([...SUMMARISE, "--message", "hi"]);
    assert.equal(code, 1);
    assert.match(stderr, /mine\.mjs/);
  },
);

verifies(
  "explain.secrets",
  "no secret of the environment, of a file or in the YAML is printed",
  async (t) => {
    const canaries = ["canary-env-8d1f", "canary-file-77ab", "canary-literal-90cc", "canary-header-5e2a"];
    const yaml = SUPPORT.replace('"${env:OPENAI_SPARE_KEY}"', '"${file:secrets/key}"')
      .replace('"${env:ANTHROPIC_API_KEY}"', "canary-literal-90cc")
      .replace('"${env:ITEMS_KEY}"', "canary-header-5e2a")
      .replace("https://items.example.com", "https://user:canary-literal-90cc@items.example.com");
    const env = {
      OPENAI_API_KEY: "canary-env-8d1f",
      ANTHROPIC_API_KEY: "canary-env-8d1f",
      ITEMS_KEY: "canary-env-8d1f",
    };
    const desk = deskWith(t, { "gateway.config.yaml": yaml, "secrets/key": "canary-file-77ab\n" }, env);
    const runs = [
      [...SUMMARISE, "--message", "hi", "--reply", "ok", "--show-text"],
      [...SUMMARISE, "--message", "forbidden"],
      ["--endpoint", "wrapper/smart", "--message", "hi", "--reply", "ok"],
      ["--endpoint", "proxy/items", "--body", "proxied.json", "--reply", "ok"],
      ["--endpoint", "nothing", "--message", "hi"],
      [...SUMMARISE, "--message", "hi", "--token", "unknown"],
    ];
    writeFileSync(join(desk.folder, "proxied.json"), '{"method":"GET"}');
    for (const args of runs) {
      for (const output of ["text", "json"]) {
        const { stdout, stderr } = await desk.run([...args, "--output", output]);
        for (const canary of canaries)
          assert.ok(!`${stdout}${stderr}`.includes(canary), `${canary} in ${args.join(" ")}`);
      }
    }
    writeFileSync(join(desk.folder, "gateway.config.yaml"), yaml.replace("type: proxy", "type: prxy"));
    const broken = await desk.run([...SUMMARISE, "--message", "hi"]);
    assert.equal(broken.code, 1);
    for (const canary of canaries) assert.ok(!`${broken.stdout}${broken.stderr}`.includes(canary), canary);
  },
);

test("wrong usage exits 64 and says what is expected", async (t) => {
  const desk = deskWith(t, { ...FILES, "list.json": "[1]" });
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [["--message", "hi"], /missing --endpoint/],
    [SUMMARISE, /expected one of --message TEXT, --body FILE and -/],
    [[...SUMMARISE, "--message", "a", "--body", "b"], /expected one of/],
    [[...SUMMARISE, "--body", "list.json"], /must be a JSON object/],
    [[...SUMMARISE, "--body", "missing.json"], /cannot be read from missing\.json/],
    [[...SUMMARISE, "--message", "hi", "--output", "xml"], /invalid --output 'xml'; expected text or json/],
    [["--endpoint", "sumarise", "--message", "hi"], /did you mean 'support\/summarise'/],
    [
      ["--endpoint", "supprt/summarise", "--message", "hi"],
      /there is no project 'supprt'; did you mean 'support'/,
    ],
    [[...SUMMARISE, "--message", "hi", "--token", "wbe"], /there is no token 'wbe'; did you mean 'web'/],
  ];
  for (const [args, message] of wrong) {
    const { code, stdout, stderr } = await desk.run(args);
    assert.equal(code, 64, args.join(" "));
    assert.equal(stdout, "");
    assert.match(stderr, message);
  }
});

test("the body is read from standard input and from a file", async (t) => {
  const desk = deskWith(t, { ...FILES, "body.json": '{"message":"from a file"}' });
  const piped = await desk.run([...SUMMARISE, "-"], { stdin: async () => '{"message":"from a pipe"}' });
  assert.match(piped.stdout, /Text: from a pipe/);
  const read = await desk.run([...SUMMARISE, "--body", "body.json"]);
  assert.match(read.stdout, /Text: from a file/);
});

test("text keeps to the width of the terminal and is colored on a terminal alone", async (t) => {
  const desk = deskWith(t, FILES);
  const args = [
    ...SUMMARISE,
    "--message",
    `Write to ann@example.org ${"and so on ".repeat(40)}`,
    "--reply",
    "ok",
  ];
  for (const columns of [60, 80, 200]) {
    const { stdout } = await desk.run(args, { isTerminal: true, columns, env: { NO_COLOR: "1" } });
    const widest = Math.max(...stdout.split("\n").map((line) => line.length));
    assert.ok(widest <= Math.min(columns, 120), `${widest} columns at ${columns}`);
  }
  const colored = await desk.run(args, { isTerminal: true, columns: 80 });
  assert.ok(colored.stdout.includes("\u001b[1m"));
});
