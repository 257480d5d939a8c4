/**
 * What calls run on: the configuration turned into flat arrays of functions. Immutable once made, shared by all calls
 * of its generation. Built by compile.ts, read by pipeline/ and surfaces/.
 */
import type { ErrorFormat, ProjectType, ServerConfig } from "../config/model.ts";
import type {
  ChatResult,
  ChunkHook,
  EndpointRef,
  Exchange,
  GatewayError,
  Hooks,
  MaybePromise,
  ProjectRef,
  Target,
} from "../plugin/index.ts";
import type { McpOffer } from "./mcp.ts";
import type { CompiledProxy } from "./proxy.ts";

export interface CompiledConfig {
  /** Hex SHA-256 of all text the configuration was read from. */
  readonly hash: string;
  readonly server: ServerConfig;
  readonly projects: ReadonlyMap<string, CompiledProject>;
  /** Stage authenticate, for every route: the body is not read before these have run. */
  readonly authenticate: readonly RequestStep[];
  /** `finish` hooks of stage record, for calls that end before their endpoint is known. */
  readonly record: readonly FinishStep[];
  /** Lets go of the plugin instances that only this generation used. */
  close(): Promise<void>;
}

export interface CompiledProject {
  readonly ref: ProjectRef;
  readonly type: ProjectType;
  readonly errorFormat: ErrorFormat;
  /** Third-party plugins at stage authenticate of this project; they run after the gateway's own. */
  readonly authenticate: readonly RequestStep[];
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
  /** Unix seconds; nobody says when an alias came to be: 0. */
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
  /** It runs before the answer goes out: what it records is of what the client is told. Asked of calls with verdicts only. */
  readonly withAnswer?: true;
};
