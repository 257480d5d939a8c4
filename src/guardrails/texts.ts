/**
 * The texts of a request that guardrails judge, and how edits are applied to it. Of a message: content, parts, arguments
 * of tool calls, image URLs, names and contents of text files. Outside the messages: tool definitions, schemas and every
 * other string or number a client can write into OpenAI's request. Images, audio and binary documents are not read.
 */

import type { CallOptions, ContentPart, FilePart, JsonObject, Tool, ToolCall } from "../plugin/chat.ts";
import { coreExchange } from "../plugin/exchange.ts";
import type { Edit, Exchange, GatewayError, Message } from "../plugin/index.ts";
import { reject } from "../plugin/index.ts";
import { edited } from "./edits.ts";
import { type JsonText, readJsonText } from "./json-text.ts";

/** One text of a call, and how to change it. */
export interface JudgedText {
  /** What the text is read from: equal sources have equal texts. Its hash is the verdict's cache key. */
  readonly source: string;
  readonly text: string;
  /** Prose that may continue in the next message. Not names, arguments, URLs, files. */
  readonly isMessageText?: boolean;
  /** Replaces spans; returns a refusal where that is not possible. */
  edit(edits: readonly Edit[]): GatewayError | undefined;
  /** Replaces the text with a notice. */
  withhold(notice: string): void;
}

/** A message being judged. Edits are collected into one new message, so that many edits take linear time. */
export class MessageDraft {
  readonly #message: Message;
  readonly #at: string;
  #content: string | undefined;
  #parts: ContentPart[] | undefined;
  #calls: ToolCall[] | undefined;
  #name: string | undefined;

  /** `at`: its path in the request, for refusals. */
  constructor(message: Message, at: string) {
    this.#message = message;
    this.#at = at;
  }

  texts(): JudgedText[] {
    const { content, toolCalls, extra } = this.#message;
    const texts: JudgedText[] = [];
    if (typeof content === "string") {
      texts.push(
        messageText(content, (text) => {
          this.#content = text;
        }),
      );
    } else for (const [n, part] of content.entries()) this.#addPart(texts, part, n);
    toolCalls?.forEach((call, n) => {
      texts.push(this.#argumentsText(call, n));
    });
    const name = extra?.["name"];
    if (typeof name === "string") {
      texts.push(
        plainText(name, (text) => {
          this.#name = text;
        }),
      );
    }
    return texts;
  }

  /** The edited message; the same object when nothing was edited. */
  finished(): Message {
    const message = this.#message;
    const content = this.#content ?? this.#parts ?? message.content;
    const isSame = content === message.content && this.#calls === undefined && this.#name === undefined;
    if (isSame) return message;
    return {
      ...message,
      content,
      ...(this.#calls && { toolCalls: this.#calls }),
      ...(this.#name !== undefined && { extra: { ...message.extra, name: this.#name } }),
    };
  }

  #addPart(texts: JudgedText[], part: ContentPart, n: number): void {
    const put = (changed: Partial<ContentPart>): void => {
      this.#parts ??= typeof this.#message.content === "string" ? [] : [...this.#message.content];
      // A part keeps its type: only its own members are replaced.
      this.#parts[n] = { ...(this.#parts[n] ?? part), ...changed } as ContentPart;
    };
    const at = `${this.#at}.content[${n}]`;
    if (part.type === "text") texts.push(messageText(part.text, (text) => put({ text })));
    else if (part.type === "image" && isWebUrl(part.url)) {
      texts.push(urlText(part.url, `${at}.image_url.url`, (url) => put({ url })));
    } else if (part.type === "file") addFile(texts, part, put);
  }

  #argumentsText(call: ToolCall, n: number): JudgedText {
    const put = (json: string): undefined => {
      this.#calls ??= [...(this.#message.toolCalls ?? [])];
      this.#calls[n] = { ...call, arguments: json };
    };
    return jsonText(call.arguments, put, (notice) => put(JSON.stringify({ notice })));
  }
}

/** A text that is judged verbatim. */
function plainText(source: string, put: (text: string) => void): JudgedText {
  return new PlainText(source, put, false);
}

function messageText(source: string, put: (text: string) => void): JudgedText {
  return new PlainText(source, put, true);
}

/** A class, because one is created per guardrail and text: spreading an object costs ten times as much. */
class PlainText implements JudgedText {
  readonly source: string;
  readonly text: string;
  readonly isMessageText: boolean;
  readonly #put: (text: string) => void;

  constructor(source: string, put: (text: string) => void, isMessageText: boolean) {
    this.source = source;
    this.text = source;
    this.isMessageText = isMessageText;
    this.#put = put;
  }

  edit(edits: readonly Edit[]): undefined {
    this.#put(edited(this.source, edits));
    return undefined;
  }

  withhold(notice: string): void {
    this.#put(notice);
  }
}

/** JSON, judged by its keys and values; parsed only when it has to be judged. */
function jsonText(
  source: string,
  put: (json: string) => GatewayError | undefined,
  withhold: (notice: string) => void,
): JudgedText {
  let parsed: JsonText | undefined;
  const read = (): JsonText => (parsed ??= readJsonText(source));
  return {
    source,
    get text() {
      return read().text;
    },
    edit: (edits) => put(read().withEdits(edits)),
    withhold,
  };
}

function isWebUrl(url: string): boolean {
  return !/^data:/i.test(url);
}

/** Judged without percent-encoding. A URL cannot be masked without breaking it: an edit is a refusal. */
function urlText(url: string, field: string, put: (url: string) => void): JudgedText {
  return {
    source: url,
    text: percentDecoded(url),
    edit: () => reject("forbidden_field", { field }),
    withhold: () => put("about:blank"),
  };
}

function percentDecoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

function addFile(
  texts: JudgedText[],
  { name, url }: FilePart,
  put: (changed: Partial<FilePart>) => void,
): void {
  if (name !== undefined) texts.push(plainText(name, (text) => put({ name: text })));
  if (url === undefined) return;
  const comma = url.indexOf(",");
  const head = url.slice(0, comma + 1);
  if (!isTextFile(head)) return;
  const content = Buffer.from(url.slice(comma + 1), "base64").toString("utf8");
  texts.push(plainText(content, (text) => put({ url: head + Buffer.from(text).toString("base64") })));
}

const TEXT_FILE = /^data:(?:text\/|application\/(?:json|xml|yaml|x-yaml|javascript|x-ndjson|sql|rtf)[;,])/i;
const HEAD_CHARACTERS_MAX = 200;

/** A type that models read as text. */
function isTextFile(head: string): boolean {
  return head.length <= HEAD_CHARACTERS_MAX && TEXT_FILE.test(head) && /;base64,$/i.test(head);
}

/** Numbers by token id; the surface has validated that there is nothing else. */
const WITHOUT_TEXT: ReadonlySet<string> = new Set(["logit_bias"]);

/** Members of CallOptions that can hold free text. */
const OWN_TEXTS = ["toolChoice", "responseSchema", "schemaDetails", "stop", "user"] as const;

/** Cached by options: every guardrail of a call reads the same ones. */
const membersByOptions = new WeakMap<CallOptions, readonly JudgedMember[]>();

/** Part of the options as JSON. */
interface JudgedMember {
  readonly field: string;
  readonly json: string;
  /** The options with this part replaced. */
  replaced(options: CallOptions, json: unknown): CallOptions;
}

/** All texts outside the messages. Edits replace the options of the exchange. */
export function requestTexts(x: Exchange): readonly JudgedText[] {
  const { options } = x;
  if (options === undefined) return [];
  return membersOf(options).map(({ field, json, replaced }) => {
    const put = (after: string): GatewayError | undefined => {
      const value = parsedOrUndefined(after);
      if (value === undefined || x.options === undefined) return reject("forbidden_field", { field });
      coreExchange(x).options = replaced(x.options, value);
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
  let members = membersByOptions.get(options);
  if (members === undefined) {
    members = [...toolMembers(options.tools ?? []), ...ownMembers(options), ...extraMembers(options.extra)];
    membersByOptions.set(options, members);
  }
  return members;
}

/** Each definition separately, so that it is judged once however the list around it changes. */
function toolMembers(tools: readonly Tool[]): JudgedMember[] {
  return tools.map((tool, n) => ({
    field: `tools[${n}]`,
    json: JSON.stringify(tool),
    // A definition keeps its shape: only texts inside it change.
    replaced: (options, json) => ({ ...options, tools: (options.tools ?? []).with(n, json as Tool) }),
  }));
}

function ownMembers(options: CallOptions): JudgedMember[] {
  const own = OWN_TEXTS.filter((key) => options[key] !== undefined && typeof options[key] !== "boolean");
  if (own.length === 0) return [];
  const json = JSON.stringify(Object.fromEntries(own.map((key) => [key, options[key]])));
  // As above: the same members, with other texts.
  const replaced = (from: CallOptions, after: unknown): CallOptions => ({
    ...from,
    ...(after as CallOptions),
  });
  return [{ field: own.join(", "), json, replaced }];
}

function extraMembers(extra: JsonObject = {}): JudgedMember[] {
  return Object.entries(extra)
    .filter(([name, value]) => !WITHOUT_TEXT.has(name) && typeof value !== "boolean")
    .map(([name, value]) => ({
      field: name,
      json: JSON.stringify({ [name]: value }),
      replaced: (options, json) => ({ ...options, extra: { ...options.extra, ...record(json) } }),
    }));
}

function record(value: unknown): JsonObject {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function parsedOrUndefined(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
