/** Secrets: how they are recognized, and that none of a source is written or printed. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { parse, stringify } from "yaml";
import { CONFIG_FILE, convert, type Imported, TEST_FILE } from "../../../src/cli/import/convert.ts";
import { cleanUrl, referenceIn, Secrets, secretValue } from "../../../src/cli/import/secrets.ts";
import { readSource, SourceError } from "../../../src/cli/import/source.ts";
import { verifies } from "../../spec/verifies.ts";
import { folderOf, SOURCES, sourceText, validated } from "./kit.ts";

test("references are recognized in the spellings of the three products and of templates", () => {
  for (const text of [
    "os.environ/KEY",
    "env.KEY",
    "env:KEY",
    "${KEY}",
    "${env:KEY}",
    "$KEY",
    "{{KEY}}",
    "{{ env.KEY }}",
    "process.env.KEY",
    "<KEY>",
  ])
    assert.equal(referenceIn(text), "KEY", text);
  for (const text of ["KEY", "os.environ/", "$1", "sk-KEY", "env.", "a ${KEY}"])
    assert.equal(referenceIn(text), undefined, text);
});

test("placeholders for servers without keys are not secrets", () => {
  for (const text of ["none", "EMPTY", "dummy", "not-needed", "fake-key", "lm-studio", "xxxx"])
    assert.equal(secretValue(text).kind, "dummy", text);
  for (const text of ["sk-1234", "nothing-else", "hunter2"])
    assert.equal(secretValue(text).kind, "literal", text);
});

test("what looks like a secret is taken out of comments, and other words stay", () => {
  const secrets = new Secrets();
  const removed = [
    ["old: sk-proj-abc123", "old: <removed>"],
    ["api_key: hunter22", "api_key: <removed>"],
    ["Bearer abcdef123", "Bearer <removed>"],
    ["see https://me:pass@host/x", "see https://<removed>:<removed>@host/x"],
    ["AKIAIOSFODNN7EXAMPLE", "<removed>"],
    ["ghp_16C7e42F292c6912E7710c838347Ae178B4a", "<removed>"],
  ] as const;
  for (const [text, clean] of removed) assert.equal(secrets.scrubComment(text), clean);
  const kept = [
    "api_key: os.environ/OPENAI_API_KEY",
    "the key is rotated every month",
    "Qwen2.5-Coder-32B-Instruct-GPTQ-Int4",
    "see https://docs.example.com/a/b",
    "max_tokens: 4096",
  ];
  for (const text of kept) assert.equal(secrets.scrubComment(text), text);
});

test("addresses lose user, password and query; a random segment makes the whole a secret", () => {
  const secrets = new Secrets();
  assert.deepEqual(cleanUrl("https://llm.example.com/v1/", secrets), {
    url: "https://llm.example.com/v1",
    removed: undefined,
  });
  assert.deepEqual(cleanUrl("https://u:p@llm.example.com/v1?key=1", secrets), {
    url: "https://llm.example.com/v1",
    removed: "user and password and query",
  });
  for (const text of ["not an address", "ftp://x/y", "https://h/s/0123456789abcdef0123456789abcdef/mcp"])
    assert.equal(cleanUrl(text, secrets), undefined, text);
});

const CANARY = "c4n4ry-7f3e9d1b5a-do-not-print";

/** Keys whose values are secret in all three products. */
const SECRET_KEY =
  /^(?:api_?key|apiKey|master_key|value|virtual_key|password|secret_key|access_key|salt_key|token|auth_value|encryption_key|admin_password|Authorization)$/;

/** Every text under a secret key becomes the canary. */
function poisoned(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.map((one) => poisoned(one, key));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poisoned(one, name)]));
  return typeof value === "string" && SECRET_KEY.test(key) ? CANARY : value;
}

verifies(
  "import.secrets",
  "a secret at any place that holds one reaches no output, and neither does a comment with it",
  () => {
    let count = 0;
    for (const source of SOURCES) {
      const text = stringify(poisoned(parse(sourceText(source), { merge: true, uniqueKeys: false })));
      count += text.split(CANARY).length - 1;
      const commented = `# was ${CANARY}\n${text}\n# ${CANARY}\n`;
      const made = convert(source.product, source.name, commented);
      // Where nothing in the file is secret, the canary in the comments is but a word.
      if (text.includes(CANARY)) assert.equal(allOf(made).includes(CANARY), false, source.name);
    }
    assert.ok(count > 80);
  },
);

function allOf({ findings, files }: Imported): string {
  return JSON.stringify([findings, files]);
}

const ODD = [
  null,
  "",
  true,
  -1,
  1e30,
  "sk-canary",
  "${env:X}",
  "{{x}}",
  [],
  {},
  "__proto__",
  ["a"],
  { a: 1 },
  "a/b*c",
  "*",
  "http://",
  "äöü # : -",
  "x".repeat(300),
];

/** One value somewhere replaced by an odd one, or removed. */
function mutated(value: unknown, steps: readonly number[], odd: unknown): unknown {
  const [step, ...rest] = steps;
  if (step === undefined || typeof value !== "object" || value === null) return odd;
  const keys = Object.keys(value);
  const key = keys[step % Math.max(1, keys.length)];
  if (key === undefined) return odd;
  const copy: object = Array.isArray(value) ? [...value] : { ...value };
  Reflect.set(copy, key, mutated(Reflect.get(value, key), rest, odd));
  return copy;
}

verifies(
  "import.valid",
  "sources with odd values import into valid configurations, or are refused",
  async (t) => {
    const folder = folderOf(t);
    // Parsing returns any JSON value.
    const parsed = SOURCES.map((source) => ({
      ...source,
      value: parse(sourceText(source), { merge: true, uniqueKeys: false }) as unknown,
    }));
    const sources = fc.constantFrom(...parsed);
    const clouds = parsed.filter(({ name }) => name === "05-clouds.json");
    const steps = fc.array(fc.nat(40), { minLength: 1, maxLength: 6 });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(
        sources,
        steps,
        fc.constantFrom(...ODD),
        async ({ product, name, value }, path, odd) => {
          const text = stringify(mutated(value, path, odd), { aliasDuplicateObjects: false });
          let made: Imported;
          try {
            made = convert(product, name, text);
          } catch (error) {
            assert.ok(error instanceof SourceError, String(error));
            return;
          }
          const file = join(folder, `${(count += 1)}.yaml`);
          writeFileSync(file, made.files[CONFIG_FILE]);
          const { errors } = await validated(file);
          assert.deepEqual(errors, [], made.files[CONFIG_FILE]);
          parse(made.files[TEST_FILE]);
        },
      ),
      // The name of a variable that is a reference itself.
      {
        numRuns: 60,
        examples: clouds.map((source): [typeof source, number[], string] => [
          source,
          [0, 2, 0, 0, 1, 0],
          "${env:X}",
        ]),
      },
    );
  },
);

verifies("import.refused", "any text is read or refused with its place alone", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      try {
        readSource("c.yaml", text);
      } catch (error) {
        assert.ok(error instanceof SourceError);
        assert.match(error.message, /^c\.yaml(?::\d+:\d+)? (?:is not valid|does not hold|is too large)/);
      }
    }),
    { numRuns: 300 },
  );
});
