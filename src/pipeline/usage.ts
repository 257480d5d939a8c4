/**
 * The usage that a call is settled by: what its provider reported where that can be relied on, else an estimate of
 * everything that was sent and received. Whatever a provider reports, a call costs no more than it could have.
 */
import type { Alternative, ModelUsage, Usage } from "../plugin/chat.ts";
import type { ChatChunk, ChatResult } from "../plugin/index.ts";
import { countCharacters, estimateTokens } from "../plugin/index.ts";
import { estimateAddedTokens, estimateMediaTokens } from "../provider-kit/index.ts";
import type { Call } from "./call.ts";

/** What models write around a tool call, in characters: about ten tokens. */
const TOOL_CALL_CHARACTERS = 40;

/** UTF-16 code units of an answer: its text and its tool calls, of all its choices. */
export function answerCharacters(result: ChatResult): number {
  let sum = saidCharacters(result);
  for (const one of result.alternatives ?? []) sum += saidCharacters(one);
  return sum;
}

function saidCharacters({ content, toolCalls = [] }: Pick<Alternative, "content" | "toolCalls">): number {
  let sum = content.length;
  for (const call of toolCalls) sum += call.name.length + call.arguments.length + TOOL_CALL_CHARACTERS;
  return sum;
}

/** Of one event of a streamed answer. */
export function chunkCharacters({ text, toolCalls }: ChatChunk): number {
  let sum = text.length;
  if (toolCalls === undefined) return sum;
  for (const { name, arguments: part } of toolCalls) {
    // A call's name comes once, with its beginning.
    sum += name === undefined || name === "" ? part.length : name.length + part.length + TOOL_CALL_CHARACTERS;
  }
  return sum;
}

/** Characters of the prompt: messages, and the definitions of tools and schemas beside them. */
function sentCharacters(x: Call): number {
  const beside = x.options?.promptCharacters ?? 0;
  const ownSchema = x.options?.responseSchema === undefined ? schemaCharacters(x) : 0;
  return countCharacters(x.messages) + beside + ownSchema;
}

const knownSchemas = new WeakMap<object, number>();

function schemaCharacters(x: Call): number {
  const schema = x.targets[0]?.settings.responseSchema;
  if (typeof schema !== "object") return 0;
  let characters = knownSchemas.get(schema);
  if (characters === undefined) knownSchemas.set(schema, (characters = JSON.stringify(schema).length));
  return characters;
}

/** Usage by the 4-characters rule, for answers whose provider reported none. */
function estimateUsage(x: Call, completionCharacters: number): Usage {
  const provider = x.attempts.at(-1)?.provider ?? "";
  const beside =
    estimateMediaTokens(x.messages, provider, "usual") + estimateAddedTokens(x.options, provider);
  const promptTokens = estimateTokens(sentCharacters(x)) + beside;
  const completionTokens = estimateTokens(completionCharacters);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, estimated: true };
}

/** What the provider reported, checked; or the estimate. `completionCharacters`: what was received. */
export function checkedUsage(x: Call, reported: Usage | undefined, completionCharacters: number): Usage {
  if (reported === undefined || reported.estimated === true) {
    return reported ?? estimateUsage(x, completionCharacters);
  }
  if (!isUsable(reported)) {
    const estimate = estimateUsage(x, completionCharacters);
    report(x, reported, estimate, "the provider reported unusable usage: it is estimated");
    return estimate;
  }
  const possible = possibleTokens(x, reported, completionCharacters);
  if (possible === undefined) return reported;
  const capped = cappedUsage(reported, possible);
  report(x, reported, capped, "the provider reported implausible usage: it is capped");
  return capped;
}

/** A stream that ended early: the provider's last count of the answer may be from its beginning. */
export function partialUsage(x: Call, reported: Usage, completionCharacters: number): Usage {
  const said = estimateTokens(completionCharacters) + (reported.reasoningTokens ?? 0);
  if (reported.completionTokens >= said) return checkedUsage(x, reported, completionCharacters);
  const totalTokens = reported.promptTokens + said;
  const usage = checkedUsage(x, { ...reported, completionTokens: said, totalTokens }, completionCharacters);
  return { ...usage, estimated: true };
}

function report(x: Call, reported: Usage, counted: Usage, message: string): void {
  const { provider = "", model = "" } = x.attempts.at(-1) ?? {};
  x.rt.log.warn({ request_id: x.requestId, provider, model, reported, counted }, message);
}

function isTokens(value: unknown): boolean {
  return value === undefined || (Number.isSafeInteger(value) && Number(value) >= 0);
}

function isUsable(usage: Usage): boolean {
  const { cachedPromptTokens, cacheWriteTokens, cacheWrite1hTokens, reasoningTokens, webSearches } = usage;
  const { promptTokens, completionTokens, totalTokens, billed } = usage;
  return (
    isTokens(promptTokens) &&
    isTokens(completionTokens) &&
    // A sum of large counts may not be exact: it is capped.
    Number.isInteger(totalTokens) &&
    totalTokens >= 0 &&
    isTokens(cachedPromptTokens) &&
    isTokens(cacheWriteTokens) &&
    isTokens(cacheWrite1hTokens) &&
    isTokens(reasoningTokens) &&
    isTokens(webSearches) &&
    (usage.otherModels === undefined || usage.otherModels.every(isUsableModel)) &&
    isTokens(billed?.promptTokens) &&
    isTokens(billed?.completionTokens)
  );
}

function isUsableModel(usage: ModelUsage): boolean {
  const { cachedPromptTokens, cacheWriteTokens, cacheWrite1hTokens, ...counts } = usage;
  return (
    isTokens(counts.promptTokens) &&
    isTokens(counts.completionTokens) &&
    isTokens(counts.totalTokens) &&
    isTokens(cachedPromptTokens) &&
    isTokens(cacheWriteTokens) &&
    isTokens(cacheWrite1hTokens)
  );
}

/** A token is at least a byte, and a UTF-16 code unit at most three of them. */
const TOKENS_PER_CHARACTER_MAX = 3;
/** Vendors add hidden tokens to prompts, at most the largest context window in total, and few to answers. */
const ADDED_PROMPT_TOKENS_MAX = 2_000_000;
const ADDED_COMPLETION_TOKENS_MAX = 1_000;
/** Documents and images cannot be counted here. */
const MEDIA_FACTOR_MAX = 10;
/** Where nothing bounds an answer. */
const UNBOUNDED_TOKENS = 1_000_000;
const WEB_SEARCHES_MAX = 1_000;

interface Possible {
  readonly prompt: number;
  readonly completion: number;
}

/** The most that the call can have used; undefined: what was reported is within it. */
function possibleTokens(x: Call, reported: Usage, completionCharacters: number): Possible | undefined {
  const completion = possibleCompletion(x, completionCharacters);
  const { promptTokens, completionTokens, totalTokens, billed, webSearches = 0 } = reported;
  const mostPrompt = Math.max(promptTokens, billed?.promptTokens ?? 0);
  const mostCompletion = Math.max(
    completionTokens,
    totalTokens - promptTokens,
    billed?.completionTokens ?? 0,
  );
  const othersFit = reported.otherModels === undefined || reported.otherModels.every(fitsModel);
  const isModest = mostPrompt <= ADDED_PROMPT_TOKENS_MAX && webSearches <= WEB_SEARCHES_MAX && othersFit;
  // Nearly all calls: nothing of the prompt needs to be measured.
  if (isModest && mostCompletion <= completion) return undefined;
  const prompt = possiblePrompt(x);
  const isPossible = mostPrompt <= prompt && mostCompletion <= completion && webSearches <= WEB_SEARCHES_MAX;
  return isPossible && othersFit ? undefined : { prompt, completion };
}

/** What a model that the provider asks reads and writes is not known here: no more than a context window. */
function fitsModel({ promptTokens, totalTokens }: ModelUsage): boolean {
  return promptTokens <= ADDED_PROMPT_TOKENS_MAX && totalTokens - promptTokens <= UNBOUNDED_TOKENS;
}

function cappedModel(usage: ModelUsage): ModelUsage {
  const promptTokens = Math.min(usage.promptTokens, ADDED_PROMPT_TOKENS_MAX);
  const completionTokens = Math.min(usage.completionTokens, UNBOUNDED_TOKENS);
  const { cachedPromptTokens = 0, cacheWriteTokens = 0 } = usage;
  return {
    ...usage,
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    cachedPromptTokens: Math.min(cachedPromptTokens, promptTokens),
    cacheWriteTokens: Math.min(cacheWriteTokens, promptTokens),
  };
}

function possiblePrompt(x: Call): number {
  const media = estimateMediaTokens(x.messages, x.attempts.at(-1)?.provider ?? "") * MEDIA_FACTOR_MAX;
  return sentCharacters(x) * TOKENS_PER_CHARACTER_MAX + ADDED_PROMPT_TOKENS_MAX + media;
}

function possibleCompletion(x: Call, completionCharacters: number): number {
  const { n = 1, maxOutputTokens: asked = Number.POSITIVE_INFINITY } = x.options ?? {};
  const last = x.attempts.at(-1);
  const target = x.targets.find(({ provider, model }) => provider === last?.provider && model === last.model);
  const { settings, outputTokensMax = Number.POSITIVE_INFINITY } = target ?? {};
  const cap = Math.min(settings?.maxOutputTokens ?? outputTokensMax, asked);
  const allowed = Number.isFinite(cap) ? cap : UNBOUNDED_TOKENS;
  // A server may ignore the limit; then the text itself is counted.
  return Math.max(allowed * n, completionCharacters * TOKENS_PER_CHARACTER_MAX) + ADDED_COMPLETION_TOKENS_MAX;
}

function cappedUsage(reported: Usage, { prompt, completion }: Possible): Usage {
  const promptTokens = Math.min(reported.promptTokens, prompt);
  const completionTokens = Math.min(reported.completionTokens, completion);
  const beyond = Math.min(reported.totalTokens - reported.promptTokens, completion);
  const { cachedPromptTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0, billed } = reported;
  return {
    ...reported,
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + Math.max(completionTokens, beyond),
    cachedPromptTokens: Math.min(cachedPromptTokens, promptTokens),
    cacheWriteTokens: Math.min(cacheWriteTokens, promptTokens),
    reasoningTokens: Math.min(reasoningTokens, completionTokens),
    webSearches: Math.min(reported.webSearches ?? 0, WEB_SEARCHES_MAX),
    ...(reported.otherModels !== undefined && { otherModels: reported.otherModels.map(cappedModel) }),
    ...(billed !== undefined && {
      billed: {
        promptTokens: Math.min(billed.promptTokens, prompt),
        completionTokens: Math.min(billed.completionTokens, completion),
      },
    }),
    estimated: true,
  };
}
