/**
 * Messages to upstream MCP servers and their answers, as far as both eras of the protocol share them: messages,
 * revisions, the envelope and headers of the stateless one. Opens no connection.
 */
import { isJsonObject, type JsonMap } from "../../base/json.ts";
import { LEGACY_REVISIONS, META, STATELESS_REVISION } from "../../base/mcp-revisions.ts";
import { VERSION } from "../../base/version.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import { parseValue } from "../../provider-kit/index.ts";

const CLIENT: JsonMap = { name: "sluice", title: "Sluice", version: VERSION };

export interface UpstreamError {
  /** The server's own: passed on unchanged. */
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue;
}

/** `failed`: there was no answer of the protocol; in short, for the log and the client. */
export type UpstreamOutcome =
  | { readonly result: JsonMap }
  | { readonly error: UpstreamError }
  | { readonly failed: string };

export interface UpstreamProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A log message that a tool sends while it is at work. */
export interface UpstreamLog {
  readonly level: string;
  readonly logger?: string;
  readonly data: JsonValue;
}

/** How a server is spoken to, once that is known. */
export type Dialect =
  | { readonly stateless: true }
  | { readonly stateless: false; readonly revision: string; readonly session: string | undefined };

/** Params of `initialize`: this client can be asked for nothing. */
export const INITIALIZE: JsonMap = {
  protocolVersion: LEGACY_REVISIONS[0],
  capabilities: {},
  clientInfo: CLIENT,
};

export interface RequestMeta {
  readonly progressToken: number | undefined;
  /** Asks a stateless server for log messages; servers of other revisions send them unasked. */
  readonly logLevel: string | undefined;
}

/** Params with the fields that the dialect requires in every request. */
export function withEnvelope(
  params: JsonMap,
  { stateless }: Dialect,
  { progressToken, logLevel }: RequestMeta,
): JsonMap {
  const meta: JsonMap = {
    ...(stateless
      ? {
          [META.version]: STATELESS_REVISION,
          [META.client]: CLIENT,
          [META.capabilities]: {},
          ...(logLevel === undefined ? {} : { [META.logLevel]: logLevel }),
        }
      : {}),
    ...(progressToken === undefined ? {} : { progressToken }),
  };
  return Object.keys(meta).length === 0 ? params : { ...params, _meta: meta };
}

/** Headers that repeat fields of a message, and name the session. */
export function dialectHeaders(dialect: Dialect, method: string, name: string | undefined): JsonHeaders {
  if (dialect.stateless) {
    return {
      "mcp-protocol-version": STATELESS_REVISION,
      "mcp-method": method,
      ...(name === undefined ? {} : { "mcp-name": headerText(name) }),
    };
  }
  const { revision, session } = dialect;
  return {
    // Revisions before 2025-06-18 know no such header.
    ...(revision >= "2025-06-18" ? { "mcp-protocol-version": revision } : {}),
    ...(session === undefined ? {} : { "mcp-session-id": session }),
  };
}

export type JsonHeaders = Readonly<Record<string, string>>;

/** Arguments that the tool's schema marks with `x-mcp-header` go out as headers too (stateless revision). */
export function argumentHeaders(inputSchema: JsonMap | undefined, args: JsonMap): JsonHeaders {
  const found: Record<string, string> = {};
  const pending = inputSchema === undefined ? [] : [{ schema: inputSchema, value: args as JsonValue }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { schema, value } = next;
    const header = schema["x-mcp-header"];
    if (typeof header === "string" && ["string", "number", "boolean"].includes(typeof value)) {
      found[`mcp-param-${header.toLowerCase()}`] = headerText(String(value));
    }
    const { properties } = schema;
    if (!isJsonObject(properties) || !isJsonObject(value)) continue;
    for (const [key, child] of Object.entries(properties)) {
      const given = Object.hasOwn(value, key) ? value[key] : undefined;
      if (isJsonObject(child) && given !== undefined) pending.push({ schema: child, value: given });
    }
  }
  return found;
}

/** Anything but plain header text is sent in base64. */
function headerText(text: string): string {
  const isPlain = /^[\x20-\x7e]+$/.test(text) && text === text.trim() && !text.startsWith("=?base64?");
  return isPlain ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

/** The message that a text holds; undefined when it holds none. */
export function messageOf(text: string): JsonMap | undefined {
  const value = parseValue(text);
  return isJsonObject(value) ? value : undefined;
}

/** What servers may ask of a client that can do it, and this one cannot. */
const CLIENT_REQUESTS: readonly JsonValue[] = [
  ...["sampling/createMessage", "elicitation/create", "roots/list"],
];

/** Why a request of the server's own is refused. */
export function refusedRequest(method: JsonValue | undefined): string {
  const name = CLIENT_REQUESTS.find((known) => known === method);
  return name === undefined ? "Method not found." : `The gateway's MCP client does not support ${name}.`;
}

/** What an incomplete result of the stateless revision asks for, by name. */
export function wantedInput({ inputRequests }: JsonMap): string {
  const asked = isJsonObject(inputRequests) ? Object.values(inputRequests) : [];
  const methods = asked.map((request) => (isJsonObject(request) ? request["method"] : undefined));
  const names = CLIENT_REQUESTS.filter((known) => methods.includes(known));
  return names.length === 0 ? "more input" : names.join(", ");
}

/** The outcome that an answer's message represents; undefined when it is malformed. */
export function outcomeOf({ result, error }: JsonMap): UpstreamOutcome | undefined {
  if (isJsonObject(result)) return { result };
  if (!isJsonObject(error)) return undefined;
  const { code, message, data } = error;
  if (typeof code !== "number" || !Number.isInteger(code)) return undefined;
  const text = typeof message === "string" ? message : "";
  return { error: data === undefined ? { code, message: text } : { code, message: text, data } };
}
