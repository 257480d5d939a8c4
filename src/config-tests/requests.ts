/** The HTTP request that a step makes: `call` in the form of the surface that it names, `http` as it is written. */
import { isPlainMap, type PlainMap } from "../config/read/tree.ts";
import type { CallTarget } from "./names.ts";
import { CALL_KEYS } from "./schema/call.ts";

/** As a client sends it. */
export interface ClientRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** `token`: its text; undefined: the request has none. */
export function requestOf(call: PlainMap, target: CallTarget, token: string | undefined): ClientRequest {
  const { project, kind, name } = target;
  const base = `/api/${project.uuid}`;
  const headers = headersOf(call["headers"], token);
  switch (kind) {
    case "endpoint":
      return json(`${base}/${name}`, headers, chatBody(call));
    case "alias":
      return json(`${base}/v1/chat/completions`, headers, { model: name, ...openAiBody(call) });
    case "tool":
      return json(
        `${base}/mcp`,
        { accept: "application/json, text/event-stream", ...headers },
        toolCall(name, call),
      );
    case "proxy":
      return proxied(`${base}/proxy/${name}`, call, headers);
  }
}

function json(path: string, headers: ClientRequest["headers"], body: object): ClientRequest {
  return {
    method: "POST",
    path,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
}

/** Keys of the call that are not the request's own go into the body. */
function ownFields(call: PlainMap): PlainMap {
  return Object.fromEntries(Object.entries(call).filter(([key]) => !CALL_KEYS.has(key)));
}

function chatBody(call: PlainMap): PlainMap {
  const body = ownFields(call);
  for (const key of ["message", "messages", "stream", "session_id"])
    if (call[key] !== undefined) body[key] = call[key];
  return body;
}

function openAiBody(call: PlainMap): PlainMap {
  const { message, ...body } = chatBody(call);
  if (typeof message === "string") body["messages"] ??= [{ role: "user", content: message }];
  return body;
}

function toolCall(name: string, call: PlainMap): object {
  const given = call["arguments"];
  const args = isPlainMap(given) ? given : chatBody(call);
  return { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
}

function proxied(base: string, call: PlainMap, headers: ClientRequest["headers"]): ClientRequest {
  const { body, method } = call;
  const path = String(call["path"] ?? "");
  return {
    method: typeof method === "string" ? method.toUpperCase() : body === undefined ? "GET" : "POST",
    path: path === "" || path.startsWith("/") || path.startsWith("?") ? `${base}${path}` : `${base}/${path}`,
    ...withBody(headers, body),
  };
}

/** `http:` as it is written; `body`: its file's text where it names one. */
export function httpRequest(http: PlainMap, body: unknown, token: string | undefined): ClientRequest {
  const { method, path } = http;
  return {
    method: typeof method === "string" ? method.toUpperCase() : body === undefined ? "GET" : "POST",
    path: String(path),
    ...withBody(headersOf(http["headers"], token), body),
  };
}

/** A text is sent as it is, anything else as JSON. */
function withBody(headers: ClientRequest["headers"], body: unknown): Pick<ClientRequest, "headers" | "body"> {
  if (body === undefined) return { headers, body: undefined };
  return {
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  };
}

function headersOf(given: unknown, token: string | undefined): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  for (const [name, value] of Object.entries(isPlainMap(given) ? given : {})) {
    if (value === null) delete headers[name.toLowerCase()];
    else headers[name.toLowerCase()] = String(value);
  }
  return headers;
}
