/**
 * An upstream MCP server as the bridge sees it: its tools, kept for a while, and calls of them. A server that cannot be
 * reached does not affect the others: its last list of tools stays.
 */

import { isJsonObject, type JsonMap } from "../../base/json.ts";
import type { Resolve } from "../../net/ssrf.ts";
import type { Logger } from "../../plugin/host.ts";
import type { Clock, MaybePromise } from "../../plugin/index.ts";
import { scrubber } from "../scrub.ts";
import { McpSession, SHORT_MS } from "./session.ts";
import {
  argumentHeaders,
  type JsonHeaders,
  type UpstreamLog,
  type UpstreamOutcome,
  type UpstreamProgress,
  wantedInput,
} from "./wire.ts";

export type { UpstreamOutcome } from "./wire.ts";

/** A list is fetched again after this time, or when the server reports a change. */
const FRESH_MS = 30_000;
/** After a failed list the next one waits so long. */
const RETRY_MS = 5000;
const TOOLS_MAX = 1000;
const PAGES_MAX = 20;

export interface UpstreamTool {
  /** As the server names it. */
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** `type: object` at its root. */
  readonly inputSchema: JsonMap;
  readonly outputSchema?: JsonMap;
  readonly annotations?: JsonMap;
}

export interface McpClientOptions {
  /** For the log. */
  readonly name: string;
  readonly url: string;
  /** Sent with every request; never shown. */
  readonly headers: JsonHeaders;
  /** `network.allow`. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Default: the system's. */
  readonly resolve?: Resolve;
}

export interface UpstreamCall {
  readonly tool: string;
  readonly args: JsonMap;
  /** Sent along as the header of that name. */
  readonly traceparent: string | undefined;
  readonly onProgress: ((progress: UpstreamProgress) => void) | undefined;
  readonly onLog: ((message: UpstreamLog) => void) | undefined;
  /** The least severe messages for `onLog`; undefined: all. */
  readonly logLevel: string | undefined;
  /** Handed the way to give the call up, as soon as it is under way. */
  onStart(cancel: () => void): void;
}

export interface McpClient {
  /** In the server's order, at most 1,000. Never rejects. */
  tools(): MaybePromise<readonly UpstreamTool[]>;
  /** As long as it takes: the caller gives it up. Never rejects. */
  call(call: UpstreamCall): Promise<UpstreamOutcome>;
  close(): void;
}

/** Opens no connection before it is asked for something. */
export function mcpClient(options: McpClientOptions): McpClient {
  return new Client(options);
}

class Client implements McpClient {
  readonly #options: McpClientOptions;
  readonly #session: McpSession;
  #tools: readonly UpstreamTool[] = [];
  /** Monotonic time up to which the list is good. */
  #freshUntilMs = Number.NEGATIVE_INFINITY;
  #listing: Promise<readonly UpstreamTool[]> | undefined;

  constructor(options: McpClientOptions) {
    this.#options = options;
    this.#session = new McpSession({
      ...options,
      onListChanged: () => {
        this.#freshUntilMs = Number.NEGATIVE_INFINITY;
      },
    });
  }

  tools(): MaybePromise<readonly UpstreamTool[]> {
    if (this.#options.clock.monotonicMs() < this.#freshUntilMs) return this.#tools;
    this.#listing ??= this.#list().finally(() => {
      this.#listing = undefined;
    });
    return this.#listing;
  }

  async call({ tool, args, onStart, ...about }: UpstreamCall): Promise<UpstreamOutcome> {
    const known = this.#tools.find(({ name }) => name === tool);
    const outcome = await this.#session.request({
      method: "tools/call",
      params: { name: tool, arguments: args },
      timeoutMs: undefined,
      named: tool,
      more: argumentHeaders(known?.inputSchema, args),
      ...about,
      onStart,
    });
    if ("result" in outcome) return toolResult(outcome.result);
    return this.#scrubbed(outcome);
  }

  close(): void {
    this.#session.close();
  }

  async #list(): Promise<readonly UpstreamTool[]> {
    const { clock, log, name } = this.#options;
    const tools: UpstreamTool[] = [];
    let freshMs = FRESH_MS;
    let cursor: string | undefined;
    for (let page = 0; page < PAGES_MAX; page++) {
      const params: JsonMap = cursor === undefined ? {} : { cursor };
      const outcome = await this.#session.request({ method: "tools/list", params, timeoutMs: SHORT_MS });
      const listed = "result" in outcome ? outcome.result["tools"] : undefined;
      if (!("result" in outcome) || !Array.isArray(listed)) {
        this.#freshUntilMs = clock.monotonicMs() + RETRY_MS;
        log.warn(
          { mcp_server: name, reason: reasonOf(this.#scrubbed(outcome)) },
          "an MCP server lists no tools",
        );
        return this.#tools;
      }
      for (const tool of listed) {
        const read = readTool(tool);
        if (read !== undefined && tools.length < TOOLS_MAX) tools.push(read);
      }
      const { ttlMs, nextCursor } = outcome.result;
      if (typeof ttlMs === "number") freshMs = Math.max(0, Math.min(freshMs, ttlMs));
      if (typeof nextCursor !== "string" || tools.length >= TOOLS_MAX) break;
      cursor = nextCursor;
    }
    this.#tools = tools;
    this.#freshUntilMs = clock.monotonicMs() + freshMs;
    return tools;
  }

  /** Its own words, but for the secrets that it was sent. */
  #scrubbed(outcome: UpstreamOutcome): UpstreamOutcome {
    if (!("error" in outcome)) return outcome;
    let { message } = outcome.error;
    for (const value of Object.values(this.#options.headers)) {
      message = scrubber(value).text(scrubber(value.slice(value.indexOf(" ") + 1)).text(message));
    }
    return { error: { ...outcome.error, message } };
  }
}

/** Invalid tools are left out, and those that can only be called as tasks, which the bridge does not support. */
function readTool(tool: unknown): UpstreamTool | undefined {
  if (!isJsonObject(tool)) return undefined;
  const { name, title, description, inputSchema, outputSchema, annotations, execution } = tool;
  if (typeof name !== "string" || name === "") return undefined;
  if (isJsonObject(execution) && execution["taskSupport"] === "required") return undefined;
  return {
    name,
    ...(typeof title === "string" ? { title } : {}),
    // Clients take one for granted.
    description: typeof description === "string" && description !== "" ? description : name,
    inputSchema: { ...(isJsonObject(inputSchema) ? inputSchema : {}), type: "object" },
    ...(isJsonObject(outputSchema) && outputSchema["type"] === "object" ? { outputSchema } : {}),
    ...(isJsonObject(annotations) ? { annotations } : {}),
  };
}

/** As received, without the field of the stateless revision that says whether it is complete. */
function toolResult(result: JsonMap): UpstreamOutcome {
  const { resultType, content = [], ...rest } = result;
  if (resultType !== undefined && resultType !== "complete") {
    return { failed: `it asks for ${wantedInput(result)}, which the gateway does not support` };
  }
  return Array.isArray(content) ? { result: { content, ...rest } } : { failed: "its answer is malformed" };
}

function reasonOf(outcome: UpstreamOutcome): string {
  if ("failed" in outcome) return outcome.failed;
  return "error" in outcome
    ? `error ${outcome.error.code}: ${outcome.error.message}`
    : "its answer is malformed";
}
