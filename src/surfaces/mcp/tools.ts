/**
 * The tools of a project's MCP bridge: endpoints, whose calls run their whole chain, and tools of upstream servers, whose
 * calls are passed on; and how their results and refusals are written in MCP.
 */
import { isJsonObject, type JsonMap } from "../../base/json.ts";
import type { CompiledEndpoint, EndpointTool, McpOffer, OfferedServer } from "../../compile/model.ts";
import type { Call } from "../../pipeline/call.ts";
import { runChat } from "../../pipeline/chat.ts";
import type { EventWriter, Reply } from "../../pipeline/reply.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { Timer } from "../../plugin/host.ts";
import {
  andThen,
  type ChatResult,
  type Clock,
  type GatewayError,
  isGatewayError,
  type MaybePromise,
  refuse,
  reject,
} from "../../plugin/index.ts";
import { parseValue } from "../../provider-kit/index.ts";
import { readChatBody } from "../chat-body.ts";
import {
  invalidParams,
  type McpTool,
  type Progress,
  RPC,
  type RpcOutcome,
  type ToolInvocation,
} from "../jsonrpc/jsonrpc.ts";
import type { McpCalls } from "./calls.ts";

/** Interval of progress notifications while a model is working. */
const PROGRESS_MS = 5000;

const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** Endpoints in the order of the configuration, then the servers' tools. */
export function offeredTools(offer: McpOffer, calls: McpCalls): MaybePromise<readonly McpTool[]> {
  const { endpoints } = calls.project;
  const own: readonly McpTool[] = [...offer.tools.values()]
    .map(({ shown }) => shown)
    .filter(({ name }) => endpoints.get(name)?.isActive === true);
  if (offer.servers.length === 0) return own;
  const lists = offer.servers.map(({ prefix, client }) =>
    andThen(client.tools(), (tools) =>
      tools.map((tool) => ({ ...tool, name: prefix + tool.name })).filter(({ name }) => TOOL_NAME.test(name)),
    ),
  );
  const all = Promise.all(lists).then((listed) => [...own, ...listed.flat()]);
  return calls.orCancelled(calls.context.call, all, () => own);
}

export function callTool(offer: McpOffer, calls: McpCalls, asked: ToolInvocation): MaybePromise<RpcOutcome> {
  const run = toolNamed(offer, calls, asked.name);
  if (run === undefined) return invalidParams(`Unknown tool: ${asked.name.slice(0, 128)}`);
  return andThen(calls.next(), (call) =>
    isGatewayError(call) ? { error: rpcError(call) } : run({ calls, call, asked }),
  );
}

/** The function that runs the tool; undefined when there is none. */
function toolNamed(
  { tools, servers }: McpOffer,
  { project }: McpCalls,
  name: string,
): ((run: ToolRun) => MaybePromise<RpcOutcome>) | undefined {
  const endpoint = project.endpoints.get(name);
  // By its present name, since the list has a renamed one under that alone.
  const tool = endpoint && tools.get(endpoint.ref.slug);
  if (tool !== undefined && endpoint?.isActive === true)
    return (run) => callEndpoint(endpoint, new ToolReply(tool.structure), run);
  // The longest matching prefix: of `a__` and `a__b__`, the second.
  const server = servers
    .filter(({ prefix }) => name.startsWith(prefix))
    .sort((one, other) => other.prefix.length - one.prefix.length)[0];
  return server && ((run) => callServer(server, run));
}

/** One call of one tool. */
interface ToolRun {
  readonly calls: McpCalls;
  readonly call: Call;
  readonly asked: ToolInvocation;
}

/** The arguments have the format of a chat request's body. */
function callEndpoint(endpoint: CompiledEndpoint, reply: ToolReply, run: ToolRun): MaybePromise<RpcOutcome> {
  const { calls, call, asked } = run;
  call.endpoint = endpoint.ref;
  const input = readChatBody(asked.args);
  if (isGatewayError(input)) return { error: rpcError(calls.refuse(call, input)) };
  call.body = asked.args;
  call.received = input.messages;
  call.messages = input.messages;
  call.receivedCharacters = input.characters;
  runChat(call, endpoint, reply);
  return reply.outcome ?? waitFor(reply, run);
}

function waitFor(reply: ToolReply, { calls, call, asked }: ToolRun): MaybePromise<RpcOutcome> {
  const working = asked.progress && stillAtWork(call.rt.clock, asked.progress);
  const answered = new Promise<RpcOutcome>((resolve) => {
    reply.answered = resolve;
  });
  const outcome = calls.orCancelled(call, answered, (error) => ({ error: rpcError(error) }));
  return andThen(outcome, (settled) => {
    working?.();
    return settled;
  });
}

/** Reports elapsed seconds; returns the function that stops it. */
function stillAtWork(clock: Clock, progress: (progress: Progress) => void): () => void {
  let seconds = 0;
  let timer: Timer | undefined;
  const report = (): void => {
    progress({ progress: seconds, message: `${seconds} s` });
    seconds += PROGRESS_MS / 1000;
    timer = clock.after(PROGRESS_MS, report);
  };
  report();
  return () => timer?.cancel();
}

class ToolReply implements Reply {
  outcome: RpcOutcome | undefined;
  answered: (outcome: RpcOutcome) => void = () => {};
  readonly #structure: EndpointTool["structure"];

  constructor(structure: EndpointTool["structure"]) {
    this.#structure = structure;
  }

  whole(x: Call, result: ChatResult): void {
    this.#settle(toolResult(x, result, this.#structure));
  }

  refuse(_x: Call, error: GatewayError): void {
    this.#settle({ error: rpcError(error) });
  }

  /** Not called: the calls of tools are not streamed. */
  events(): EventWriter {
    throw new Error("a tool's answer is not streamed");
  }

  #settle(outcome: RpcOutcome): void {
    this.outcome = outcome;
    this.answered(outcome);
  }
}

function toolResult(x: Call, result: ChatResult, structure: EndpointTool["structure"]): RpcOutcome {
  const { content, finishReason } = result;
  const structured = structure === "none" ? undefined : structuredContent(content, structure);
  if (structured === null)
    return { error: rpcError(reject("output_invalid", { error: "the answer is not JSON" })) };
  return {
    result: {
      content: [{ type: "text", text: content }],
      ...(structured === undefined ? {} : { structuredContent: structured }),
      // Filtered, refused or malformed: the provider's response cannot be relied on.
      ...(finishReason === "error" ? { isError: true } : {}),
      _meta: {
        request_id: x.requestId,
        ...(x.sessionId === undefined ? {} : { session_id: x.sessionId }),
      },
    },
  };
}

/** null: the content was changed after it was checked and is no longer valid JSON of this form. */
function structuredContent(content: string, structure: EndpointTool["structure"]): JsonMap | null {
  if (structure === "wrapped text") return { result: content };
  const value = parseValue(content) as JsonValue | undefined; // JSON has no other values
  if (value === undefined) return null;
  if (structure === "wrapped") return { result: value };
  return isJsonObject(value) ? value : null;
}

/** The arguments are not interpreted; limits of the token apply. */
function callServer(server: OfferedServer, run: ToolRun): MaybePromise<RpcOutcome> {
  const { calls, call, asked } = run;
  const { prefix, client, chain } = server;
  let cancel = (): void => {};
  const refused = (error: GatewayError): RpcOutcome => ({
    error: rpcError(calls.refuse(call, error, chain.finish)),
  });
  const failed = (reason: string): RpcOutcome =>
    refused(refuse(502, "mcp_server_failed", `MCP server '${prefix.slice(0, -2)}' failed: ${reason}`));
  const pass = async (): Promise<RpcOutcome> => {
    const refusal = await calls.allow(call, chain.request);
    if (refusal !== undefined) return refused(refusal);
    const outcome = await client.call({
      tool: asked.name.slice(prefix.length),
      args: asked.args,
      traceparent: server.traceparent(call),
      onProgress: asked.progress,
      onLog: asked.log,
      logLevel: asked.logLevel,
      onStart: (giveUp) => {
        cancel = giveUp;
      },
    });
    if ("failed" in outcome) return failed(outcome.failed);
    calls.finish(call, chain.finish);
    return outcome;
  };
  call.endpoint = server.ref;
  call.body = asked.args;
  return calls.orCancelled(call, pass(), (error) => {
    cancel();
    return failed(error.code === "draining" ? "the gateway is shutting down" : "it took too long");
  });
}

/** What the REST surfaces answer with a status, as a code of JSON-RPC (`mcp.codes.*`). */
export function rpcError({ code: errorCode, status, message, extras }: GatewayError): {
  code: number;
  message: string;
  data: JsonMap;
  errorCode: string;
} {
  const isArgument = status === 400 || status === 404 || status === 422;
  const { detail, scope, retryAfterSeconds } = extras;
  return {
    code: status >= 500 ? RPC.internal : isArgument ? RPC.params : RPC.server,
    message,
    data: {
      status,
      ...(detail === undefined ? {} : { detail }),
      ...(scope === undefined ? {} : { scope }),
      ...(retryAfterSeconds === undefined ? {} : { retry_after: retryAfterSeconds }),
    },
    errorCode,
  };
}
