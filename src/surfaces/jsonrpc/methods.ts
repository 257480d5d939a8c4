/** The methods of an MCP server that has tools only, in both eras. */
import { isJsonObject, type JsonMap } from "../../base/json.ts";
import { LEGACY_REVISIONS, META, STATELESS_REVISION } from "../../base/mcp-revisions.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import { andThen, type MaybePromise } from "../../plugin/index.ts";
import {
  invalidParams,
  LOG_LEVELS,
  type McpServer,
  type McpTool,
  RPC,
  type RpcOutcome,
  type ToolInvocation,
} from "./jsonrpc.ts";
import type { ClientRequests } from "./running.ts";

export interface MethodCall {
  readonly method: string;
  readonly params: JsonValue | undefined;
  readonly stateless: boolean;
  readonly notify: ((notification: JsonMap) => void) | undefined;
  /** Of a client whose session is known. */
  readonly requests: ClientRequests | undefined;
}

/** Tools on one page of `tools/list`; most clients read one page. */
const TOOLS_PER_PAGE = 500;

/** Lists must not be cached: tools differ by token and change with the configuration. */
const NOT_CACHED: JsonMap = { ttlMs: 0, cacheScope: "private" };

export function callMethod<Caller>(
  server: McpServer<Caller>,
  caller: Caller,
  call: MethodCall,
): MaybePromise<RpcOutcome> {
  const { method, params = {}, stateless } = call;
  const isKnown =
    (stateless ? STATELESS_METHODS : LEGACY_METHODS).includes(method) ||
    (method === "logging/setLevel" && !stateless && server.logs === true);
  if (!isKnown) return { error: { code: RPC.method, message: `Method not found: ${method.slice(0, 128)}` } };
  if (!isJsonObject(params)) return invalidParams("'params' must be an object.");
  const answer = (outcome: RpcOutcome): RpcOutcome => (stateless ? completed(server, outcome) : outcome);
  switch (method) {
    case "initialize":
      return initialize(server, params);
    case "ping":
      return { result: {} };
    case "logging/setLevel":
      return setLogLevel(call.requests, params["level"]);
    case "server/discover":
      return answer(discover(server));
    case "tools/list":
      return andThen(server.tools(caller), (tools) => answer(listTools(tools, params["cursor"], stateless)));
    default:
      return andThen(callTool(server, caller, params, call), answer);
  }
}

const LEGACY_METHODS = ["initialize", "ping", "tools/list", "tools/call"];
const STATELESS_METHODS = ["server/discover", "tools/list", "tools/call"];

/** The client's revision when it is known, else the newest: the client decides whether to continue. */
function initialize<Caller>(server: McpServer<Caller>, params: JsonMap): RpcOutcome {
  const { identity, instructions } = server;
  const { protocolVersion } = params;
  if (typeof protocolVersion !== "string") return invalidParams("'protocolVersion' must be a string.");
  const agreed = LEGACY_REVISIONS.find((revision) => revision === protocolVersion) ?? LEGACY_REVISIONS[0];
  return {
    result: {
      protocolVersion: agreed,
      capabilities: capabilitiesOf(server),
      serverInfo: identity,
      ...said(instructions),
    },
  };
}

function capabilitiesOf<Caller>({ logs }: McpServer<Caller>): JsonMap {
  return logs === true ? { tools: {}, logging: {} } : { tools: {} };
}

function setLogLevel(requests: ClientRequests | undefined, level: JsonValue | undefined): RpcOutcome {
  if (typeof level !== "string" || !LOG_LEVELS.includes(level))
    return invalidParams(`'level' must be one of ${LOG_LEVELS.join(", ")}.`);
  requests?.setLogLevel(level);
  return { result: {} };
}

function discover<Caller>(server: McpServer<Caller>): RpcOutcome {
  const { instructions } = server;
  return {
    result: {
      supportedVersions: [STATELESS_REVISION],
      capabilities: capabilitiesOf(server),
      ...said(instructions),
      ...NOT_CACHED,
    },
  };
}

function listTools(tools: readonly McpTool[], cursor: JsonValue | undefined, stateless: boolean): RpcOutcome {
  const from =
    cursor === undefined ? 0 : typeof cursor === "string" && /^\d{1,9}$/.test(cursor) ? Number(cursor) : -1;
  if (from < 0 || (from > 0 && from >= tools.length))
    return invalidParams("'cursor' is none that this server gave.");
  const next = from + TOOLS_PER_PAGE;
  return {
    result: {
      tools: tools.slice(from, next).map(shown),
      ...(next < tools.length ? { nextCursor: String(next) } : {}),
      ...(stateless ? NOT_CACHED : {}),
    },
  };
}

function callTool<Caller>(
  server: McpServer<Caller>,
  caller: Caller,
  params: JsonMap,
  { notify, stateless, requests }: MethodCall,
): MaybePromise<RpcOutcome> {
  const { name, arguments: args = {}, _meta: meta } = params;
  if (typeof name !== "string") return invalidParams("'name' must be a string.");
  if (!isJsonObject(args)) return invalidParams("'arguments' must be an object.");
  const about: JsonMap = isJsonObject(meta) ? meta : {};
  // The stateless revision sends log messages only when the request asks for them.
  const level = stateless ? about[META.logLevel] : requests?.logLevel;
  if (stateless && level !== undefined && !LOG_LEVELS.includes(String(level)))
    return invalidParams(`'_meta["${META.logLevel}"]' must be one of ${LOG_LEVELS.join(", ")}.`);
  const logLevel = typeof level === "string" ? level : undefined;
  const log = stateless && level === undefined ? undefined : logger(logLevel, notify);
  return server.call(caller, {
    name,
    args,
    progress: reporter(about["progressToken"], notify),
    log,
    logLevel,
  });
}

function logger(level: string | undefined, notify: MethodCall["notify"]): ToolInvocation["log"] {
  if (notify === undefined) return undefined;
  const least = level === undefined ? 0 : LOG_LEVELS.indexOf(level);
  return (message) => {
    if (LOG_LEVELS.indexOf(message.level) < least) return;
    notify({ jsonrpc: "2.0", method: "notifications/message", params: { ...message } });
  };
}

function reporter(token: JsonValue | undefined, notify: MethodCall["notify"]): ToolInvocation["progress"] {
  if (notify === undefined || (typeof token !== "string" && typeof token !== "number")) return undefined;
  return (progress) =>
    notify({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: token, ...progress },
    });
}

/** Every result of the stateless revision says whether it is complete, and names the server. */
function completed<Caller>({ identity }: McpServer<Caller>, outcome: RpcOutcome): RpcOutcome {
  if ("error" in outcome) return outcome;
  const { _meta: meta, ...rest } = outcome.result;
  return {
    result: {
      resultType: "complete",
      ...rest,
      _meta: { ...(isJsonObject(meta) ? meta : {}), [META.server]: identity },
    },
  };
}

/** Without undefined keys, which JSON does not have. */
function shown({ name, title, description, inputSchema, outputSchema, annotations }: McpTool): JsonMap {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

function said(instructions: string | undefined): JsonMap {
  return instructions === undefined ? {} : { instructions };
}
