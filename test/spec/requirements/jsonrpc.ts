/** Rules of the JSON-RPC surfaces: control plane and MCP bridge. */
import { rules } from "./rule.ts";

export const JSONRPC = {
  ...rules("SPEC JSON-RPC surfaces", {
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
  }),
  ...rules("SPEC JSON-RPC surfaces", {
    "rpc.code.internal": "A provider's failure is -32603.",
    "rpc.code.internal.upstream": "An upstream MCP server that is unreachable or answers garbage is -32603.",
    "rpc.code.upstream": "Codes of an upstream MCP server are passed on unchanged.",
  }),
  ...rules("CONTRACT 10", {
    "rpc.batch": "A batch is answered in its order; empty and oversized ones are -32600.",
    "rpc.legacy": "Without an envelope a request is one of the revisions up to 2025-11-25.",
    "rpc.stateless":
      "With an envelope it is one of revision 2026-07-28: its headers are checked, protocol errors are 400 and 404.",
    "rpc.foreign": "A foreign Origin or Host gets 403.",
    "rpc.progress": "Progress is told as events when it is asked for and an event stream is taken.",
    "rpc.bug": "What goes wrong within is -32603 with the request's id, without its cause.",
    "rpc.error-code":
      "`X-Error-Code` names the error of every HTTP error, and of an answer with status 200 that is one error.",
    "rpc.methods": "Other methods than POST get 405.",
    "control.tools": "The control plane lists its fourteen tools with strict schemas.",
    "control.clients": "The official MCP clients list and call its tools.",
    "control.create": "A created token works at once; its plaintext is shown that once.",
    "control.lists": "Projects, endpoints, tokens, spend and overrides are listed.",
    "control.audit": "What the control plane changes is in the audit log with its token's name.",
    "control.webhooks": "Deliveries are listed, and a test webhook is sent on demand.",
    "control.reload": "`gw_reload_config` reloads, and answers with the errors of a faulty configuration.",
    "control.backup": "`gw_export_backup` holds configuration, overrides and spend, and no secret.",
  }),
  ...rules("CONTRACT 10", {
    "mcp.scope": "The bridge asks for the scope `mcp`.",
    "mcp.any-project": "Projects of any type have a bridge.",
    "mcp.schemas": "A tool shows its endpoint's schemas, `{message}` without an input_schema.",
    "mcp.call":
      "A call runs the endpoint's whole chain; with an output_schema its answer is structured content too.",
    "mcp.unknown": "An unknown or inactive tool is -32602.",
    "mcp.codes.limits": "Statuses 429 and 402 are -32000 with data {status, scope, retry_after}.",
    "mcp.codes.422": "Status 422 is -32602.",
    "mcp.codes.5xx": "Statuses 502, 503 and 500 are -32603.",
    "mcp.progress": "A client that asks for progress and takes events hears of it.",
    "mcp.gone": "A client that leaves, or a call out of time, ends the work on it.",
    "mcp.cancelled":
      "`notifications/cancelled` (up to 2025-11-25) ends the request of that client that it names, at its provider or server too.",
    "mcp.upstream.log":
      "Log messages of an upstream tool reach a client that takes events, from the level on that it has set.",
    "mcp.upstream.input":
      "Sampling, elicitation and roots are refused to upstream servers by name; -32021 is HTTP 400 in the stateless revision.",
    "mcp.upstream.tools": "Tools of upstream MCP servers are listed as `<server>__<tool>`.",
    "mcp.upstream.call": "Their calls are passed on, with progress and structured content.",
    "mcp.upstream.chain":
      "A token whose month is used up calls no upstream tool either; such calls are logged under their server.",
    "mcp.upstream.eras":
      "Upstream servers of both eras are spoken to, sessions begun anew when they are lost.",
    "mcp.upstream.ssrf": "Upstream addresses pass the SSRF guard.",
    "mcp.upstream.secrets": "Headers for upstream servers show up nowhere else.",
    "mcp.clients": "The official MCP clients list and call the bridge's tools.",
    "mcp.everything": "The official example server's tools list and answer through the bridge.",
  }),
  ...rules("CONTRACT 2", {
    "control.revoke.for-ever":
      "A revocation holds on the next call, after reloads, and when git brings the token back.",
    "control.revoke.unread":
      "Until a store that is lost at the start has been read, no token is let in: its revocation might stand there.",
    "control.lasting": "What the control plane changes outlives a restart, and is the same in every replica.",
    "control.override.drift": "Overrides are listed with what they replaced, who set them, and when.",
    "control.override.git-wins": "An override goes when git changes the value that it stands over.",
  }),
  ...rules("SPEC Idempotency", {
    "control.create.new-row": "`gw_create_token` makes a new token on each call.",
    "control.rotate.each": "`gw_rotate_token` rotates on each call.",
    "control.revoke.idempotent": "`gw_revoke_token` may be called again.",
    "control.set-active.idempotent": "`gw_set_endpoint_active` may be called again.",
  }),
  ...rules("SPEC Resources", {
    "mcp.expose": "An endpoint with expose_as_mcp_tool is a tool of the project's bridge.",
  }),
};
