/**
 * Holds all that the wrapper answers to OpenAI's own JSON Schemas: `npm run wire -- SCHEMAS.json`. Over an imitation of
 * every provider and two stand-ins, each with and without a guardrail that looks at answers. The schemas are not ours to
 * ship, so this is no part of `npm test`.
 */
import { existsSync, readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { fakeUpstream, type ScriptedAnswer } from "../../../src/testing/fake-upstream.ts";
import { at } from "../../spec/kit/at.ts";
import type { Answer } from "../../spec/kit/client.ts";
import { TOKENS, tokenEntry } from "../../spec/kit/config.ts";
import { chunksOf } from "../../spec/kit/event-stream.ts";
import { type Harness, startGateway } from "../../spec/kit/gateway.ts";
import { aliasFor, credentialsFor, type Imitated, startImitation, TIDE } from "./imitation.ts";
import { BASE } from "./kit.ts";
import { STAND_INS } from "./stand-ins.ts";

const PROVIDERS: readonly Imitated[] = [
  ...(["openai", "anthropic", "google", "mistral"] as const),
  ...(["groq", "together", "ollama", "cohere"] as const),
];
const COLUMNS: readonly string[] = [...PROVIDERS, ...STAND_INS.map(({ name }) => name)];
const [NAME_WIDTH, CELL_WIDTH] = [18, 10];
const SHOWN_CHARACTERS_MAX = 400;

const tool = {
  type: "function",
  function: { name: TIDE.name, parameters: { type: "object", properties: {} } },
};
const response_format = {
  type: "json_schema",
  json_schema: { name: "stove", schema: { type: "object", properties: { kettle: { type: "boolean" } } } },
};
const STREAM = { stream: true, stream_options: { include_usage: true } };
const ask = (content: string, rest: object = {}): object => ({
  messages: [{ role: "user", content }],
  ...rest,
});

const QUESTIONS: Readonly<Record<string, object>> = {
  whole: ask("What is on?"),
  "two answers": ask("What is on?", { n: 2 }),
  logprobs: ask("What is on?", { logprobs: true, top_logprobs: 1 }),
  JSON: ask("as JSON", { response_format }),
  tool: ask("the tide?", { tools: [tool] }),
  tools: ask("tide and wind?", { tools: [tool] }),
  stream: ask("What is on?", { stream: true }),
  "stream, usage": ask("What is on?", STREAM),
  "stream, two": ask("What is on?", { n: 2, ...STREAM }),
  "stream, logprobs": ask("What is on?", { logprobs: true, ...STREAM }),
  "stream, JSON": ask("as JSON", { response_format, ...STREAM }),
  "stream, tool": ask("the tide?", { tools: [tool], ...STREAM }),
  "stream, tools": ask("tide and wind?", { tools: [tool], ...STREAM }),
};

const [path] = process.argv.slice(2);
if (path === undefined || !existsSync(path)) {
  console.error(
    "usage: npm run wire -- SCHEMAS.json   (OpenAI's components as JSON Schema 2020-12, in $defs)",
  );
  process.exit(64);
}
const schemas = validators(JSON.parse(readFileSync(path, "utf8")));
const closers: (() => Promise<void>)[] = [];
const upstream = await fakeUpstream();
const gateway = await startAll();
const faults: string[] = [];
let objects = 0;
for (const guarded of [false, true]) {
  print(guarded ? "with a guardrail" : "", COLUMNS);
  for (const [name, question] of Object.entries(QUESTIONS))
    await row(name, guarded, (alias) => asked(alias, question));
  await row("embeddings", guarded, embedded);
  await row("model", guarded, described);
}
hold("models", (await get("models")).json, "the list of models");
hold("refusal", (await get("models/none")).json, "a model that is not there");
for (const close of closers.reverse()) await close();
await upstream.close();
for (const fault of faults) console.log(fault);
console.log(`${objects} objects, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;

type Kind = "completion" | "chunk" | "models" | "model" | "embeddings" | "refusal";

/** Refusals have the specification's body, which is not OpenAI's. */
function validators(openai: object): Readonly<Record<Kind, ValidateFunction>> {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv).addFormat("unixtime", true).addSchema(openai, "openai");
  const named = (name: string): ValidateFunction => ajv.compile({ $ref: `openai#/$defs/${name}` });
  return {
    completion: named("CreateChatCompletionResponse"),
    chunk: named("CreateChatCompletionStreamResponse"),
    models: named("ListModelsResponse"),
    model: named("Model"),
    embeddings: named("CreateEmbeddingResponse"),
    refusal: ajv.compile({
      type: "object",
      properties: { ok: { const: false }, error: { type: "string", minLength: 1 } },
      required: ["ok", "error"],
    }),
  };
}

/** An alias on every provider and stand-in by its name, and each again behind a guardrail. */
async function startAll(): Promise<Harness> {
  const closer = { after: (close: () => Promise<void>) => void closers.push(close) };
  const standing = STAND_INS.map(({ name }) => ({ name, provider: "openai", api_key: "key-of-nobody" }));
  const all = [
    ...PROVIDERS.map((name) => ({ alias: name, credential: name, ...aliasFor(name) })),
    ...standing.map(({ name, provider }) => ({ alias: name, credential: name, provider, model: "model-1" })),
  ];
  const guardrails = [{ use: "pii", mode: "mask", kinds: ["email"], on: ["output"] }];
  return startGateway(closer, {
    tokens: [tokenEntry("unknown", { name: "both", scopes: ["chat", "models"] })],
    credentials: [
      ...credentialsFor(PROVIDERS, await startImitation(closer)),
      ...standing.map((credential) => ({ ...credential, base_url: upstream.url })),
    ],
    project: {
      type: "ai_wrapper",
      endpoints: [],
      aliases: [...all, ...all.map((one) => ({ ...one, alias: aliasOf(one.alias, true), guardrails }))],
    },
  });
}

function aliasOf(column: string, guarded: boolean): string {
  return guarded ? `${column}/guarded` : column;
}

/** Prints how many objects of each column were held to their schema. None: the provider has no such thing. */
async function row(name: string, guarded: boolean, look: (alias: string) => Promise<void>): Promise<void> {
  const cells: string[] = [];
  for (const column of COLUMNS) {
    const [objectsBefore, faultsBefore] = [objects, faults.length];
    await look(aliasOf(column, guarded));
    const wrong = faults.length - faultsBefore;
    const held = objects - objectsBefore;
    cells.push(wrong > 0 ? `FAIL ${held}` : held === 0 ? "-" : String(held));
  }
  print(name, cells);
}

function print(name: string, cells: readonly string[]): void {
  console.log(name.padEnd(NAME_WIDTH) + cells.map((cell) => cell.padStart(CELL_WIDTH)).join(""));
}

function hold(kind: Kind, value: unknown, what: string): void {
  objects++;
  check(kind, value, what);
}

function check(kind: Kind, value: unknown, what: string): void {
  const validate = schemas[kind];
  if (validate(value)) return;
  const first = validate.errors?.find(({ keyword }) => keyword !== "anyOf");
  const shown = JSON.stringify(value).slice(0, SHOWN_CHARACTERS_MAX);
  faults.push(`${what}: ${first?.instancePath} ${first?.message} in ${shown}`);
}

async function asked(alias: string, question: object): Promise<void> {
  const streams = at(question, "stream") === true;
  for (const script of scriptsFor(alias, streams && at(question, "n") === undefined)) {
    if (script !== undefined) upstream.answer(script);
    const answer = await post("chat/completions", { model: alias, ...question });
    const what = `${alias}, ${JSON.stringify(question)}`;
    if (answer.status !== 200) refused(answer, what);
    else if (!streams) hold("completion", answer.json, what);
    else streamed(answer.text, what);
  }
}

/** What a stand-in is to answer, one after the other; the imitation knows by itself. */
function scriptsFor(alias: string, streams: boolean): readonly (ScriptedAnswer | undefined)[] {
  const standIn = STAND_INS.find(({ name }) => alias.startsWith(name));
  return (streams ? standIn?.streams : standIn?.answers) ?? [undefined];
}

function streamed(text: string, what: string): void {
  const events = text.split("\n\n").map((event) => event.replace(/^data: /, ""));
  if (events.pop() !== "" || events.pop() !== "[DONE]") faults.push(`${what}: it does not end with [DONE]`);
  for (const chunk of chunksOf(events)) hold("chunk", chunk, what);
}

/** A provider may have no word for what is asked; nothing else may be refused. */
function refused(answer: Answer, what: string): void {
  if (!/is not supported by/.test(answer.text)) faults.push(`${what}: ${answer.status} ${answer.text}`);
  check("refusal", answer.json, what);
}

async function embedded(alias: string): Promise<void> {
  const answer = await post("embeddings", { model: alias, input: ["tea", "cake"] });
  if (answer.status === 200) hold("embeddings", answer.json, `embeddings of ${alias}`);
}

async function described(alias: string): Promise<void> {
  hold("model", (await get(`models/${alias}`)).json, `model ${alias}`);
}

function post(to: string, body: object): Promise<Answer> {
  return gateway.client.send(`${BASE}/${to}`, { token: TOKENS.web, body });
}

function get(from: string): Promise<Answer> {
  return gateway.client.send(`${BASE}/${from}`, { method: "GET", token: TOKENS.unknown });
}
