/**
 * OpenAI's chat-completions wire format, which most vendors and servers speak: a provider is this and what it does
 * its own way. Pure translation: no sockets, no time.
 */
import type { Host } from "../../plugin/host.ts";
import type { Credential, WireFormat } from "../../plugin/provider.ts";
import { isRetryable, jsonFailure } from "../wire/failures.ts";
import { toolCallIds } from "../wire/tools.ts";
import { decodeAnswer } from "./answer.ts";
import type { ChatDialect } from "./dialect.ts";
import { decodeEmbeddings, encodeEmbeddings } from "./embeddings.ts";
import { BodyEncoder } from "./encode.ts";
import { ChunkDecoder } from "./events.ts";

/**
 * Makes the wire format of a vendor that speaks `dialect`, by default plain OpenAI. `host` gives ids to tool calls that
 * come without one.
 * @since 0.1.0
 */
export function openAiChat(host: Pick<Host, "random">, dialect: ChatDialect = {}): WireFormat {
  const { path = "/chat/completions", retryableStatuses = [] } = dialect;
  const encoder = new BodyEncoder(dialect);
  const newId = toolCallIds(host);
  const addresses = new WeakMap<Credential, Address>();
  const addressOf = (credential: Credential): Address => {
    let address = addresses.get(credential);
    if (address === undefined) {
      const { apiKey, baseUrl } = credential;
      const authorization = apiKey === "" ? undefined : { authorization: `Bearer ${apiKey}` };
      const headers = { "content-type": "application/json", ...authorization, ...dialect.headers };
      address = { url: baseUrl + path, headers };
      addresses.set(credential, address);
    }
    return address;
  };
  return {
    framing: "sse",
    encode(request, credential, stream) {
      const { url, headers } = addressOf(credential);
      if (request.options?.embed === undefined) {
        return { method: "POST", url, headers, body: encoder.encode(request, stream) };
      }
      const body = encodeEmbeddings(request, dialect.embeddings?.dimensionsField);
      return { method: "POST", url: `${credential.baseUrl}/embeddings`, headers, body };
    },
    decode: (text, options) =>
      options?.embed === undefined
        ? decodeAnswer(text, newId, options?.native === true)
        : decodeEmbeddings(text),
    failure: (status, headers, text) =>
      jsonFailure(status, headers, text, retryableStatuses.includes(status) || isRetryable(status)),
    decoder: (options) => new ChunkDecoder(newId, options?.native === true),
    unsupported: (request, stream) => encoder.unsupported(request, stream),
    dropped: (request) => encoder.dropped(request),
  };
}

interface Address {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}
