/** Plans as markdown: rendered by `marked`, whatever stands in the configuration. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Marked, type Token } from "marked";
import type { DocumentChange, Plan, PlanDocument } from "../../src/plan/document.ts";
import { MARKDOWN_CHARACTERS_MAX, planMarkdown } from "../../src/plan/report/markdown.ts";
import { RISKS, type Risk } from "../../src/plan/rules.ts";
import { verifies } from "../spec/verifies.ts";

const RULE = { breaking: "P107", weakens: "P202", money: "P301", behavior: "P401", safe: "P501" } as const;

function change(risk: Risk, more: Partial<DocumentChange> = {}): DocumentChange {
  return {
    ...{ rule: RULE[risk], risk, object: { kind: "endpoint", project: "support", name: "triage" } },
    ...{ path: "projects[0].endpoints[0].prompt", file: "gateway.config.yaml", line: 9, column: 5 },
    ...{ before: null, after: null, message: "`prompt` is changed.", reaches: [], accepted: null },
    ...more,
  };
}

function planWith(changes: readonly DocumentChange[], side = "gateway.config.yaml"): Plan {
  const counts = { add: 0, change: 1, remove: 0, breaking: 0, weakens: 0, money: 0, behavior: 0, safe: 0 };
  for (const { risk } of changes) counts[risk] += 1;
  const document: PlanDocument = {
    plan_version: 1,
    from: { side: "git:HEAD", hash: "0".repeat(64), revision: "a".repeat(40) },
    to: { side, hash: "1".repeat(64), revision: null },
    ...{ changes, counts, overrides: [], drift: [] },
  };
  return { document, verbOf: () => "change", newPlaceOf: (one) => one };
}

/** Every token of a rendering, with those inside others. */
function tokensOf(markdown: string): readonly Token[] {
  const tokens: Token[] = [];
  const marked = new Marked({ gfm: true });
  marked.walkTokens(marked.lexer(markdown), (token) => void tokens.push(token));
  return tokens;
}

const kinds = (tokens: readonly Token[]): string =>
  [...new Set(tokens.map(({ type }) => type))].sort().join(" ");

verifies(
  "plan.markdown",
  "a comment has a marker, counts, a table of what is above safe, and folded details",
  () => {
    const changes = RISKS.map((risk) =>
      change(risk, {
        before: "Sort the tickets that come in by their urgency, if you please.",
        after: "Sort the tickets that come in by their topic, if you please.",
      }),
    );
    const markdown = planMarkdown(planWith(changes), []);
    assert.match(markdown, /^<!-- sluice-plan:gateway\.config\.yaml -->\n/);
    const tokens = tokensOf(markdown);
    const table = tokens.find((token) => token.type === "table");
    assert.ok(table !== undefined && "rows" in table && Array.isArray(table["rows"]));
    assert.equal(table["rows"].length, 4, "safe changes are in the details only");
    assert.ok(markdown.indexOf("| Risk |") < markdown.indexOf("<details>"), "nothing dangerous is folded");
    const code = tokens.filter(({ type }) => type === "code");
    assert.equal(code.length, 5);
    assert.match(JSON.stringify(code[0]), /- .*urgency, if you please\.\\n\+ .*topic, if you please\./);
  },
);

const HOSTILE = [
  "```\n</details>\n# Approved",
  "~~~~\n| a | b |",
  "<script>alert(1)</script><img src=x onerror=y>",
  "--> <h1>merged</h1> <!--",
  "[click](https://evil.example) ![x](https://evil.example/x.png)",
  "https://evil.example www.evil.example mailto:a@evil.example",
  "<https://evil.example>",
  "| cell | cell |\n|---|---|",
  "\\| \\` `` ` ``` `",
  "@team #1 GH-1 **bold** _em_ ~~gone~~ $x$ &amp; &lt;b&gt;",
  "\u202egnp.exe\u0007\u001b[31m",
  "- [x] done\r\n1. one\n> quote",
  "[^1]: note\n[a]: https://evil.example",
];

for (const text of HOSTILE) {
  test(`no text breaks out of the markdown: ${JSON.stringify(text)}`, () => {
    const long = `${text}\nand a second line that makes this text a long one.`;
    const changes = [
      change("breaking", {
        object: { kind: "token", project: text, name: text },
        ...{
          message: `\`${text}\` is "${text}": it is ${text}.`,
          file: text,
          before: long,
          after: `${long} ${text}`,
        },
        reaches: [{ kind: "endpoint", project: text, name: `${text} 2` }],
        accepted: { reason: text, until: null },
      }),
      change("safe", { message: text }),
    ];
    const markdown = planMarkdown(planWith(changes, text), [text]);
    const tokens = tokensOf(markdown);
    const plain = tokensOf(
      planMarkdown(
        planWith([
          change("breaking", {
            before: "a\nb",
            after: "a\nc",
            accepted: { reason: "r", until: null },
            reaches: [{ kind: "endpoint", project: "p", name: "o" }],
          }),
          change("safe"),
        ]),
        ["note"],
      ),
    );
    const allowed = new Set([...kinds(plain).split(" "), "escape"]);
    assert.deepEqual(
      [...new Set(tokens.map(({ type }) => type))].filter((type) => !allowed.has(type)),
      [],
    );
    // Elements of HTML are those of the frame, and a line break in cells.
    const html = tokens.filter(({ type }) => type === "html").map(({ raw }) => raw.trim());
    for (const raw of html)
      assert.match(
        raw,
        /^(?:<!-- sluice-plan:[^<>]* -->|<details>\s*<summary>All changes<\/summary>|<\/details>|<br>)$/,
      );
    assert.equal(tokens.filter(({ type }) => type === "table").length, 1);
    assert.equal(tokens.filter(({ type }) => type === "heading").length, 1);
    for (const character of markdown)
      assert.ok(character === "\n" || (character >= " " && character !== "\u202e"), "no control characters");
  });
}

verifies(
  "plan.markdown",
  "what does not fit is cut from the lowest risk on, and the comment says what",
  () => {
    const text = "word ".repeat(300);
    const many = (risk: Risk, count: number): readonly DocumentChange[] =>
      Array.from({ length: count }, (_, index) =>
        change(risk, { before: text, after: `${index} ${text}`, message: `Change ${index} of ${risk}.` }),
      );
    const changes = [...many("breaking", 40), ...many("behavior", 200), ...many("safe", 500)];
    const markdown = planMarkdown(planWith(changes), []);
    assert.ok(markdown.length <= MARKDOWN_CHARACTERS_MAX, `${markdown.length} characters`);
    assert.ok(markdown.length > MARKDOWN_CHARACTERS_MAX * 0.9, "the room is used");
    for (let index = 0; index < 40; index++) assert.ok(markdown.includes(`Change ${index} of breaking.`));
    assert.match(
      markdown,
      /_\d+ changes are cut from the details \((?:\d+ behavior, )?500 safe\): a comment holds 65000 characters/,
    );
    tokensOf(markdown);
    const huge = planMarkdown(planWith(many("breaking", 5_000)), []);
    assert.ok(huge.length <= MARKDOWN_CHARACTERS_MAX);
    assert.match(
      huge,
      /\d+ changes are cut from the table \(\d+ breaking\).*5000 changes are cut from the details/s,
    );
  },
);
