/** The draft as `gateway.test.yaml`: what each model name of the source reaches, and what takes over when that fails. */
import type { Draft, DraftAlias, DraftTarget } from "./draft.ts";
import { Block, List, type Pair, type Value, yamlText } from "./yaml-text.ts";

const MESSAGES = [{ role: "user", content: "hi" }];

export function testsText(draft: Draft, about: readonly string[]): string {
  const found = [
    ...[...draft.aliases.values()].flatMap(aliasCases),
    ...leftOutNames(draft).map((model) => leftOutCase(model)),
  ];
  // A test file without tests is a mistake.
  const cases = found.length > 0 ? found : [leftOutCase("any-model")];
  const [token] = draft.tokens;
  const env = [...draft.testEnv].toSorted(([a], [b]) => a.localeCompare(b));
  const pairs: Pair[] = [
    { key: "config", value: "./gateway.config.yaml" },
    ...(env.length > 0 ? [{ key: "env", value: Object.fromEntries(env) }] : []),
    { key: "defaults", value: { project: draft.projectName, token: token?.id ?? "" } },
    { key: "tests", value: new List(cases.map((value) => ({ value }))), isApart: true },
  ];
  return `${about.map((line) => `# ${line}`).join("\n")}\n${yamlText(new Block(pairs))}`;
}

function aliasCases(alias: DraftAlias): readonly Block[] {
  const [primary, ...spares] = alias.targets;
  if (primary === undefined || !isWritable(alias)) return [];
  const first = testCase(`${alias.alias} is answered by ${targetName(primary)}`, alias, {
    status: 200,
    sent: { target: targetName(primary) },
    attempts: [{ [targetName(primary)]: "ok" }],
  });
  if (spares.length === 0) return [first];
  const last = spares.at(-1) ?? primary;
  const failing = alias.targets.slice(0, -1);
  const script = [...failing.map(() => ({ status: 503 })), { reply: "ok" }];
  const attempts = [
    ...failing.map((target) => ({ [targetName(target)]: 503 })),
    { [targetName(last)]: "ok" },
  ];
  const name = `${alias.alias} fails over to ${targetName(last)} when the targets before it fail`;
  return [
    first,
    testCase(name, alias, { status: 200, sent: { target: targetName(last) }, attempts }, script),
  ];
}

/** In test files `{{` begins a placeholder, and `${env:` a reference as everywhere. */
function isWritable({ alias, targets }: DraftAlias): boolean {
  return [alias, ...targets.map(targetName)].every((text) => !/\{\{|\$\{/.test(text));
}

function testCase(name: string, { alias }: DraftAlias, expect: Value, provider?: Value): Block {
  return new Block([
    { key: "name", value: name },
    { key: "call", value: { alias, messages: MESSAGES } },
    ...(provider === undefined ? [] : [{ key: "provider", value: provider }]),
    { key: "expect", value: expect },
  ]);
}

/** By HTTP, since a test cannot name an alias that does not exist. */
function leftOutCase(model: string): Block {
  return new Block([
    { key: "name", value: `${model} is left out` },
    {
      key: "http",
      value: new Block([
        { key: "method", value: "POST" },
        { key: "path", value: "/api/{{project.uuid}}/v1/chat/completions" },
        { key: "body", value: { model, messages: MESSAGES } },
      ]),
    },
    { key: "expect", value: { status: 404 } },
  ]);
}

/** Wildcards are not names, and a name may be left out once and served by another deployment. */
function leftOutNames(draft: Draft): readonly string[] {
  const names = draft.leftOut.map(({ model }) => model);
  return [...new Set(names)].filter(
    (model) => model !== "" && !/[*<]|\{\{|\$\{/.test(model) && !draft.aliases.has(model),
  );
}

function targetName({ credential, model }: DraftTarget): string {
  return `${credential.name}/${model}`;
}
