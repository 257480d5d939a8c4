/**
 * Compiles what a project's MCP bridge offers: endpoints as tools, their schemas brought into the form that MCP asks
 * for, and the clients of its upstream servers. Opens no connection.
 */

import { uuidV5 } from "../base/ids.ts";
import type { JsonMap } from "../base/json.ts";
import { passthrough } from "../base/trace-context.ts";
import type { EndpointConfig, ProjectConfig } from "../config/model.ts";
import type { JsonSchema } from "../plugin/chat.ts";
import { isPromise } from "../plugin/index.ts";
import type { McpClient } from "../upstream/mcp/client.ts";
import type { CompileContext } from "./context.ts";
import { passthroughChain } from "./endpoint.ts";
import type { EndpointTool, McpOffer, OfferedServer } from "./model.ts";

/** What clients of equal settings share, over generations too. */
const MCP_CLIENTS = Object.freeze({ name: "mcp_servers" });

export async function compileMcp(context: CompileContext, project: ProjectConfig): Promise<McpOffer> {
  const tools = new Map<string, EndpointTool>();
  for (const endpoint of project.endpoints) {
    if (endpoint.expose_as_mcp_tool) tools.set(endpoint.slug, endpointTool(endpoint));
    if (context.slices.isUsedUp) await context.slices.yielded();
  }
  const active = project.mcp_servers.filter((server) => server.is_active);
  return { tools, servers: await Promise.all(active.map((server) => offered(context, project, server))) };
}

async function offered(
  context: CompileContext,
  project: ProjectConfig,
  { name, url, headers }: ServerSettings,
): Promise<OfferedServer> {
  const slug = nameInTools(name);
  return {
    prefix: `${slug}__`,
    ref: Object.freeze({ uuid: uuidV5(project.uuid, `mcp/${slug}`), slug, name }),
    client: clientOf(context, { name, url, headers }),
    chain: await passthroughChain(context, project, `${project.uuid}/mcp/${slug}`, undefined),
    traceparent: context.platform.traces?.traceparent ?? passthrough,
  };
}

type ServerSettings = Pick<ProjectConfig["mcp_servers"][number], "name" | "url" | "headers">;

function clientOf(context: CompileContext, settings: ServerSettings): McpClient {
  const { clock, log } = context.platform;
  const known = { ...settings, allow: context.config.network.allow };
  const client = context.lease.take<McpClient>(MCP_CLIENTS, known, {
    make: () => context.outbound.mcpClient({ ...known, clock, log }),
    close: (made) => made.close(),
  });
  if (isPromise(client)) throw new Error("an MCP client is made at once");
  return client;
}

/** Names of tools know letters, digits, `_`, `-` and `.` only. */
function nameInTools(name: string): string {
  return name.replace(/[^A-Za-z0-9_.-]/g, "-");
}

function endpointTool(config: EndpointConfig): EndpointTool {
  const { slug: name, name: title, description, input_schema, output_schema } = config;
  const shown = { name, title, description: description || title, inputSchema: inputSchema(input_schema) };
  if (output_schema === null) return { shown, structure: "none" };
  const isObject = typeof output_schema === "object" && output_schema["type"] === "object";
  return {
    shown: { ...shown, outputSchema: isObject ? asJson(output_schema) : wrapped(output_schema) },
    structure: isObject ? "whole" : isText(output_schema) ? "wrapped text" : "wrapped",
  };
}

/** Without a schema: the message alone. A schema has `type: object`, since MCP requires it. */
function inputSchema(schema: JsonSchema | null): JsonMap {
  if (schema === null)
    return { type: "object", properties: { message: { type: "string" } }, required: ["message"] };
  if (typeof schema === "boolean") return schema ? { type: "object" } : { type: "object", not: {} };
  const { type } = schema;
  const fits = type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
  if (fits) return { ...asJson(schema), type: "object" };
  return { type: "object", not: {} };
}

/** An answer that need not be an object is the `result` of one. */
function wrapped(schema: JsonSchema): JsonMap {
  const dialect = typeof schema === "object" ? schema["$schema"] : undefined;
  return {
    ...(typeof dialect === "string" ? { $schema: dialect } : {}),
    type: "object",
    properties: { result: typeof schema === "boolean" ? schema : asJson(moved(schema)) },
    required: ["result"],
  };
}

/** Keywords that hold data, and keywords that hold schemas by name. */
const DATA = new Set(["const", "enum", "default", "examples"]);
const NAMED = new Set(["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]);

/** References into the schema itself are moved with it. */
function moved(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(moved);
  if (typeof node !== "object" || node === null || "$id" in node) return node;
  const entries = Object.entries(node).map(([key, value]) => {
    const isPointer = key === "$ref" && typeof value === "string" && /^#(?:\/|$)/.test(value);
    if (isPointer) return [key, `#/properties/result${value.slice(1)}`];
    if (!NAMED.has(key)) return [key, DATA.has(key) ? value : moved(value)];
    const named: [string, unknown][] = Object.entries(value ?? {});
    return [key, Object.fromEntries(named.map(([name, schema]) => [name, moved(schema)]))];
  });
  return Object.fromEntries(entries);
}

function isText(schema: JsonSchema): boolean {
  return typeof schema === "object" && schema["type"] === "string";
}

/** A schema was read from YAML or JSON: there is nothing in it but what JSON can say. */
function asJson(schema: unknown): JsonMap {
  // As the line above has it.
  return schema as JsonMap;
}
