/**
 * Finds what a call asks for and a provider has no word for, so that it is refused by its name and never left out in
 * silence. Names are OpenAI's, since only who speaks its format can ask for such things.
 */
import type { CallOptions, JsonObject, Message, ProviderRequest } from "../plugin/chat.ts";

/** Names of fields. @since 0.2.0 */
export type SupportedFields = Pick<ReadonlySet<string>, "has">;

/** What every provider takes that says nothing else. @since 0.2.0 */
export const COMMON_FIELDS: SupportedFields = new Set([
  "response_format",
  "seed",
  "stop",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
]);

/**
 * Fields that change how an answer is made and not what it means. Where a provider has no such thing they are left out,
 * with a warning, and the call is not refused.
 */
const HINTS: ReadonlySet<string> = new Set([
  ...["user", "parallel_tool_calls", "reasoning_effort", "verbosity", "cache_control", "store", "metadata"],
  ...["prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier"],
  // Thoughts of an earlier answer that a client sends back with it.
  ...["reasoning_content", "reasoning", "reasoning_details"],
]);

/** The hints that are asked for and not among `taken`, each once: they are left out. @since 0.2.0 */
export function droppedHints(
  { options, messages }: ProviderRequest,
  supported: SupportedFields,
): readonly string[] {
  if (options === undefined) return [];
  const dropped = new Set<string>();
  const look = (members: JsonObject | undefined): void => {
    for (const field in members)
      if (HINTS.has(field) && !supported.has(field) && !isNothing(members[field])) dropped.add(field);
  };
  const asked = fieldsAsked(options);
  for (const field in asked)
    if (asked[field] === true && HINTS.has(field) && !supported.has(field)) dropped.add(field);
  look(options.extra);
  for (const { extra } of options.tools ?? []) look(extra);
  for (const { content, extra } of messages) {
    look(extra);
    if (typeof content !== "string") for (const part of content) look(part.extra);
  }
  return [...dropped];
}

/**
 * The first field that is asked for and not among `taken`, hints aside: members of the body and of messages, `input_audio` and `file`
 * for parts of messages, `input` for embeddings, `custom_tools` for tools and choices of kinds that only OpenAI has.
 * @since 0.2.0
 */
export function firstUnsupportedField(
  { options, messages }: ProviderRequest,
  supported: SupportedFields,
): string | undefined {
  if (options === undefined) return undefined;
  if (options.embed !== undefined && !supported.has("input")) return "input";
  const takes = (field: string): boolean => supported.has(field) || HINTS.has(field);
  const fields = fieldsAsked(options);
  for (const field in fields) if (fields[field] === true && !takes(field)) return field;
  const { extra = {} } = options;
  for (const field in extra) {
    const isTaken = takes(field) && (!OF_TOOLS.has(field) || supported.has("custom_tools"));
    if (!isTaken && !isNothing(extra[field])) return field;
  }
  for (let i = 0; i < messages.length; i++) {
    const field = unsupportedIn(messages[i], supported);
    if (field !== undefined) return `messages[${i}].${field}`;
  }
  return undefined;
}

/** Left as they came where they are of a kind that `options` has no word for. */
const OF_TOOLS = new Set(["tools", "tool_choice"]);

/** What is as it would be without it. */
function isNothing(value: unknown): boolean {
  return value === false || value === "auto" || value === 0;
}

function fieldsAsked(options: CallOptions): Readonly<Record<string, boolean>> {
  return {
    n: (options.n ?? 1) > 1,
    stop: (options.stop?.length ?? 0) > 0,
    seed: options.seed !== undefined,
    frequency_penalty: options.frequencyPenalty !== undefined,
    presence_penalty: options.presencePenalty !== undefined,
    user: options.user !== undefined,
    tools: (options.tools?.length ?? 0) > 0,
    tool_choice: options.toolChoice !== undefined && options.toolChoice !== "auto",
    parallel_tool_calls: options.parallelToolCalls === false,
    response_format: options.json === true || options.schemaDetails !== undefined,
    dimensions: options.embed?.dimensions !== undefined,
  };
}

/** The name of the tool whose result it is, which the call with the result's id has too. */
function isResultName({ role, toolCallId }: Message, field: string): boolean {
  return field === "name" && role === "tool" && toolCallId !== undefined;
}

function unsupportedIn(message: Message | undefined, supported: SupportedFields): string | undefined {
  if (message === undefined) return undefined;
  for (const field in message.extra)
    if (!supported.has(field) && !HINTS.has(field) && !isResultName(message, field)) return field;
  if (typeof message.content === "string") return undefined;
  for (const [n, { type, extra }] of message.content.entries()) {
    const isTaken =
      (type !== "audio" || supported.has("input_audio")) && (type !== "file" || supported.has("file"));
    if (!isTaken) return `content[${n}]`;
    for (const field in extra)
      if (!supported.has(field) && !HINTS.has(field)) return `content[${n}].${field}`;
  }
  return undefined;
}
