/**
 * The MCP bridge as its clients meet it, and upstream MCP servers that say what a test wants. Must know nothing of the
 * gateway's code.
 */
import { type FakeUpstream, fakeUpstream, type UpstreamRequest } from "../../../src/testing/fake-upstream.ts";
import { at } from "./at.ts";
import type { Answer, Client, Sent } from "./client.ts";
import { type ConfigParts, hashOf, PROJECT } from "./config.ts";
import type { Closer } from "./gateway.ts";
import { type Message, rpc } from "./rpc.ts";

export const BRIDGE = `/api/${PROJECT}/mcp`;
export const AGENT = "gw_live_agent0Bridge5";

/** The usual configuration, with a token for the bridge and leave to speak to servers on this machine. */
export function bridgeParts(parts: ConfigParts = {}): ConfigParts {
  const agent = { name: "agent", hash: hashOf(AGENT), scopes: ["mcp"] };
  return {
    ...parts,
    tokens: [agent, ...(parts.tokens ?? [])],
    root: { network: { allow: ["127.0.0.0/8"] }, ...parts.root },
  };
}

/** One message to the bridge. */
export function ask(client: Client, message: Message, sent: Sent = {}): Promise<Answer> {
  return rpc(client, message, { path: BRIDGE, token: AGENT, ...sent });
}

/** Calls a tool of the bridge. */
export function use(client: Client, name: string, args: object = {}, sent: Sent = {}): Promise<Answer> {
  return ask(client, { method: "tools/call", params: { name, arguments: args } }, sent);
}

/** Names of the tools that the bridge lists, in their order. */
export async function toolNames(client: Client): Promise<unknown[]> {
  const tools = at((await ask(client, { method: "tools/list" })).json, "result", "tools");
  return Array.isArray(tools) ? tools.map((tool) => at(tool, "name")) : [];
}

/** Asks for progress, and takes events. */
export const EVENTS = { headers: { accept: "application/json, text/event-stream" } };

/** What a server answers to one method: a `result`, an `error`, or an HTTP answer of any kind. */
export type Said =
  | { readonly result: object }
  | { readonly error: object }
  | { readonly status: number; readonly text?: string; readonly type?: string };

export type Script = Readonly<Record<string, Said | ((message: unknown, request: UpstreamRequest) => Said)>>;

export interface FakeMcpServer extends FakeUpstream {
  /** Messages that came in, by their methods. */
  methods(): unknown[];
  /** The latest message of this method, and its request. */
  last(method: string): { readonly message: unknown; readonly request: UpstreamRequest };
}

/** Answers by method; notifications get 202. What is not in the script is unknown to it. */
export async function mcpServer(
  closer: Closer,
  script: Script,
  headers: Readonly<Record<string, string>> = {},
): Promise<FakeMcpServer> {
  const upstream = await fakeUpstream();
  closer.after(() => upstream.close());
  upstream.answer((response, request) => {
    const message: unknown = request.body === "" ? {} : JSON.parse(request.body);
    const id = at(message, "id");
    if (id === undefined) return void response.writeHead(202).end();
    const scripted = script[String(at(message, "method"))] ?? {
      error: { code: -32601, message: "Unknown." },
    };
    const said = typeof scripted === "function" ? scripted(message, request) : scripted;
    if ("status" in said) {
      response.writeHead(said.status, { "content-type": said.type ?? "application/json" });
      return void response.end(said.text ?? "");
    }
    response.writeHead(200, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
  });
  const messages = (): { readonly message: unknown; readonly request: UpstreamRequest }[] =>
    upstream.requests.map((request) => ({
      message: request.body === "" ? {} : JSON.parse(request.body),
      request,
    }));
  return {
    ...upstream,
    methods: () => messages().map(({ message }) => at(message, "method")),
    last(method) {
      const found = messages().findLast(({ message }) => at(message, "method") === method);
      if (found === undefined) throw new Error(`nobody asked for ${method}`);
      return found;
    },
  };
}

/** Greetings of a server of the older era. */
export const INITIALIZED: Said = {
  result: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "fake", version: "1.0.0" },
  },
};

/** Greetings of a server of the stateless revision. */
export const DISCOVERED: Said = {
  result: { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
};

/** A list of tools by their names. */
export function tools(...names: readonly string[]): { readonly result: object } {
  return { result: { tools: names.map((name) => ({ name, inputSchema: { type: "object" } })) } };
}

/** A result of nothing but text. */
export function text(said: string): { readonly result: object } {
  return { result: { content: [{ type: "text", text: said }] } };
}
