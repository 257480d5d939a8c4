/**
 * The MCP bridge: an MCP server whose tools are a project's endpoints and those of its upstream MCP servers. The protocol
 * is in jsonrpc/, the tools are in tools.ts.
 */
import { VERSION } from "../../base/version.ts";
import type { CompiledProject, McpOffer } from "../../compile/model.ts";
import { serveRpc } from "../jsonrpc/http.ts";
import type { McpServer } from "../jsonrpc/jsonrpc.ts";
import { RunningRequests } from "../jsonrpc/running.ts";
import type { RequestContext, SurfaceGateway } from "../request-context.ts";
import type { Route, SurfaceModule } from "../route.ts";
import { McpCalls } from "./calls.ts";
import { callTool, offeredTools } from "./tools.ts";

const post: Route<Buffer | undefined, CompiledProject> = {
  ...{ method: "POST", path: "/api/{project_uuid}/mcp" },
  summary: "JSON-RPC of an MCP server with the project's tools.",
  ...{ surface: "mcp", scope: "mcp", projectType: "any", body: "bytes", checksOrigin: true },
  handler: serveMcp,
};

export const mcp: SurfaceModule = { routes: [post] };

/** One server for each offer, for all its calls. */
const servers = new WeakMap<McpOffer, McpServer<McpCalls>>();
/** Requests that are being answered, by gateway. */
const runningOf = new WeakMap<SurfaceGateway["open"], RunningRequests>();

function serveMcp(context: RequestContext, project: CompiledProject, bytes: Buffer | undefined): undefined {
  const { req, res, call, gateway } = context;
  const { log } = gateway.rt;
  const caller = new McpCalls(context, project);
  const headers = context.headers();
  const requests = running(gateway).of(
    `${call.project.uuid} ${call.token.id}`,
    req.headers["mcp-session-id"],
  );
  serveRpc({
    ...{ server: serverOf(project), caller, req, res, bytes },
    session: { requests, newId: () => gateway.random.uuid() },
    headers: () => [...headers, ...caller.rateHeaders()],
    done: (status, thrown) => {
      if (thrown !== undefined)
        log.error({ err: thrown, request_id: call.requestId }, "the MCP bridge failed");
      caller.end(thrown === undefined ? status : 500);
    },
  });
}

function running({ open }: SurfaceGateway): RunningRequests {
  let requests = runningOf.get(open);
  if (requests === undefined) {
    requests = new RunningRequests();
    runningOf.set(open, requests);
  }
  return requests;
}

function serverOf({ mcp: offer, ref }: CompiledProject): McpServer<McpCalls> {
  let server = servers.get(offer);
  if (server === undefined) {
    server = {
      identity: { name: "sluice", title: ref.name, version: VERSION },
      tools: (calls) => offeredTools(offer, calls),
      call: (calls, asked) => callTool(offer, calls, asked),
      cancel: (calls) => calls.cancel(),
      logs: offer.servers.length > 0,
    };
    servers.set(offer, server);
  }
  return server;
}
