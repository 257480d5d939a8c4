/**
 * What calls run on: the configuration turned into flat arrays of functions. Immutable once made, shared by all calls
 * of its generation. Built by compile.ts, read by pipeline/ and surfaces/.
 */
import type { JsonMap } from "../base/json.ts";
import type { ErrorFormat, ProjectType, ServerConfig } from "../config/model.ts";
import type { ProxyClient, proxyFailure } from "../net/proxy-client.ts";
import type { EndpointRef, ProjectRef } from "../plugin/exchange.ts";
import type {
  ChatResult,
  ChunkHook,
  Exchange,
  GatewayError,
  Hooks,
  MaybePromise,
  Target,
} from "../plugin/index.ts";
import type { McpClient } from "../upstream/mcp/client.ts";
import type { OAuthConnection } from "../upstream/oauth/oauth.ts";

export interface CompiledConfig {
  /** Hex SHA-256 of all text the configuration was read from. */
  readonly hash: string;
  readonly server: ServerConfig;
  readonly projects: ReadonlyMap<string, CompiledProject>;
  /** Whether each call has a stage trace, which recent calls keep. */
  readonly tracesCalls: boolean;
  /** Stage authenticate, for every route: the body is not read before these have run. */
  readonly authenticate: readonly RequestStep[];
  /** `finish` hooks of stage record, for calls that end before their endpoint is known. */
  readonly record: readonly FinishStep[];
  /** Releases the plugin instances that only this generation used. */
  close(): Promise<void>;
}

export interface CompiledProject {
  readonly ref: ProjectRef;
  readonly type: ProjectType;
  readonly errorFormat: ErrorFormat;
  /** Third-party plugins at stage authenticate of this project; they run after the gateway's own. */
  readonly authenticate: readonly RequestStep[];
  /** By slug, and by the one that it had where `moved_from` names that; so are proxies and aliases. */
  readonly endpoints: ReadonlyMap<string, CompiledEndpoint>;
  readonly proxies: ReadonlyMap<string, CompiledProxy>;
  /** `data` of the listing call, ready to send. */
  readonly listingJson: string;
  /** Of a wrapper project, by the name that clients give as `model`. */
  readonly aliases: ReadonlyMap<string, CompiledEndpoint>;
  /** The aliases as OpenAI's clients list them. */
  readonly models: readonly ModelEntry[];
  /** What its MCP bridge offers. */
  readonly mcp: McpOffer;
}

/** One of OpenAI's models list. */
export interface ModelEntry {
  readonly id: string;
  readonly object: "model";
  /** Unix seconds; 0, since the creation time of an alias is unknown. */
  readonly created: number;
  readonly owned_by: string;
}

export interface CompiledEndpoint {
  readonly ref: EndpointRef;
  readonly isActive: boolean;
  readonly streamingEnabled: boolean;
  /** Of an alias: members of requests that may pass; undefined: all but those that cost beyond what is reserved. */
  readonly allowedFields?: ReadonlySet<string>;
  /** Down the chain, the step that decides the claims among them. */
  readonly request: readonly RequestStep[];
  readonly call: NonNullable<Hooks["call"]>;
  /** The plugin whose hook that is. */
  readonly callPlugin: string;
  readonly targets: readonly Target[];
  /** Up the chain. */
  readonly response: readonly ResponseStep[];
  readonly stream: readonly StreamStep[];
  /** False: nothing reads the texts of an answer that is over, so that a stream need not keep them. */
  readonly keepsAnswer: boolean;
  readonly commit: readonly CommitStep[];
  readonly finish: readonly FinishStep[];
}

/** One hook in its place, guarded: it neither throws nor rejects. `stage` indexes STAGES. */
interface Step<Run> {
  readonly stage: number;
  readonly plugin: string;
  readonly run: Run;
}

/** `decide`: not a hook but the place where the claims made so far are decided. */
export type RequestStep =
  | Step<NonNullable<Hooks["request"]>>
  | { readonly stage: number; readonly plugin: string; readonly run: "decide" };
export type ResponseStep = Step<NonNullable<Hooks["response"]>>;
/** A hook for the chunks of one stream, a refusal, or undefined: this stream has none of it. */
export type StreamStep = Step<(x: Exchange) => ChunkHook | GatewayError | undefined>;
/** A refusal when what must be stored was not. */
export type CommitStep = Step<(x: Exchange, result: ChatResult) => MaybePromise<GatewayError | undefined>>;
export type FinishStep = Step<NonNullable<Hooks["finish"]>> & {
  /** It runs before the answer is sent, and only for calls with verdicts. */
  readonly withAnswer?: true;
};

export interface PassthroughChain {
  /** Limits, the token's cap, and the project's own stages. */
  readonly request: readonly RequestStep[];
  readonly finish: readonly FinishStep[];
}

/** How the proxy reaches upstreams: the same for all endpoints of a configuration. */
export type ProxyWay = Pick<ProxyClient, "open"> & { readonly failureOf: typeof proxyFailure };

export interface CompiledProxy extends PassthroughChain {
  readonly ref: EndpointRef;
  readonly isActive: boolean;
  readonly allowedMethods: readonly string[];
  /** A string: why calls get 422, when the URL itself is blocked. */
  readonly upstream: URL | string;
  /** Names and values alternate; they replace headers of the client with the same name. */
  readonly headers: readonly string[];
  /** Longest call. */
  readonly timeoutMs: number;
  readonly way: ProxyWay;
  readonly oauth: OAuthConnection | undefined;
}

/** A JSON object of a tool definition. */
export interface McpOffer {
  /** By slug, in the order of the config: endpoints with `expose_as_mcp_tool`, active or not. */
  readonly tools: ReadonlyMap<string, EndpointTool>;
  readonly servers: readonly OfferedServer[];
}

export interface EndpointTool {
  /** As `tools/list` shows it. */
  readonly shown: {
    readonly name: string;
    readonly title: string;
    readonly description: string;
    readonly inputSchema: JsonMap;
    readonly outputSchema?: JsonMap;
  };
  /** How the answer becomes structured content. `wrapped`: as `result` of an object, since it may be none itself. */
  readonly structure: "none" | "whole" | "wrapped" | "wrapped text";
}

export interface OfferedServer {
  /** What the names of its tools begin with: `<server>__`. */
  readonly prefix: string;
  /** What calls of its tools are recorded under. */
  readonly ref: EndpointRef;
  readonly client: McpClient;
  /** What such a call runs before it is passed on, and when it ends. */
  readonly chain: PassthroughChain;
  /** The header of that name of such a call's request. */
  traceparent(x: Exchange): string | undefined;
}
