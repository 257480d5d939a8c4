/**
 * The control plane: an MCP server whose tools administer the gateway, for control-plane tokens only. It changes overrides
 * in the store, never files, and every change is audited.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { tokenHash } from "../../base/token.ts";
import type { ResolvedConfig, TokenConfig } from "../../config/model.ts";
import { readBytesWithin } from "../../http/body.ts";
import { countHeader, refusedOrigin } from "../../http/head-rules.ts";
import { type FlatHeaders, sendError } from "../../http/respond.ts";
import { bearerToken, type GatewayError, isGatewayError, reject } from "../../plugin/index.ts";
import type { AuthFailures } from "../auth-failures.ts";
import { controlTokenOf } from "../control-tokens.ts";
import { serveRpc } from "../jsonrpc/http.ts";
import {
  invalidParams,
  type McpServer,
  type McpTool,
  type RpcOutcome,
  type ToolInvocation,
} from "../jsonrpc/jsonrpc.ts";
import { listEndpoints, listProjects, setEndpointActive } from "./endpoints.ts";
import { exportBackup, listOverrides, reloadConfig } from "./gateway.ts";
import { getSpend, listAuditEvents, listDeliveries, sendTestWebhook } from "./records.ts";
import { createToken, listTokens, revokeToken, rotateToken } from "./tokens.ts";
import {
  argumentCheck,
  type ControlCaller,
  type ControlContext,
  type ControlTool,
  inputSchema,
} from "./tool.ts";

export type { ControlContext } from "./tool.ts";

/** In the order of `tools/list`: read-only tools first. */
const TOOLS: readonly ControlTool[] = [
  ...[listProjects, listEndpoints, listTokens, listOverrides],
  ...[getSpend, listAuditEvents, listDeliveries],
  ...[createToken, rotateToken, revokeToken, setEndpointActive],
  ...[sendTestWebhook, reloadConfig, exportBackup],
];

/** Calls that may be open at a time. */
const OPEN_MAX = 64;

/** What the HTTP side needs in addition to the tools' context. */
export interface ControlListener {
  /** Address of the listener that serves the control plane. */
  host(): string;
  readonly failures: AuthFailures;
  uuid(): string;
  clientAddress(req: IncomingMessage): string;
  isDraining(): boolean;
}

/** The handler of `POST /api/control`. Created once: changes run one after the other. */
export function controlPlane(
  ctx: ControlContext,
  listener: ControlListener,
): (req: IncomingMessage, res: ServerResponse) => void {
  const server = controlServer(ctx);
  let open = 0;
  return (req, res) => {
    const headers: FlatHeaders = ["X-Request-Id", listener.uuid()];
    const ipAddress = listener.clientAddress(req);
    const refusal =
      refusedOrigin(req, { client: ipAddress, ownHost: listener.host(), byCookie: false }) ??
      (listener.isDraining() ? reject("draining", {}, { retryAfterSeconds: 1 }) : undefined);
    const name = refusal ?? callerName(req, ctx);
    if (isGatewayError(name)) {
      const attempt = { surface: "control", address: ipAddress } as const;
      return listener.failures.refuse(attempt, name, (error) => sendError(req, res, error, headers));
    }
    if (open >= OPEN_MAX)
      return sendError(req, res, reject("overloaded", {}, { retryAfterSeconds: 1 }), headers);
    open++;
    res.once("close", () => open--);
    const caller = { name, ipAddress };
    const { max_body_bytes: bytesMax, body_timeout_ms: timeoutMs } = ctx.config().server;
    const limits = { bytesMax, timeoutMs, clock: ctx.clock, budget: ctx.buffered };
    readBytesWithin(req, res, limits, (bytes) => {
      if (isGatewayError(bytes)) return sendError(req, res, bytes, headers);
      serveRpc({
        server,
        caller,
        req,
        res,
        bytes,
        headers: () => headers,
        done: (_status, thrown) => {
          if (thrown !== undefined)
            ctx.log.error({ err: thrown, actor: name }, "a control-plane tool failed");
        },
      });
    });
  };
}

/** The control plane as an MCP server. All callers have the same tools. */
export function controlServer(ctx: ControlContext): McpServer<ControlCaller> {
  const shown = TOOLS.map(asMcpTool);
  const checks = new Map<string, ReturnType<typeof argumentCheck>>();
  /** Settles when the latest change has: each change sees the result of the previous one. */
  let pending: Promise<unknown> = Promise.resolve();
  const run = async (
    tool: ControlTool,
    { args }: ToolInvocation,
    caller: ControlCaller,
  ): Promise<RpcOutcome> => {
    if (tool.effect === "reads") return tool.run(ctx, args, caller);
    const mine = pending.then(() => tool.run(ctx, args, caller));
    pending = mine.catch(() => undefined);
    return mine;
  };
  return {
    identity: { name: "sluice-control", title: "Sluice control plane", version: ctx.version },
    instructions:
      "Administers a Sluice gateway at run time. Lasting changes belong in the configuration in git.",
    tools: () => shown,
    async call(caller, call) {
      const tool = TOOLS.find(({ name }) => name === call.name);
      if (tool === undefined) return invalidParams(`Unknown tool: ${call.name.slice(0, 128)}`);
      let check = checks.get(tool.name);
      // Compiled on first use: without calls of the control plane Ajv is not loaded.
      if (check === undefined) checks.set(tool.name, (check = argumentCheck(tool)));
      const fault = check(call.args);
      if (fault !== undefined) return invalidParams(fault);
      const outcome = await run(tool, call, caller);
      const fields = {
        tool: tool.name,
        actor: caller.name,
        client: caller.ipAddress,
        ok: "result" in outcome,
      };
      ctx.log.info(fields, "control-plane call");
      return outcome;
    },
  };
}

function asMcpTool(tool: ControlTool): McpTool {
  const { name, title, description, effect, isIdempotent } = tool;
  return {
    ...{ name, title, description },
    inputSchema: inputSchema(tool),
    annotations: {
      readOnlyHint: effect === "reads" && isIdempotent,
      destructiveHint: tool === revokeToken || tool === rotateToken || tool === setEndpointActive,
      idempotentHint: isIdempotent,
      openWorldHint: tool === sendTestWebhook,
    },
  };
}

/**
 * Name of the caller's control-plane token. A valid token of a project is refused with 403, any other with 401
 * (specification, JSON-RPC surfaces).
 */
function callerName(req: IncomingMessage, ctx: ControlContext): string | GatewayError {
  const config = ctx.config();
  // Counted in the raw list: `headersDistinct` throws on a header named `__proto__` (CVE-2026-21710).
  if (countHeader(req.rawHeaders, "authorization") > 1) return reject("duplicate_authorization", {});
  const token = bearerToken(req.headers.authorization);
  if (token === undefined) return reject("missing_bearer", {});
  if (!/^gw_(?:live|test)_/.test(token)) return reject("token_format", {});
  const known = controlTokenOf(config.control_plane.tokens, token, ctx.clock.nowMs());
  if (known !== undefined) return known.name;
  const other = projectToken(config, tokenHash(token));
  const isGood =
    other?.is_active === true && (other.expires_at ?? Number.POSITIVE_INFINITY) > ctx.clock.nowMs();
  if (!isGood) return reject("token_invalid", {});
  return reject("scope_missing", { scope: "control", scopes: other.scopes.join(", ") || "none" });
}

function projectToken(config: ResolvedConfig, hash: string): TokenConfig | undefined {
  for (const { tokens } of config.projects) {
    const token = tokens.find((one) => one.hash === hash);
    if (token !== undefined) return token;
  }
  return undefined;
}
