/**
 * The texts of a request beside its messages: tool definitions, schemas, and everything else that a client can write
 * into OpenAI's request. Whatever the member, each of its strings and numbers is judged.
 */
import type { JsonMembers, Tool } from "../plugin/chat.ts";
import type { CallOptions, Exchange, GatewayError } from "../plugin/index.ts";
import { reject } from "../plugin/index.ts";
import { type JudgedText, jsonText } from "./texts.ts";

/** Numbers by token id: the surface has checked that they are nothing else. */
const WITHOUT_TEXT: ReadonlySet<string> = new Set(["logit_bias"]);

/** Members of the options that say nothing: numbers, flags and words of a fixed list. */
const OWN_TEXTS = ["toolChoice", "responseSchema", "schemaNamed", "stop", "user"] as const;

/** By the options, since one guardrail after another asks for the same ones. */
const known = new WeakMap<CallOptions, readonly JudgedMember[]>();

/** Part of the options as JSON. */
interface JudgedMember {
  readonly field: string;
  readonly json: string;
  /** The options with this part replaced. */
  replaced(options: CallOptions, json: unknown): CallOptions;
}

/** All texts of the options. Edits put new options into the exchange. */
export function requestTexts(x: Exchange): readonly JudgedText[] {
  const { options } = x;
  if (options === undefined) return [];
  return membersOf(options).map(({ field, json, replaced }) => {
    const put = (after: string): GatewayError | undefined => {
      const value = parsed(after);
      if (value === undefined || x.options === undefined) return reject("forbidden_field", { field });
      x.options = replaced(x.options, value);
      return undefined;
    };
    return jsonText(json, put, () => undefined);
  });
}

/** UTF-16 code units of the options' texts. */
export function requestCharacters(options: CallOptions | undefined): number {
  if (options === undefined) return 0;
  return membersOf(options).reduce((sum, { json }) => sum + json.length, 0);
}

function membersOf(options: CallOptions): readonly JudgedMember[] {
  let members = known.get(options);
  if (members === undefined) {
    members = [...toolMembers(options.tools ?? []), ...ownMembers(options), ...extraMembers(options.extra)];
    known.set(options, members);
  }
  return members;
}

/** Each definition apart, so that it is judged once however the list around it changes. */
function toolMembers(tools: readonly Tool[]): JudgedMember[] {
  return tools.map((tool, n) => ({
    field: `tools[${n}]`,
    json: JSON.stringify(tool),
    // A definition keeps its shape: only texts inside it have changed.
    replaced: (options, json) => ({ ...options, tools: (options.tools ?? []).with(n, json as Tool) }),
  }));
}

function ownMembers(options: CallOptions): JudgedMember[] {
  const own = OWN_TEXTS.filter((key) => options[key] !== undefined && typeof options[key] !== "boolean");
  if (own.length === 0) return [];
  const json = JSON.stringify(Object.fromEntries(own.map((key) => [key, options[key]])));
  // As above: what was put in comes back, with other texts.
  const replaced = (from: CallOptions, after: unknown): CallOptions => ({
    ...from,
    ...(after as CallOptions),
  });
  return [{ field: own.join(", "), json, replaced }];
}

function extraMembers(extra: JsonMembers = {}): JudgedMember[] {
  return Object.entries(extra)
    .filter(([name, value]) => !WITHOUT_TEXT.has(name) && typeof value !== "boolean")
    .map(([name, value]) => ({
      field: name,
      json: JSON.stringify({ [name]: value }),
      replaced: (options, json) => ({ ...options, extra: { ...options.extra, ...record(json) } }),
    }));
}

function record(value: unknown): JsonMembers {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
