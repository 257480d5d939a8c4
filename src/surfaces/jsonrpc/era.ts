/**
 * Decides which of MCP's two eras a message belongs to, and checks the envelope and headers of the stateless one (revision
 * 2026-07-28). The body takes precedence: a proxy that drops a header must not change the meaning of a message.
 */
import { isJsonObject, type JsonMap } from "../../base/json.ts";
import { LEGACY_REVISIONS, META, STATELESS_REVISION } from "../../base/mcp-revisions.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import { RPC, type RpcError } from "./jsonrpc.ts";

/** Of a request, in lower case. */
export type EraHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface Era {
  readonly stateless: boolean;
  /** Answered with 400, before the method is looked up. */
  readonly refused: RpcError | undefined;
}

const LEGACY: Era = { stateless: false, refused: undefined };
const STATELESS: Era = { stateless: true, refused: undefined };

export function readEra(message: JsonValue, headers: EraHeaders): Era {
  const { method, params, id }: JsonMap = isJsonObject(message) ? message : {};
  const meta = isJsonObject(params) && isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const claimed = meta[META.version];
  const named = headerOf(headers, "mcp-protocol-version");
  if (claimed === undefined) {
    if (named === undefined || named < STATELESS_REVISION) return legacyEra(method, named);
    if (method === "initialize")
      return mismatch("initialize belongs to revisions before the one that MCP-Protocol-Version names");
    return id === undefined ? STATELESS : refused(RPC.params, missingMessage(META.version));
  }
  if (typeof claimed !== "string")
    return refused(RPC.params, `Invalid params: '_meta["${META.version}"]' must be a string.`);
  if (id !== undefined && !isJsonObject(meta[META.capabilities]))
    return refused(RPC.params, missingMessage(META.capabilities));
  if (named !== undefined && named !== claimed)
    return mismatch(`MCP-Protocol-Version is '${named}', the body says '${claimed}'`);
  const header = headerOf(headers, "mcp-method");
  if (header !== undefined && header !== method)
    return mismatch(`Mcp-Method is '${header}', the body says otherwise`);
  if (claimed !== STATELESS_REVISION) {
    return refused(RPC.unsupportedVersion, `Unsupported protocol version: ${claimed}`, {
      supported: [STATELESS_REVISION],
      requested: claimed,
    });
  }
  return id === undefined ? STATELESS : requiredHeaders(method, params, headers);
}

/** Revisions up to 2025-11-25 require 400 when the header names an unknown one. */
function legacyEra(method: JsonValue | undefined, named: string | undefined): Era {
  if (named === undefined || method === "initialize" || LEGACY_REVISIONS.includes(named)) return LEGACY;
  const message = `Unsupported protocol version: ${named}. Supported: ${LEGACY_REVISIONS.join(", ")}.`;
  return { stateless: false, refused: { code: RPC.server, message } };
}

/** The param that `Mcp-Name` repeats, by method. */
const NAMED_BY: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

function requiredHeaders(
  method: JsonValue | undefined,
  params: JsonValue | undefined,
  headers: EraHeaders,
): Era {
  for (const name of ["MCP-Protocol-Version", "Mcp-Method"]) {
    if (headerOf(headers, name.toLowerCase()) === undefined) return mismatch(`the header ${name} is missing`);
  }
  const key = NAMED_BY.get(method);
  const value = key === undefined || !isJsonObject(params) ? undefined : params[key];
  if (typeof value !== "string") return STATELESS;
  const header = headerOf(headers, "mcp-name");
  if (header === undefined) return mismatch("the header Mcp-Name is missing");
  return decoded(header) === value ? STATELESS : mismatch("Mcp-Name and the body name different things");
}

const WRAPPED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;

/** Values that are not plain header text are sent as `=?base64?…?=`; undefined when that is malformed. */
function decoded(header: string): string | undefined {
  if (!header.startsWith("=?base64?") || !header.endsWith("?=")) return header;
  const text = WRAPPED.exec(header)?.[1];
  return text === undefined ? undefined : Buffer.from(text, "base64").toString("utf8");
}

function headerOf(headers: EraHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value.trim() : value?.[0]?.trim();
}

function missingMessage(key: string): string {
  return `Invalid params: '_meta["${key}"]' is missing.`;
}

function mismatch(reason: string): Era {
  return refused(RPC.headerMismatch, `Bad request: ${reason}.`);
}

function refused(code: number, message: string, data?: JsonValue): Era {
  return { stateless: true, refused: data === undefined ? { code, message } : { code, message, data } };
}
