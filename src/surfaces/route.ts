/**
 * What a surface is: a folder that exports a table of routes. The router, 405 answers, the common steps of every call and
 * docs/routes.md all come from these tables; surfaces.ts lists them.
 */
import type { CompiledProject } from "../compile/model.ts";
import type { ProjectType } from "../config/model.ts";
import type { JsonBody } from "../http/body.ts";
import type { GatewayError, MaybePromise } from "../plugin/index.ts";
import type { CallRules, RequestContext, SurfaceErrors } from "./request-context.ts";
import type { RoutePath } from "./router.ts";

export interface SurfaceModule {
  readonly routes: readonly Route[];
  /** How clients of this surface read errors. Default: `{ ok, error }`. */
  readonly errors?: SurfaceErrors;
}

/**
 * One route of calls. `Input` is what `read` makes of the body, `Target` what `target` finds for it; both methods, so
 * that a table can hold routes of different types.
 */
export interface Route<Input = unknown, Target = unknown> extends RoutePath, CallRules {
  readonly summary: string;
  readonly projectType: ProjectType | "any";
  /** `streamed`: the handler reads it. */
  readonly body: "none" | "json" | "bytes" | "streamed";
  /** Pages of other sites are refused before anything else (MCP). Default: false. */
  readonly checksOrigin?: boolean;
  /** Reads a body of kind `json`. Default: the handler is given the JSON object. */
  read?(body: JsonBody): Input | GatewayError;
  /** Finds what the call is for; a refusal where there is none. Default: the project. */
  target?(project: CompiledProject, input: Input, context: RequestContext): Target | GatewayError;
  /** Answers, or returns the refusal. Runs once the token is accepted and the body read. */
  handler(context: RequestContext, target: Target, input: Input): MaybePromise<GatewayError | undefined>;
}
