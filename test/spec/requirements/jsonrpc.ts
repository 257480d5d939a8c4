/** Requirements of the JSON-RPC surfaces: control plane and MCP bridge. */
export const JSONRPC = {
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
  "rpc.code.params.values":
    "An unknown project, token, endpoint or scope, an invalid project_type, and an is_active that is not a boolean are -32602.",
  "rpc.code.internal": "A provider's failure is -32603.",
  "rpc.code.internal.upstream":
    "An upstream MCP server that is unreachable or returns invalid messages is -32603.",
  "rpc.code.upstream": "Codes of an upstream MCP server are passed on unchanged.",
  "rpc.batch": "A batch is answered in its order; empty and oversized ones are -32600.",
  "rpc.legacy": "A request without an envelope follows one of the revisions up to 2025-11-25.",
  "rpc.stateless":
    "A request with an envelope follows revision 2026-07-28: its headers are checked, protocol errors are 400 and 404.",
  "rpc.foreign": "A foreign Origin or Host gets 403.",
  "rpc.progress": "Progress is sent as events when the client requests it and accepts an event stream.",
  "rpc.bug": "An internal fault is -32603 with the request's id, without its cause.",
  "rpc.error-code":
    "`X-Error-Code` has the code of every HTTP error, and of a 200 answer that is one JSON-RPC error.",
  "rpc.methods": "Methods other than POST get 405.",
  "control.tools": "The control plane lists its fourteen tools with strict schemas.",
  "control.clients": "The official MCP clients list and call its tools.",
  "control.create": "A created token works at once; its plaintext is shown once.",
  "control.lists": "Projects, endpoints, tokens, spend and overrides are listed.",
  "control.audit": "What the control plane changes is in the audit log with its token's name.",
  "control.webhooks": "Deliveries are listed, and a test webhook is sent on demand.",
  "control.reload": "`gw_reload_config` reloads, and answers with the errors of a faulty configuration.",
  "control.backup": "`gw_export_backup` contains configuration, overrides and spend, and no secret.",
  "mcp.scope": "The bridge requires the scope `mcp`.",
  "mcp.any-project": "Projects of any type have a bridge.",
  "mcp.schemas": "A tool shows its endpoint's schemas, `{message}` without an input_schema.",
  "mcp.call":
    "A call runs the endpoint's whole chain; with an output_schema its answer has structured content as well.",
  "mcp.unknown": "An unknown or inactive tool is -32602.",
  "mcp.codes.limits": "Statuses 429 and 402 are -32000 with data {status, scope, retry_after}.",
  "mcp.codes.422": "Status 422 is -32602.",
  "mcp.codes.5xx": "Statuses 502, 503 and 500 are -32603.",
  "mcp.progress": "A client that requests progress and accepts events receives it.",
  "mcp.gone": "A call ends when its client disconnects or its time is up.",
  "mcp.cancelled":
    "`notifications/cancelled` (up to 2025-11-25) cancels the named request of that client, at its provider or upstream server as well.",
  "mcp.upstream.log":
    "Log messages of an upstream tool reach a client that accepts events, from the level that it set.",
  "mcp.upstream.input":
    "Sampling, elicitation and roots are refused to upstream servers by name; -32021 is HTTP 400 in the stateless revision.",
  "mcp.upstream.tools": "Tools of upstream MCP servers are listed as `<server>__<tool>`.",
  "mcp.upstream.call": "Their calls are passed on, with progress and structured content.",
  "mcp.upstream.chain":
    "A token whose monthly cap is reached calls no upstream tool either; such calls are logged under their server.",
  "mcp.upstream.eras": "Upstream servers of both protocol generations work; lost sessions are reopened.",
  "mcp.upstream.ssrf": "Upstream addresses pass the SSRF guard.",
  "mcp.upstream.secrets": "Headers for upstream servers appear nowhere else.",
  "mcp.clients": "The official MCP clients list and call the bridge's tools.",
  "mcp.everything": "The official example server's tools list and answer through the bridge.",
  "control.revoke.permanent":
    "After a revocation every use of the token gets 401: on the next call, after reloads, and when git brings it back.",
  "control.revoke.unread":
    "Until the overrides of a store that is lost at start have been read, no token is accepted: it could be revoked.",
  "control.lasting": "Changes of the control plane survive a restart, and apply to every replica.",
  "control.override.drift": "Overrides are listed with what they replaced, who set them, and when.",
  "control.override.git-wins": "An override is dropped when git changes its base value.",
  "control.create.new-row": "`gw_create_token` creates a new token on each call.",
  "control.rotate.each": "`gw_rotate_token` rotates on each call.",
  "mcp.expose": "An endpoint with expose_as_mcp_tool is a tool of the project's bridge.",
};
