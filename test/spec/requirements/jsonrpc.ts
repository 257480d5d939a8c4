/** Rules of the JSON-RPC surfaces (MCP bridge, control plane), which step 5 delivers. */
import { later } from "./rule.ts";

export const JSONRPC = {
  ...later(5, "SPEC JSON-RPC surfaces", {
    "rpc.error.envelope": "A protocol error is HTTP 200 with jsonrpc, id and error {code, message}.",
    "rpc.http.400": "A body that is not JSON is HTTP 400 with a JSON-RPC envelope.",
    "rpc.http.401": "A missing token is 401 with the plain error body.",
    "rpc.http.403": "A wrong scope is 403 with the plain error body.",
    "rpc.http.204": "A notification gets 204 without a body.",
    "rpc.code.parse": "Malformed JSON is -32700.",
    "rpc.code.request": "A request without a method is -32600.",
    "rpc.code.method": "An unknown method is -32601.",
    "rpc.code.params.tool": "An unknown tool is -32602.",
    "rpc.code.params.argument": "A missing argument, a bad type or enum value is -32602.",
    "rpc.code.params.business": "A business rule of the control plane is -32602.",
    "rpc.code.params.project": "An unknown project, token or endpoint is -32602.",
    "rpc.code.params.project-type": "An invalid project_type is -32602.",
    "rpc.code.params.scopes": "Unknown scopes are -32602.",
    "rpc.code.params.is-active": "An is_active that is not a boolean is -32602.",
    "rpc.code.internal": "A provider's failure is -32603.",
    "rpc.code.internal.upstream": "An upstream MCP server that is unreachable or answers garbage is -32603.",
    "rpc.code.upstream": "Codes of an upstream MCP server are passed on unchanged.",
  }),
  ...later(5, "SPEC Idempotency", {
    "control.create.new-row": "`gw_create_token` makes a new token on each call.",
    "control.rotate.each": "`gw_rotate_token` rotates on each call.",
    "control.revoke.idempotent": "`gw_revoke_token` may be called again.",
    "control.set-active.idempotent": "`gw_set_endpoint_active` may be called again.",
  }),
  ...later(5, "SPEC Resources", {
    "mcp.expose": "An endpoint with expose_as_mcp_tool is a tool of the project's bridge.",
  }),
};
