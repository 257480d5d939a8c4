/**
 * Parses a chat request in OpenAI's format into messages and options. Members that only OpenAI's format has are kept
 * unchanged; the provider's wire format decides whether it supports them.
 */
import { type JsonBody, refusedByShape } from "../../http/body.ts";
import type { CallOptions, JsonObject, JsonSchema, Tool, ToolChoice } from "../../plugin/chat.ts";
import type { GatewayError, Message } from "../../plugin/index.ts";
import { areOpenAiOnly, type FieldFindings, Fields, kindOf } from "./fields.ts";
import { readMessage } from "./messages.ts";

export interface WrapperInput {
  /** The requested alias. */
  readonly model: string;
  readonly messages: readonly Message[];
  readonly options: CallOptions;
  readonly stream: boolean;
  /** A streamed response ends with its usage. */
  readonly usageEvent: boolean;
}

const STOPS_MAX = 4;
const CHOICES_MAX = 128;
const { MAX_SAFE_INTEGER, MIN_SAFE_INTEGER } = Number;

export function readWrapperBody(body: JsonBody): WrapperInput | GatewayError {
  const shape = refusedByShape(body);
  if (shape !== undefined) return shape;
  const findings: FieldFindings = { refusal: undefined };
  const fields = new Fields(body, findings);
  const model = fields.required("model");
  const messages = fields.list("messages", readMessage) ?? [];
  if (messages.length === 0) fields.wrong("messages", "a non-empty array");
  const stream = fields.flag("stream") ?? false;
  const streamOptions = fields.object("stream_options");
  const usageEvent = streamOptions?.flag("include_usage") ?? false;
  const stream_options = streamOptions?.rest();
  if (streamOptions !== undefined && !stream)
    fields.wrong("stream_options", "left out unless stream is true");
  const options = readOptions(fields, { stream_options });
  if (findings.refusal !== undefined) return findings.refusal;
  return { model, messages, options, stream, usageEvent };
}

/** `beside`: members of the body that are read already, to be passed on. */
function readOptions(fields: Fields, beside: JsonObject): CallOptions {
  const maxTokens = fields.integer("max_tokens", 1, MAX_SAFE_INTEGER);
  const format = readFormat(fields);
  const tools = readTools(fields);
  const known = {
    temperature: fields.number("temperature", 0, 2),
    topP: fields.number("top_p", 0, 1),
    maxOutputTokens: fields.integer("max_completion_tokens", 1, MAX_SAFE_INTEGER) ?? maxTokens,
    stop: readStop(fields),
    seed: fields.integer("seed", MIN_SAFE_INTEGER, MAX_SAFE_INTEGER),
    n: orNothing(fields.integer("n", 1, CHOICES_MAX), 1),
    frequencyPenalty: orNothing(fields.number("frequency_penalty", -2, 2), 0),
    presencePenalty: orNothing(fields.number("presence_penalty", -2, 2), 0),
    parallelToolCalls: fields.flag("parallel_tool_calls"),
    user: fields.text("user"),
    ...format,
    ...tools.options,
  };
  // Checked, and passed on as they are.
  const passed = withoutUndefined({ ...tools.passed, ...readLogprobs(fields), ...beside, ...fields.rest() });
  return {
    ...withoutUndefined(known),
    ...(Object.keys(passed).length > 0 && { extra: passed }),
    native: true,
    promptCharacters: tools.characters + charactersOf(format.responseSchema),
  };
}

/** A value that asks for what would be so without it is none. */
function orNothing(value: number | undefined, usual: number): number | undefined {
  return value === usual ? undefined : value;
}

function withoutUndefined<T extends object>(members: T): Partial<T> {
  const set = Object.entries(members).filter(([, value]) => value !== undefined);
  // fromEntries forgets which keys it was given: those of T that are set.
  return Object.fromEntries(set) as Partial<T>;
}

function charactersOf(value: unknown): number {
  return value === undefined ? 0 : JSON.stringify(value).length;
}

function readStop(fields: Fields): readonly string[] | undefined {
  const stop = fields.any("stop");
  if (stop === undefined) return undefined;
  const list: readonly unknown[] = Array.isArray(stop) ? stop : [stop];
  const texts = list.filter((one) => typeof one === "string");
  if (texts.length === list.length && texts.length <= STOPS_MAX) return texts;
  return fields.wrong("stop", `a string or up to ${STOPS_MAX} of them`);
}

function readLogprobs(fields: Fields): JsonObject {
  const logprobs = fields.flag("logprobs");
  const top = fields.integer("top_logprobs", 0, 20);
  if (top !== undefined && logprobs !== true)
    fields.wrong("top_logprobs", "left out unless logprobs is true");
  const bias = fields.members("logit_bias");
  for (const token in bias) {
    const value = bias[token];
    if (typeof value !== "number" || value < -100 || value > 100)
      fields.wrong(`logit_bias.${token}`, "a number from -100 to 100");
  }
  return {
    ...(logprobs !== undefined && { logprobs }),
    ...(top !== undefined && { top_logprobs: top }),
    ...(bias !== undefined && { logit_bias: bias }),
  };
}

type Format = Pick<CallOptions, "json" | "responseSchema" | "schemaDetails">;

function readFormat(fields: Fields): Format {
  const format = fields.object("response_format");
  if (format === undefined) return {};
  const type = format.choice("type", ["text", "json_object", "json_schema"]);
  if (type === undefined) format.wrong("type", "one of text, json_object, json_schema");
  const wanted = format.object("json_schema");
  // Some servers accept a schema with JSON mode.
  const schemaOfJson = type === "json_object" ? format.members("schema") : undefined;
  format.end();
  if (type === "json_object")
    return { json: true, ...(schemaOfJson !== undefined && { responseSchema: schemaOfJson }) };
  if (type !== "json_schema") return {};
  if (wanted === undefined) format.wrong("json_schema", "an object with name and schema");
  if (wanted === undefined) return {};
  const named = {
    name: wanted.required("name"),
    description: wanted.text("description"),
    strict: wanted.flag("strict"),
  };
  const schema = wanted.members("schema");
  wanted.end();
  // Without a schema any JSON is valid.
  if (schema === undefined) return { json: true };
  return { responseSchema: schema, schemaDetails: { name: named.name, ...withoutUndefined(named) } };
}

interface ReadTools {
  readonly options: Pick<CallOptions, "tools" | "toolChoice">;
  /** Both, unchanged, where tools or choice are of a kind that only OpenAI has. */
  readonly passed: JsonObject;
  readonly characters: number;
}

function readTools(fields: Fields): ReadTools {
  const given = fields.any("tools");
  const chosen = fields.any("tool_choice");
  const characters = charactersOf(given);
  if (areOpenAiOnly(given) || isOfOpenAiChoice(chosen)) {
    const passed = { ...(given !== undefined && { tools: given }), tool_choice: chosen };
    return { options: {}, passed: withoutUndefined(passed), characters };
  }
  const tools = fields.list("tools", readTool);
  const toolChoice = readToolChoice(fields);
  const options = { ...(tools !== undefined && { tools }), ...(toolChoice !== undefined && { toolChoice }) };
  return { options, passed: {}, characters };
}

function readTool(fields: Fields): Tool | undefined {
  if (fields.choice("type", ["function"]) === undefined) return fields.wrong("type", "function");
  const described = fields.object("function");
  if (described === undefined) return fields.wrong("function", "an object with a name");
  const description = described.text("description");
  const strict = described.flag("strict");
  const parameters: JsonSchema | undefined = described.members("parameters");
  const cache_control = fields.members("cache_control");
  return {
    name: described.required("name"),
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
    ...(strict !== undefined && { strict }),
    ...(cache_control !== undefined && { extra: { cache_control } }),
  };
}

function readToolChoice(fields: Fields): ToolChoice | undefined {
  const choice = fields.any("tool_choice");
  if (typeof choice !== "object") return fields.choice("tool_choice", ["none", "auto", "required"]);
  const named = fields.object("tool_choice");
  named?.choice("type", ["function"]);
  const chosen = named?.object("function");
  if (named === undefined || chosen === undefined)
    return fields.wrong("tool_choice.function", "an object with a name");
  const name = chosen.required("name");
  chosen.end();
  named.end();
  return { name };
}

function isOfOpenAiChoice(choice: unknown): boolean {
  return ["custom", "allowed_tools"].includes(kindOf(choice));
}
