/** Parses the messages of a request in OpenAI's format. Knows no provider. */
import type { Content, ContentPart, JsonObject, ToolCall } from "../../plugin/chat.ts";
import { readBase64Url } from "../../plugin/content.ts";
import type { Message } from "../../plugin/index.ts";
import { JSON_DEPTH_MAX, nestsTooDeep } from "../../provider-kit/wire/json.ts";
import { areOpenAiOnly, type Fields } from "./fields.ts";

const ROLES = ["system", "developer", "user", "assistant", "tool", "function"] as const;
/** Names that cannot carry text. */
const NAME = /^[^\s<|\\/>]{1,64}$/;

/** undefined: the message is invalid, which the fields have recorded. */
export function readMessage(fields: Fields): Message | undefined {
  const role = fields.choice("role", ROLES);
  if (role === undefined) return fields.wrong("role", `one of ${ROLES.join(", ")}`);
  const name = fields.text("name");
  if (name !== undefined && !NAME.test(name)) return fields.wrong("name", "a name without spaces");
  if (role === "assistant") return readAnswer(fields, name);
  const content = readContent(fields, role === "user" ? USER_PARTS : TEXT_PARTS);
  if (content === undefined) return fields.wrong("content", "a string or an array of parts");
  if (role === "function") {
    // Only OpenAI's format has tool results without a call id.
    return { role: "tool", content, extra: { ...fields.rest(), role, name: fields.required("name") } };
  }
  if (role !== "tool") {
    const extra = withName(name, fields.rest());
    // `developer` is OpenAI's newer name for `system`.
    return { role: role === "developer" ? "system" : role, content, ...(extra && { extra }) };
  }
  const toolCallId = fields.required("tool_call_id");
  const extra = withName(name, fields.rest());
  return { role, content, toolCallId, ...(extra && { extra }) };
}

/**
 * Members that servers and SDKs add to responses and clients send back: `annotations` is OpenAI's, `parsed` its SDKs', the
 * others are LiteLLM's. No vendor reads them in a request, and strict ones refuse them.
 */
const ECHOED = ["annotations", "parsed", "provider_specific_fields", "thinking_blocks"] as const;

function readAnswer(fields: Fields, name: string | undefined): Message | undefined {
  for (const member of ECHOED) fields.any(member);
  const said = readContent(fields, ANSWER_PARTS);
  const refusal = fields.text("refusal") ?? "";
  const calls = fields.any("tool_calls");
  const passed = areOpenAiOnly(calls) ? { tool_calls: calls } : undefined;
  const toolCalls = passed === undefined ? fields.list("tool_calls", readToolCall) : undefined;
  const rest = fields.rest();
  const extra = withName(name, passed === undefined ? rest : { ...passed, ...rest });
  if (said === undefined && refusal === "" && toolCalls === undefined && extra === undefined)
    return fields.wrong("content", "a string or an array of parts, unless there are tool_calls");
  const content = refusal === "" ? (said ?? "") : [...partsOf(said), refusalPart(refusal)];
  return {
    role: "assistant",
    content,
    ...(toolCalls !== undefined && toolCalls.length > 0 && { toolCalls }),
    ...(extra && { extra }),
  };
}

function withName(name: string | undefined, rest: JsonObject | undefined): JsonObject | undefined {
  return name === undefined ? rest : { name, ...rest };
}

function partsOf(content: Content | undefined): readonly ContentPart[] {
  if (content === undefined || content === "") return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function refusalPart(text: string): ContentPart {
  return { type: "text", text, refusal: true };
}

function readToolCall(fields: Fields): ToolCall | undefined {
  const id = fields.required("id");
  fields.choice("type", ["function"]);
  const called = fields.object("function");
  if (called === undefined) return fields.wrong("function", "an object with name and arguments");
  const text = called.text("arguments") || "{}";
  // Other vendors take the arguments as JSON, not as a string.
  if (nestsTooDeep(text)) return called.wrong("arguments", `nested ${JSON_DEPTH_MAX} levels deep at most`);
  return { id, name: called.required("name"), arguments: text };
}

type PartReader = (fields: Fields) => ContentPart | undefined;
type PartReaders = Readonly<Record<string, PartReader>>;

const TEXT_PARTS: PartReaders = { text: readText };
const ANSWER_PARTS: PartReaders = {
  text: readText,
  refusal: (fields) => refusalPart(fields.text("refusal") ?? ""),
};
const USER_PARTS: PartReaders = {
  text: readText,
  image_url: readImage,
  input_audio: readAudio,
  file: readFile,
};

/** undefined: not set, or invalid. */
function readContent(fields: Fields, readers: PartReaders): Content | undefined {
  const content = fields.any("content");
  if (content === undefined || typeof content === "string") return content;
  const kinds = Object.keys(readers);
  const parts = fields.list("content", (part) => {
    const kind = part.choice("type", kinds);
    if (kind === undefined) return part.wrong("type", `one of ${kinds.join(", ")}`);
    const read = readers[kind]?.(part);
    const extra = part.rest();
    return read === undefined || extra === undefined ? read : { ...read, extra };
  });
  return parts?.length === 0 ? fields.wrong("content", "a string or a non-empty array of parts") : parts;
}

function readText(fields: Fields): ContentPart | undefined {
  const text = fields.text("text");
  return text === undefined ? fields.wrong("text", "a string") : { type: "text", text };
}

function readImage(fields: Fields): ContentPart | undefined {
  const image = fields.object("image_url");
  if (image === undefined) return fields.wrong("image_url", "an object with a url");
  const url = image.required("url");
  if (!/^https?:\/\//i.test(url) && readBase64Url(url) === undefined)
    return image.wrong("url", "an http address or a data: URL in base64");
  const detail = image.choice("detail", ["auto", "low", "high"]);
  image.end();
  return { type: "image", url, ...(detail && { detail }) };
}

function readAudio(fields: Fields): ContentPart | undefined {
  const audio = fields.object("input_audio");
  if (audio === undefined) return fields.wrong("input_audio", "an object with data and format");
  const format = audio.choice("format", ["wav", "mp3"]);
  if (format === undefined) return audio.wrong("format", "one of wav, mp3");
  const base64 = audio.required("data");
  audio.end();
  return { type: "audio", base64, format };
}

function readFile(fields: Fields): ContentPart | undefined {
  const file = fields.object("file");
  const name = file?.text("filename");
  const url = file?.text("file_data");
  const id = file?.text("file_id");
  if (file === undefined || (url === undefined && id === undefined))
    return fields.wrong("file", "an object with file_data or file_id");
  file.end();
  return { type: "file", ...(name && { name }), ...(url && { url }), ...(id && { id }) };
}
