/**
 * The MCP bridge: `POST /api/{project_uuid}/mcp`, an MCP server whose tools are a project's endpoints and those of its
 * upstream MCP servers. The protocol is jsonrpc.ts, the tools are mcp-tools.ts.
 */
import { VERSION } from "../../base/version.ts";
import type { CompiledProject, McpOffer } from "../../compile/model.ts";
import { refusedOrigin } from "../../http/origin-check.ts";
import { reject } from "../../plugin/index.ts";
import type { SurfaceContext, Visit } from "../arrival.ts";
import { serveRpc } from "../jsonrpc/http.ts";
import type { McpServer } from "../jsonrpc/jsonrpc.ts";
import { RunningRequests } from "../jsonrpc/running.ts";
import { McpCalls } from "./calls.ts";
import { callTool, offeredTools } from "./tools.ts";

/** Bridges of all projects, by what they offer: one server each, for all their calls. */
const servers = new WeakMap<McpOffer, McpServer<McpCalls>>();
/** Requests that are being answered, by gateway. */
const runningOf = new WeakMap<SurfaceContext["open"], RunningRequests>();

export function serveMcp(visit: Visit): void {
  const { req, res, call, generation, ctx } = visit;
  const { config } = generation;
  const foreign = refusedOrigin(req, {
    client: call.clientAddress,
    ownHost: config.server.host,
    byCookie: false,
  });
  if (foreign !== undefined) return visit.refuse(foreign);
  // Projects of any type have a bridge.
  const type = config.projects.get(call.project.uuid)?.type ?? "ai_gateway";
  const serve = (project: CompiledProject): void => {
    visit.readBytes((bytes) => {
      const caller = new McpCalls(visit, project);
      const { uuid } = call.project;
      const headers = visit.headers();
      const requests = running(ctx).of(`${uuid} ${call.token.id}`, req.headers["mcp-session-id"]);
      serveRpc({
        ...{ server: serverOf(project), caller, req, res, bytes },
        session: { requests, newId: () => ctx.random.uuid() },
        headers: () => [...headers, ...caller.rateHeaders()],
        done: (status, thrown) => {
          if (thrown !== undefined)
            ctx.rt.log.error({ err: thrown, request_id: call.requestId }, "the MCP bridge failed");
          caller.end(thrown === undefined ? status : 500);
        },
      });
    });
  };
  visit.admit(type, () => reject("internal", {}), serve);
}

function running({ open }: SurfaceContext): RunningRequests {
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
