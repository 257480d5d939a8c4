/**
 * The client side of the JSON-RPC surfaces: one message over HTTP, in the form of either of MCP's eras. Must know
 * nothing of the gateway's code.
 */
import assert from "node:assert/strict";
import { at } from "./at.ts";
import type { Answer, Client, Sent } from "./client.ts";
import { hashOf } from "./config.ts";

export const CONTROL = "/api/control";
export const CONTROL_TOKEN = "gw_live_control0Plane9";
export const REVISION = "2026-07-28";

/** Top-level keys of a configuration that knows the control-plane token, by the name `platform`. */
export const WITH_CONTROL = {
  control_plane: { tokens: [{ name: "platform", hash: hashOf(CONTROL_TOKEN) }] },
};

export interface Message {
  readonly method?: unknown;
  readonly params?: unknown;
  /** Default 1; undefined makes a notification. */
  readonly id?: unknown;
}

/** One message of the revisions with `initialize`, to the control plane unless `path` says otherwise. */
export function rpc(
  client: Client,
  message: Message,
  sent: Sent & { readonly path?: string } = {},
): Promise<Answer> {
  const { path = CONTROL, ...rest } = sent;
  const body = { jsonrpc: "2.0", id: 1, ...message };
  return client.send(path, { token: CONTROL_TOKEN, body, ...rest });
}

/** One message of the stateless revision, with the envelope and headers that it asks for. `meta` and headers win. */
export function statelessRpc(
  client: Client,
  {
    method,
    params = {},
    id = 1,
  }: { readonly method: string; readonly params?: object; readonly id?: unknown },
  sent: Sent & { readonly path?: string; readonly meta?: object } = {},
): Promise<Answer> {
  const { meta, headers, ...rest } = sent;
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const name = at(params, "name");
  const standard: Record<string, string> = { "mcp-protocol-version": REVISION, "mcp-method": method };
  if (typeof name === "string") standard["mcp-name"] = name;
  const message = { method, params: { ...params, _meta: meta ?? envelope }, id };
  return rpc(client, message, { ...rest, headers: { ...standard, ...headers } });
}

/** Calls a tool of the control plane. */
export function callTool(client: Client, name: string, args: object = {}, sent: Sent = {}): Promise<Answer> {
  return rpc(client, { method: "tools/call", params: { name, arguments: args } }, sent);
}

/** Asserts that a tool has done its work, and returns its structured content. */
export function contentOf(answer: Answer): unknown {
  assert.equal(answer.status, 200, answer.text);
  const content = at(answer.json, "result", "structuredContent");
  assert.notEqual(content, undefined, answer.text);
  const text = at(answer.json, "result", "content", 0, "text");
  assert.deepEqual(JSON.parse(String(text)), content, "the text is the same JSON");
  return content;
}

/** Asserts a protocol error in its envelope. */
export function assertRpcError(answer: Answer, code: number, message: RegExp, status = 200): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(String(answer.headers["content-type"]), /^application\/json/);
  assert.equal(at(answer.json, "jsonrpc"), "2.0");
  assert.equal(at(answer.json, "error", "code"), code, answer.text);
  assert.match(String(at(answer.json, "error", "message")), message);
  assert.equal(at(answer.json, "result"), undefined);
}
