/**
 * Requests that recorded answers belong to, from each vendor's own format into that of the wrapper, so that what the
 * gateway makes of them can be held against what the vendor counted. For tests: fields that count no tokens are left out.
 */
import { at } from "../spec/kit/at.ts";

type Fields = Record<string, unknown>;

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The wrapper's body; undefined: the vendor runs tools of its own whose instructions nobody else sees. */
export function wrapperRequest(provider: string, request: unknown): Fields | undefined {
  if (provider === "anthropic") return fromAnthropic(request);
  if (provider === "google") return fromGoogle(request);
  const tools = list(at(request, "tools"));
  return {
    messages: at(request, "messages"),
    ...(tools.length > 0 && { tools }),
    ...(at(request, "response_format") !== undefined && { response_format: at(request, "response_format") }),
  };
}

function fromAnthropic(request: unknown): Fields | undefined {
  const tools = list(at(request, "tools"));
  if (tools.some((tool) => text(at(tool, "type")).match(/_\d{8}$/))) return undefined;
  const system = at(request, "system");
  const said =
    typeof system === "string"
      ? system
      : list(system)
          .map((part) => text(at(part, "text")))
          .join("");
  const messages = list(at(request, "messages")).flatMap(anthropicMessages);
  return {
    messages: said === "" ? messages : [{ role: "system", content: said }, ...messages],
    ...(tools.length > 0 && { tools: tools.map(anthropicTool) }),
  };
}

function anthropicTool(tool: unknown): Fields {
  const { name, description, input_schema: parameters } = Object(tool);
  return { type: "function", function: { name, description, parameters } };
}

function anthropicMessages(message: unknown): Fields[] {
  const role = at(message, "role");
  const content = at(message, "content");
  if (typeof content === "string") return [{ role, content }];
  const messages: Fields[] = [];
  const parts: Fields[] = [];
  const calls: Fields[] = [];
  for (const block of list(content)) {
    const type = at(block, "type");
    if (type === "text") parts.push({ type, text: at(block, "text") });
    else if (type === "image") parts.push(anthropicImage(block));
    else if (type === "tool_use") {
      const call = { name: at(block, "name"), arguments: JSON.stringify(at(block, "input")) };
      calls.push({ id: at(block, "id"), type: "function", function: call });
    } else if (type === "tool_result") messages.push(...toolResult(block));
  }
  if (parts.length > 0 || calls.length > 0)
    messages.push({ role, content: parts, ...(calls.length > 0 && { tool_calls: calls }) });
  return messages;
}

function anthropicImage(block: unknown): Fields {
  const { url, media_type: media, data } = Object(at(block, "source"));
  return { type: "image_url", image_url: { url: url ?? `data:${media};base64,${data}` } };
}

/** An image in a result is a message of the user's behind it: it counts the same. */
function toolResult(block: unknown): Fields[] {
  const content = at(block, "content");
  const id = at(block, "tool_use_id");
  if (typeof content === "string") return [{ role: "tool", tool_call_id: id, content }];
  const texts = list(content).map((part) => text(at(part, "text")));
  const images = list(content).filter((part) => at(part, "type") === "image");
  const result: Fields = { role: "tool", tool_call_id: id, content: texts.join("") || "-" };
  return images.length === 0 ? [result] : [result, { role: "user", content: images.map(anthropicImage) }];
}

function fromGoogle(request: unknown): Fields {
  const said = (parts: unknown): string =>
    list(parts)
      .map((part) => text(at(part, "text")))
      .join("");
  const system = said(at(request, "systemInstruction", "parts"));
  const messages = list(at(request, "contents")).map((content) => ({
    role: at(content, "role") === "model" ? "assistant" : "user",
    content: said(at(content, "parts")),
  }));
  return { messages: system === "" ? messages : [{ role: "system", content: system }, ...messages] };
}
