/**
 * JSON-RPC 2.0 as MCP servers of tools speak it (CONTRACT section 10): the words that the MCP bridge and the control
 * plane share. No socket and no protocol here.
 *
 * A surface makes one McpServer, refuses foreign pages with `refusedOrigin` (http/origin-check), lets the caller in, reads the body's bytes
 * and hands all of it to `serveRpc` (jsonrpc-http.ts). Eras, envelopes, methods and batches are dealt with below that:
 * http → handle → era, methods.
 */
import type { JsonMap } from "../../base/json.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { MaybePromise } from "../../plugin/index.ts";

/** What a surface offers. One for all its calls; `Caller` is whatever it wants to know of who asks. */
export interface McpServer<Caller> {
  readonly identity: { readonly name: string; readonly title: string; readonly version: string };
  /** Told to clients when they begin. Default: nothing. */
  readonly instructions?: string;
  /** In an order that does not change while the tools do not. */
  tools(caller: Caller): MaybePromise<readonly McpTool[]>;
  /** Runs one tool. An unknown name is its to refuse, with `invalidParams`. A throw is answered -32603. */
  call(caller: Caller, call: ToolInvocation): MaybePromise<RpcOutcome>;
  /** The client has withdrawn the request that the caller's latest `tools` or `call` belongs to. Absent: it runs to its end. */
  cancel?(caller: Caller): void;
  /** Its tools send log messages. Default: false. */
  readonly logs?: boolean;
}

/** As `tools/list` shows it. */
export interface McpTool {
  /** 1 to 128 of `A-Z a-z 0-9 _ . -`. */
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** `type: object` at its root. */
  readonly inputSchema: JsonMap;
  readonly outputSchema?: JsonMap;
  readonly annotations?: JsonMap;
}

export interface ToolInvocation {
  readonly name: string;
  /** {} when the client sends none. Not checked against the tool's schema. */
  readonly args: JsonMap;
  /** Undefined when the client wants none, or takes no event stream. */
  readonly progress: ((progress: Progress) => void) | undefined;
  /** Undefined when the client takes no event stream, or wants no log messages. */
  readonly log: ((message: LogMessage) => void) | undefined;
  /** The least severe messages that `log` passes; undefined: all. */
  readonly logLevel: string | undefined;
}

/** Params of `notifications/message`. */
export interface LogMessage {
  readonly level: string;
  readonly logger?: string;
  readonly data: JsonValue;
}

/** From least to most severe (RFC 5424). */
export const LOG_LEVELS: readonly string[] = [
  ...["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"],
];

export interface Progress {
  /** Grows with every report. */
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** `result` of a tool is an MCP result: `content`, perhaps `structuredContent` and `isError`. */
export type RpcOutcome = { readonly result: JsonMap } | { readonly error: RpcError };

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue;
  /** Of the error catalogue, for `X-Error-Code`. Default: as RPC_ERROR_CODES names `code`. */
  readonly errorCode?: string;
}

/** The specification's table, three codes of MCP's stateless revision, and the usual one of a withdrawn request. */
export const RPC = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  server: -32000,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  cancelled: -32800,
} as const;

/** What `X-Error-Code` says of an error of the protocol itself. */
export const RPC_ERROR_CODES: Readonly<Record<number, string>> = {
  [RPC.parse]: "malformed_json",
  [RPC.request]: "invalid_request",
  [RPC.method]: "method_not_found",
  [RPC.params]: "invalid_params",
  [RPC.internal]: "internal",
  [RPC.headerMismatch]: "header_mismatch",
  [RPC.missingCapability]: "missing_capability",
  [RPC.unsupportedVersion]: "unsupported_version",
};

/** The usual refusal: of arguments, unknown names and business rules. */
export function invalidParams(message: string): { readonly error: RpcError } {
  return { error: { code: RPC.params, message } };
}

/** Structured content, and the same JSON as text for clients that know none (CONTRACT section 10). */
export function structured(content: JsonMap): { readonly result: JsonMap } {
  return {
    result: { content: [{ type: "text", text: JSON.stringify(content) }], structuredContent: content },
  };
}
