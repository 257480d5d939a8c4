/**
 * Refusals of request members by what the endpoint allows. With guardrails: members that they could not judge (unknown
 * members of messages, identifiers that could carry text, data of another type than declared). For budgets: members that
 * cost more than what is reserved for the call.
 */
import type { CompiledEndpoint } from "../../compile/model.ts";
import type { CallOptions, ContentPart, JsonObject } from "../../plugin/chat.ts";
import type { GatewayError, Message } from "../../plugin/index.ts";
import { reject, STAGES } from "../../plugin/index.ts";

const GUARD = STAGES.indexOf("guard");

/** Members of messages, other than content, that are judged or cannot carry text. */
const JUDGED_MEMBERS: ReadonlySet<string> = new Set(["name", "role"]);

/** Identifiers must not carry text, which alphabet and length ensure. */
const NAME = /^[A-Za-z0-9_.:/-]{1,64}$/;
const ID = /^[A-Za-z0-9_.:|-]{1,128}$/;
const NAME_WORDS = "up to 64 letters, digits, or any of _ . : / -";
const ID_WORDS = "up to 128 letters, digits, or any of _ . : | -";

export interface Judgeable {
  readonly messages: readonly Message[];
  readonly options: CallOptions;
}

/** Refuses the first member that guardrails could not judge; undefined: there is none, or no guardrail. */
export function refusedUnjudgeable(
  endpoint: CompiledEndpoint,
  { messages, options }: Judgeable,
): GatewayError | undefined {
  if (!endpoint.request.some(({ stage }) => stage === GUARD)) return undefined;
  for (const [n, message] of messages.entries()) {
    const refusal = refusedMessage(message, `messages[${n}]`);
    if (refusal !== undefined) return refusal;
  }
  return refusedTokenIds(options.extra);
}

function refusedMessage(
  { content, extra, toolCallId, toolCalls }: Message,
  at: string,
): GatewayError | undefined {
  for (const member in extra) if (!JUDGED_MEMBERS.has(member)) return forbidden(`${at}.${member}`);
  const name = extra?.["name"];
  if (typeof name === "string" && !NAME.test(name)) return wrong(`${at}.name`, NAME_WORDS);
  if (toolCallId !== undefined && !ID.test(toolCallId)) return wrong(`${at}.tool_call_id`, ID_WORDS);
  for (const [n, call] of (toolCalls ?? []).entries()) {
    if (!ID.test(call.id)) return wrong(`${at}.tool_calls[${n}].id`, ID_WORDS);
    if (!NAME.test(call.name)) return wrong(`${at}.tool_calls[${n}].function.name`, NAME_WORDS);
  }
  if (typeof content === "string") return undefined;
  for (const [n, part] of content.entries()) {
    const refusal = refusedPart(part, `${at}.content[${n}]`);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function refusedPart(part: ContentPart, at: string): GatewayError | undefined {
  for (const member in part.extra) return forbidden(`${at}.${member}`);
  if (part.type === "text") return undefined;
  if (part.type === "audio") {
    return isBase64(part.base64, 0) ? undefined : wrong(`${at}.input_audio.data`, "base64");
  }
  if (part.type === "image") {
    const isData = /^data:/i.test(part.url);
    return !isData || isDataUrl(part.url) ? undefined : wrong(`${at}.image_url.url`, DATA_WORDS);
  }
  if (part.id !== undefined && !ID.test(part.id)) return wrong(`${at}.file.file_id`, ID_WORDS);
  if (part.url === undefined || isDataUrl(part.url)) return undefined;
  return wrong(`${at}.file.file_data`, DATA_WORDS);
}

const DATA_WORDS = "a data: URL with a media type and base64";
/** Longest head of a data URL, its comma included. */
const HEAD_CHARACTERS_MAX = 200;
const DATA_HEAD = /^data:[\w.+-]{1,64}\/[\w.+-]{1,100}(?:;charset=[\w-]{1,20})?;base64,$/i;

/** The head is looked at apart from the data, which may be megabytes. */
function isDataUrl(url: string): boolean {
  const comma = url.slice(0, HEAD_CHARACTERS_MAX).indexOf(",");
  return comma !== -1 && DATA_HEAD.test(url.slice(0, comma + 1)) && isBase64(url, comma + 1);
}

const NOT_BASE64 = /[^A-Za-z0-9+/=_\-\r\n]/g;

function isBase64(text: string, from: number): boolean {
  NOT_BASE64.lastIndex = from;
  return !NOT_BASE64.test(text);
}

/** Keys of `logit_bias` are numbers of tokens; as texts they would go past the guardrails. */
function refusedTokenIds(extra: JsonObject | undefined): GatewayError | undefined {
  const bias = extra?.["logit_bias"];
  if (typeof bias !== "object" || bias === null) return undefined;
  for (const token in bias) if (!/^\d{1,7}$/.test(token)) return forbidden("logit_bias");
  return undefined;
}

function forbidden(field: string): GatewayError {
  return reject("forbidden_field", { field });
}

function wrong(field: string, expected: string): GatewayError {
  return reject("invalid_field", { field, expected });
}

/** Members that request more or longer completions, or searches, from servers that support them. */
const COSTLY: ReadonlySet<string> = new Set([
  "best_of",
  "web_search_options",
  ...["max_output_tokens", "max_new_tokens", "max_length", "num_predict", "max_tokens_to_sample"],
]);

/** Members that the gateway interprets: `allowed_fields` applies to the others. */
const READ: ReadonlySet<string> = new Set([
  ...["stream_options", "logprobs", "top_logprobs", "logit_bias"],
  ...["tools", "tool_choice"],
]);

/**
 * Refuses the first member that could exceed the reservation. `n`, `service_tier`, tools and images are part of the estimate
 * and pass. With an alias's `allowed_fields`, listed members pass whatever they cost and others are refused.
 */
export function refusedCostly(
  { allowedFields }: CompiledEndpoint,
  { extra }: CallOptions,
): GatewayError | undefined {
  for (const field in extra) {
    const passes =
      allowedFields === undefined ? !COSTLY.has(field) : READ.has(field) || allowedFields.has(field);
    if (!passes) return reject("forbidden_field", { field });
  }
  return undefined;
}
