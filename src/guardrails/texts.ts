/**
 * The texts of one message that guardrails judge, and how edits get back into it: content, parts, arguments of tool
 * calls, addresses of images, names and contents of files. Images, sound and binary documents are not read.
 */
import type { FilePart, ToolCall } from "../plugin/chat.ts";
import type { ContentPart, Edit, GatewayError, Message } from "../plugin/index.ts";
import { reject } from "../plugin/index.ts";
import { type SpokenArguments, spokenArguments } from "./arguments.ts";
import { edited } from "./edits.ts";

/** One text of a call, and what can be done about it. */
export interface JudgedText {
  /** What the text is made from: equal sources have equal texts. Its hash names the verdict. */
  readonly source: string;
  readonly text: string;
  /** Content of a message as a person writes it: reads on in the next one. Not names, arguments, addresses, files. */
  readonly isMessageText?: boolean;
  /** Replaces spans of it; a refusal where that is not possible. */
  edit(edits: readonly Edit[]): GatewayError | undefined;
  /** Puts a notice in its place. */
  withhold(notice: string): void;
}

/** A message being judged: edits are collected and make one new message, so that many edits take linear time. */
export class MessageDraft {
  readonly #message: Message;
  readonly #at: string;
  #content: string | undefined;
  #parts: ContentPart[] | undefined;
  #calls: ToolCall[] | undefined;
  #name: string | undefined;

  /** `at`: where it stands in the request, for refusals. */
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

  /** The message with what was edited; the same object when nothing was. */
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
      // A part keeps its type: only members of its own are put in.
      this.#parts[n] = { ...(this.#parts[n] ?? part), ...changed } as ContentPart;
    };
    const at = `${this.#at}.content[${n}]`;
    if (part.type === "text") texts.push(messageText(part.text, (text) => put({ text })));
    else if (part.type === "image" && isAddress(part.url)) {
      texts.push(addressText(part.url, `${at}.image_url.url`, (url) => put({ url })));
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

/** A text that is judged as it stands. */
export function plainText(source: string, put: (text: string) => void): JudgedText {
  return new PlainText(source, put, false);
}

function messageText(source: string, put: (text: string) => void): JudgedText {
  return new PlainText(source, put, true);
}

/** A class, since each guardrail makes one for each text of a call: spreading an object costs ten times as much. */
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

/** JSON, judged as what it says; read only when it has to be judged. */
export function jsonText(
  source: string,
  put: (json: string) => GatewayError | undefined,
  withhold: (notice: string) => void,
): JudgedText {
  let spoken: SpokenArguments | undefined;
  const read = (): SpokenArguments => (spoken ??= spokenArguments(source));
  return {
    source,
    get text() {
      return read().text;
    },
    edit: (edits) => put(read().edited(edits)),
    withhold,
  };
}

function isAddress(url: string): boolean {
  return !/^data:/i.test(url);
}

/** Judged as it reads, without percent-encoding. An address with a mask in it leads nowhere: it is refused. */
function addressText(url: string, field: string, put: (url: string) => void): JudgedText {
  return {
    source: url,
    text: decoded(url),
    edit: () => reject("forbidden_field", { field }),
    withhold: () => put("about:blank"),
  };
}

function decoded(url: string): string {
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

/** What a model reads as text: it is judged as text. */
function isTextFile(head: string): boolean {
  return head.length <= HEAD_CHARACTERS_MAX && TEXT_FILE.test(head) && /;base64,$/i.test(head);
}
