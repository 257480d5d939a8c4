/**
 * Types of JSON-RPC 2.0 and MCP servers with tools, which the MCP bridge and the control plane share. A surface defines one
 * McpServer, admits the caller, reads the body and calls `serveRpc` (http.ts); handle.ts has batches and statuses, era.ts
 * revisions, methods.ts the methods.
 */
import type { JsonMap } from "../../base/json.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { MaybePromise } from "../../plugin/index.ts";

/** What a surface offers, for all its calls. `Caller` is the surface's type for a caller. */
export interface McpServer<Caller> {
  readonly identity: { readonly name: string; readonly title: string; readonly version: string };
  /** Sent to clients by `initialize` and `server/discover`. Default: none. */
  readonly instructions?: string;
  /** In a stable order. */
  tools(caller: Caller): MaybePromise<readonly McpTool[]>;
  /** Runs one tool; refuses an unknown name with `invalidParams`. A throw is answered -32603. */
  call(caller: Caller, call: ToolInvocation): MaybePromise<RpcOutcome>;
  /** The client has cancelled the request of the caller's latest `tools` or `call`. Absent: it runs to its end. */
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
  /** Default: {}. Not checked against the tool's schema. */
  readonly args: JsonMap;
  /** undefined: the client does not request progress, or accepts no event stream. */
  readonly progress: ((progress: Progress) => void) | undefined;
  /** undefined: the client accepts no event stream, or requests no log messages. */
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
  /** Increases with every report. */
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
  /** Of the error catalog, for `X-Error-Code`. Default: RPC_ERROR_CODES of `code`. */
  readonly errorCode?: string;
}

/** The specification's table, three codes of MCP's stateless revision, and the usual one of a cancelled request. */
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

/** `X-Error-Code` of protocol errors. */
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

/** Refuses arguments, unknown names and violations of business rules. */
export function invalidParams(message: string): { readonly error: RpcError } {
  return { error: { code: RPC.params, message } };
}

/** Structured content, and the same JSON as text for clients without support for it. */
export function structured(content: JsonMap): { readonly result: JsonMap } {
  return {
    result: { content: [{ type: "text", text: JSON.stringify(content) }], structuredContent: content },
  };
}
