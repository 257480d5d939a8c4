/**
 * Estimates the prompt tokens of what has no characters to count: images by their vendor's rule, documents and sound by
 * their size, and the instructions that a vendor adds where tools are offered. Reservations and estimated usage share it.
 */
import type { CallOptions, ContentPart, ImagePart, Message } from "../plugin/chat.ts";
import { readBase64Url } from "../plugin/content.ts";

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Tokens of an image; without a size, those of the largest that the vendor looks at. */
type ImageRule = (size: Size | undefined, detail: ImagePart["detail"]) => number;

const OPENAI_LOW = 85;
const OPENAI_TILE = 170;

/** Scaled into 2,048 × 2,048, then to a short side of 768: 170 tokens for each tile of 512, and 85. */
function openaiTokens(size: Size | undefined, detail: ImagePart["detail"]): number {
  if (detail === "low") return OPENAI_LOW;
  const { width, height } = size ?? { width: 2048, height: 768 };
  const fit = Math.min(1, 2048 / Math.max(width, height));
  const [long, short] = [Math.max(width, height) * fit, Math.min(width, height) * fit];
  const shrink = Math.min(1, 768 / short);
  return OPENAI_LOW + OPENAI_TILE * Math.ceil((long * shrink) / 512) * Math.ceil((short * shrink) / 512);
}

/** A token for 750 pixels; larger images are scaled down. */
function anthropicTokens(size: Size | undefined): number {
  return size === undefined ? 1600 : Math.min(1600, Math.ceil((size.width * size.height) / 750));
}

/** 258 tokens for each tile of 768; small images are one. */
function googleTokens(size: Size | undefined): number {
  if (size === undefined) return 258 * 4;
  if (Math.max(size.width, size.height) <= 384) return 258;
  return 258 * Math.ceil(size.width / 768) * Math.ceil(size.height / 768);
}

/** A token for each patch of 16 pixels, of an image scaled into 1,024 × 1,024. */
function mistralTokens(size: Size | undefined): number {
  const { width, height } = size ?? { width: 1024, height: 1024 };
  const fit = Math.min(1, 1024 / Math.max(width, height));
  return Math.ceil((width * fit) / 16) * Math.ceil((height * fit) / 16);
}

const IMAGE_RULES: ReadonlyMap<string, ImageRule> = new Map<string, ImageRule>([
  ["anthropic", anthropicTokens],
  ["google", googleTokens],
  ["mistral", mistralTokens],
]);

/** Documents and sound that only the provider can look into. */
const REMOTE_FILE_TOKENS = 20_000;
const DOCUMENT_BYTES_PER_TOKEN = 10;
const AUDIO_BYTES_PER_TOKEN = 1000;

/** Tokens that vendors add to the prompt where tools are offered. */
const TOOL_PREAMBLE_TOKENS: ReadonlyMap<string, number> = new Map([["anthropic", 340]]);

/** Share of the largest image's tokens that an image has of which nothing is known. */
const USUAL_IMAGE_SHARE = 0.5;

/**
 * Prompt tokens of images, documents and sound in these messages, at one provider. `measure`: of images whose size is
 * not known, the most that they can have, to reserve it, or what is usual, to settle by it. @since 0.2.0
 */
export function estimateMediaTokens(
  messages: readonly Message[],
  provider: string,
  measure: "most" | "usual" = "most",
): number {
  let tokens = 0;
  for (const { content } of messages) {
    if (typeof content === "string") continue;
    for (const part of content) tokens += partTokens(part, provider, measure);
  }
  return tokens;
}

/**
 * Tokens that the chat templates of a vendor's models put around the messages of a call, as the vendors count them. Of
 * others, OpenAI and those that speak its format, the few tokens are within what four characters a token round up.
 */
const TEMPLATE_TOKENS: ReadonlyMap<string, number> = new Map([
  ["anthropic", 7],
  ["google", 3],
  ["mistral", 17],
  ["groq", 9],
  ["together", 34],
  ["ollama", 8],
  ["cohere", 3],
]);

/**
 * Prompt tokens that a provider adds to what it is sent: its chat template, and the instructions where tools are
 * offered, beside their definitions. @since 0.2.0
 */
export function estimateAddedTokens(options: CallOptions | undefined, provider: string): number {
  const offers = (options?.tools?.length ?? 0) > 0;
  const template = options?.embed === undefined ? (TEMPLATE_TOKENS.get(provider) ?? 0) : 0;
  return offers ? template + (TOOL_PREAMBLE_TOKENS.get(provider) ?? 0) : template;
}

function partTokens(part: ContentPart, provider: string, measure: "most" | "usual"): number {
  if (part.type === "text") return 0;
  if (part.type === "image") {
    const rule = IMAGE_RULES.get(provider) ?? openaiTokens;
    const size = imageSize(part.url);
    const tokens = rule(size, part.detail);
    const isLargest = size === undefined && part.detail !== "low" && measure === "usual";
    return isLargest ? Math.ceil(tokens * USUAL_IMAGE_SHARE) : tokens;
  }
  if (part.type === "audio") return Math.ceil((part.base64.length * 0.75) / AUDIO_BYTES_PER_TOKEN);
  if (part.url === undefined) return REMOTE_FILE_TOKENS;
  return Math.ceil((part.url.length * 0.75) / DOCUMENT_BYTES_PER_TOKEN);
}

/** Base64 letters of an image's head that are decoded: a JPEG may carry its metadata before its size. */
const HEAD_LETTERS_MAX = 128 * 1024;

/** Width and height as the head of a PNG, GIF, WebP or JPEG states them; undefined for any other image. */
export function imageSize(url: string): Size | undefined {
  const data = readBase64Url(url);
  if (data === undefined) return undefined;
  const size = sizeIn(Buffer.from(data.base64.slice(0, HEAD_LETTERS_MAX), "base64"));
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

function sizeIn(head: Buffer): Size | undefined {
  if (head.length < 30) return undefined;
  if (head.readUInt32BE(0) === 0x89504e47)
    return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
  const kind = head.toString("latin1", 0, 4);
  if (kind === "GIF8") return { width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
  if (kind === "RIFF") return webpSize(head);
  return head.readUInt16BE(0) === 0xffd8 ? jpegSize(head) : undefined;
}

function webpSize(head: Buffer): Size | undefined {
  const kind = head.toString("latin1", 12, 16);
  if (kind === "VP8 ")
    return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
  if (kind === "VP8X") return { width: 1 + head.readUIntLE(24, 3), height: 1 + head.readUIntLE(27, 3) };
  if (kind !== "VP8L") return undefined;
  const bits = head.readUInt32LE(21);
  return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
}

/** Goes from marker to marker to the one that begins a frame. */
function jpegSize(head: Buffer): Size | undefined {
  let at = 2;
  while (at + 9 < head.length && head[at] === 0xff) {
    const marker = head[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
    at += 2 + head.readUInt16BE(at + 2);
  }
  return undefined;
}
