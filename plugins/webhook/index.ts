/**
 * Guardrail webhook: asks a team's own HTTP service for the verdict. README.md documents request and answer.
 * An answer that is late, too long or not understood is a failure, which `on_error` decides: by default it blocks.
 */
import { createHmac } from "node:crypto";
import {
  block,
  defineGuardrail,
  type Edit,
  type Host,
  refuse,
  replace,
  type TextContext,
  type Verdict,
} from "sluice/plugin";
import { parseObject } from "sluice/provider";

/** The answer may give a whole text back. */
const ANSWER_BYTES_MAX = 4_194_304;
const MESSAGE_MAX = 500;
const REASON_MAX = 200;

export default defineGuardrail({
  name: "webhook",
  description: "Asks a service of your own over HTTP for the verdict.",
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["url"],
    properties: {
      url: {
        type: "string",
        pattern: "^https?://[^\\s/?#]+[^\\s]*$",
        description: "Where texts are posted. Private addresses must be listed in `network.allow`.",
      },
      headers: {
        type: "object",
        additionalProperties: { type: "string" },
        description: "Sent with every request.",
      },
      secret: {
        type: "string",
        minLength: 1,
        description: "Key of the HMAC-SHA256 in `X-Gateway-Signature`.",
      },
      window: {
        type: "integer",
        minimum: 1,
        maximum: 8192,
        description: "Longest match, in characters: so much of a stream is held back. Without it, all of it.",
      },
    },
  },
  examples: [{ url: "https://guard.example.com/judge", secret: "${env:GUARD_SECRET}", window: 200 }],
  buffersStream: ({ window }) => window === undefined,
  // Another service may judge otherwise; without a window it sees whole answers.
  strength: { headers: "neutral", secret: "neutral", window: "more" },
  setup({ url, headers = {}, secret, window }, host) {
    if (!URL.canParse(url)) throw new Error("url is no URL: its host or port is malformed");
    return {
      window: window ?? "whole",
      async judge(text, about) {
        const body = JSON.stringify(question(text, about));
        const answer = await host.fetch(url, {
          method: "POST",
          headers: { ...headers, "content-type": "application/json", ...signed(body, secret, host) },
          body,
          bytesMax: ANSWER_BYTES_MAX,
        });
        if ("failed" in answer)
          throw new Error(`the webhook could not be asked: ${answer.failed}: ${answer.detail}`);
        if (answer.status !== 200) throw new Error(`the webhook answered with status ${answer.status}`);
        return verdictOf(fieldsOf(answer.text), text, about);
      },
    };
  },
});

function question(text: string, { side, role, partial, exchange }: TextContext): object {
  const { project, endpoint, requestId } = exchange;
  return {
    text,
    side,
    role,
    partial,
    project: { uuid: project.uuid, name: project.name },
    endpoint: endpoint.slug,
    request_id: requestId,
  };
}

function signed(body: string, secret: string | undefined, { clock }: Host): Record<string, string> {
  if (secret === undefined) return {};
  const digest = createHmac("sha256", secret).update(body).digest("hex");
  return {
    "x-gateway-signature": `sha256=${digest}`,
    "x-gateway-timestamp": String(Math.floor(clock.nowMs() / 1000)),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(text: string): Fields {
  const fields = parseObject(text);
  if (fields === undefined) throw new Error("the webhook's answer is not a JSON object");
  return fields;
}

function verdictOf(
  { verdict, reason, message, text: masked, edits }: Fields,
  text: string,
  about: TextContext,
): Verdict {
  const why = typeof reason === "string" && reason !== "" ? reason.slice(0, REASON_MAX) : "webhook";
  if (verdict === "pass") return undefined;
  if (verdict === "block") {
    const what = about.side === "input" ? "Request" : "Response";
    const words =
      typeof message === "string" && message !== "" ? message : `${what} blocked: the content was refused.`;
    return block(refuse(422, "webhook_blocked", words.slice(0, MESSAGE_MAX)), why);
  }
  if (verdict !== "replace") throw new Error("the webhook's verdict is none of pass, block, replace");
  if (Array.isArray(edits)) return replace(editsOf(edits, text.length), why);
  if (typeof masked === "string") return replace([difference(text, masked)], why);
  throw new Error("the webhook says replace, but neither `edits` nor `text`");
}

function editsOf(edits: readonly unknown[], length: number): readonly Edit[] {
  let from = 0;
  return edits.map((edit) => {
    const { start, end, text }: Fields = Object(edit);
    const isEdit = isPlace(start) && isPlace(end) && typeof text === "string";
    if (!isEdit || start < from || end < start || end > length) {
      throw new Error("the webhook's edits are not spans of the text in ascending order");
    }
    from = end;
    return { start, end, text };
  });
}

function isPlace(value: unknown): value is number {
  return Number.isInteger(value);
}

/** What differs between two texts, as one edit: on a stream only the rest can go on while more is to come. */
function difference(before: string, after: string): Edit {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let kept = 0;
  while (kept < shorter - start && before.at(-1 - kept) === after.at(-1 - kept)) kept++;
  return { start, end: before.length - kept, text: after.slice(start, after.length - kept) };
}
