/** Requests of each surface, as clients make them. `project`: a UUID; `token`: its plaintext. */
import type { OfflineRequest } from "./exchange.ts";

type Body = Readonly<Record<string, unknown>>;

/** An endpoint of a gateway project. `body`: `message` or `messages`, `stream`, `session_id` and any other field. */
export function chatRequest(project: string, slug: string, body: Body, token: string): OfflineRequest {
  return jsonRequest(`/api/${project}/${slug}`, body, token);
}

/** An alias of a wrapper project, over OpenAI's chat completions. A `message` becomes the last of `messages`. */
export function completionRequest(
  project: string,
  alias: string,
  { message, messages = [], ...rest }: Body,
  token: string,
): OfflineRequest {
  const said: readonly unknown[] = Array.isArray(messages) ? messages : [];
  const all = message === undefined ? said : [...said, { role: "user", content: message }];
  return jsonRequest(`/api/${project}/v1/chat/completions`, { ...rest, messages: all, model: alias }, token);
}

/** A tool of the MCP bridge. */
export function toolRequest(project: string, tool: string, args: Body, token: string): OfflineRequest {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: args } };
  const request = jsonRequest(`/api/${project}/mcp`, call, token);
  return { ...request, headers: { ...request.headers, accept: "application/json, text/event-stream" } };
}

export interface ProxiedRequest {
  /** Default GET, or POST with a body. */
  readonly method?: string;
  /** Behind the endpoint's address, with its query: `/v2/items?limit=1`. Default: nothing. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text or bytes go out as they are, anything else as JSON. */
  readonly body?: unknown;
}

/** A proxy endpoint. */
export function proxyRequest(
  project: string,
  slug: string,
  { method, path = "", headers = {}, body }: ProxiedRequest,
  token: string,
): OfflineRequest {
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  const isJson = body !== undefined && !isRaw;
  return {
    method: method ?? (body === undefined ? "GET" : "POST"),
    path: `/api/${project}/proxy/${slug}${path}`,
    headers: {
      ...(isJson && { "content-type": "application/json" }),
      ...headers,
      authorization: `Bearer ${token}`,
    },
    ...(body !== undefined && { body: isRaw ? body : JSON.stringify(body) }),
  };
}

function jsonRequest(path: string, body: Body, token: string): OfflineRequest {
  return {
    ...{ method: "POST", path, body: JSON.stringify(body) },
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  };
}
