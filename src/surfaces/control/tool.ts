/** The interface of control-plane tools: validated arguments in, content out; and the context that they are given. */
import type { AuditTrail } from "../../audit/audit.ts";
import type { ByteBudget } from "../../base/byte-budget.ts";
import type { JsonMap } from "../../base/json.ts";
import { compileSchema } from "../../base/json-schema.ts";
import type { ProjectConfig, ResolvedConfig } from "../../config/model.ts";
import type { OverrideEdit, OverrideEdits, Standing } from "../../config/override-edits.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { Logger } from "../../plugin/host.ts";
import type { Clock, MaybePromise, StateStore } from "../../plugin/index.ts";
import type { AuditSeverity } from "../../plugin/store.ts";
import type { Deliveries } from "../../webhooks/deliveries.ts";
import type { Dispatcher } from "../../webhooks/dispatcher.ts";
import { invalidParams, RPC, type RpcError, type RpcOutcome, structured } from "../jsonrpc/jsonrpc.ts";
import type { Reload } from "../shared-routes.ts";

/** What the control plane needs of the gateway. */
export interface ControlContext {
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
  readonly buffered: ByteBudget;
  readonly store: Pick<StateStore, "driver" | "overrides" | "sums" | "audit">;
  readonly audit: AuditTrail;
  readonly deliveries: Deliveries;
  readonly webhooks: Pick<Dispatcher, "sendTest">;
  readonly edits: OverrideEdits;
  /** In effect: git's with the overrides applied. */
  config(): ResolvedConfig;
  /** Without the overrides. */
  git(): ResolvedConfig;
  /** git's, with every secret replaced by its fingerprint. */
  shownConfig(): JsonValue;
  /** Applies the store's overrides; calls that begin afterwards see them. */
  applyOverrides(): Promise<void>;
  reload(): Promise<Reload>;
}

/** The caller of a tool. */
export interface ControlCaller {
  /** Name of the control-plane token. */
  readonly name: string;
  readonly ipAddress: string;
}

export interface ControlTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema of each argument; others are refused. */
  readonly args: Readonly<Record<string, JsonMap>>;
  readonly required: readonly string[];
  /** `changes` run one after the other. */
  readonly effect: "reads" | "changes";
  /** Repeating the call has no further effect. */
  readonly isIdempotent: boolean;
  run(ctx: ControlContext, args: JsonMap, caller: ControlCaller): MaybePromise<RpcOutcome>;
}

export function inputSchema({ args, required }: ControlTool): JsonMap {
  return { type: "object", properties: args, required, additionalProperties: false };
}

/** A function that returns the error of the first invalid argument; undefined: all are valid. */
export function argumentCheck(tool: ControlTool): (args: JsonMap) => string | undefined {
  const compiled = compileSchema(inputSchema(tool));
  if (!compiled.ok) throw new Error(`${tool.name}: ${compiled.message}`);
  return (args) => {
    const [fault] = compiled.check(args) ?? [];
    return fault === undefined ? undefined : readable(fault);
  };
}

const UNKNOWN = "additional properties: '";

function readable(fault: string): string {
  const missing = /^body must have required property '(.*)'$/.exec(fault)?.[1];
  if (missing !== undefined) return `Argument '${missing}' is required.`;
  const unknown = fault.indexOf(UNKNOWN);
  if (unknown !== -1) {
    const name = fault.slice(unknown + UNKNOWN.length, -1);
    return `Argument '${name.slice(0, 64)}' is not known.`;
  }
  const [, name = "", rest = ""] = /^(\S+) (.*)$/s.exec(fault) ?? [];
  return `Argument '${name}' ${rest}.`;
}

/** The refusal of an argument by a business rule (specification: -32602). */
export function refusedArgument(name: string, why: string): { readonly error: RpcError } {
  return invalidParams(`Argument '${name}': ${why}.`);
}

/** A string argument; "" when it was left out. */
export function textOf(args: JsonMap, name: string): string {
  const value = args[name];
  return typeof value === "string" ? value : "";
}

/** The project that `project_uuid` names; case is ignored. */
export function projectOf(config: ResolvedConfig, args: JsonMap): ProjectConfig | undefined {
  const wanted = textOf(args, "project_uuid").toLowerCase();
  return config.projects.find(({ uuid }) => uuid === wanted);
}

export function noSuchProject(args: JsonMap): { readonly error: RpcError } {
  return refusedArgument("project_uuid", `there is no project '${textOf(args, "project_uuid")}'`);
}

/** The `run` of a tool for the project that `project_uuid` names. */
export function ofProject(
  run: (project: ProjectConfig, ...rest: Parameters<ControlTool["run"]>) => MaybePromise<RpcOutcome>,
): ControlTool["run"] {
  return (ctx, args, caller) => {
    const project = projectOf(ctx.config(), args);
    return project === undefined ? noSuchProject(args) : run(project, ctx, args, caller);
  };
}

/** The state that a change is based on. */
export interface Now {
  readonly edits: OverrideEdits;
  readonly standing: Standing;
  /** In effect. */
  readonly running: ResolvedConfig;
  readonly author: { readonly actor: string; readonly atMs: number };
  /** Of the state store. */
  readonly driver: string;
}

export interface Change {
  readonly edit: OverrideEdit;
  /** undefined: nothing to audit has changed. */
  readonly event: ChangeEvent | undefined;
  readonly content: JsonMap;
}

export interface ChangeEvent {
  readonly event: string;
  readonly severity: AuditSeverity;
  readonly project: ProjectConfig;
  readonly target: string;
  readonly metadata: JsonMap;
}

export const STORE_LOST: { readonly error: RpcError } = {
  error: { code: RPC.internal, message: "The state store is not available." },
};

/** The `run` of a tool that changes overrides: `plan` returns the change or a refusal. */
export function changing(
  plan: (now: Now, args: JsonMap) => Change | { readonly error: RpcError },
): ControlTool["run"] {
  return async (ctx, args, caller) => {
    const overrides = await ctx.store.overrides.list();
    if (overrides === "unavailable") return STORE_LOST;
    const { edits } = ctx;
    const standing: Standing = { git: ctx.git(), overrides };
    const author = { actor: caller.name, atMs: ctx.clock.nowMs() };
    const change = plan(
      { edits, standing, running: edits.running(standing), author, driver: ctx.store.driver },
      args,
    );
    return "error" in change ? change : carryOut(ctx, change, caller);
  };
}

/** Stores a change, applies it, audits it and answers, in this order. */
async function carryOut(ctx: ControlContext, change: Change, caller: ControlCaller): Promise<RpcOutcome> {
  const { edit, event, content } = change;
  for (const override of edit.put) {
    if (!(await ctx.store.overrides.set(override))) {
      return { error: { code: RPC.internal, message: "The state store rejected the change." } };
    }
  }
  for (const key of edit.drop) await ctx.store.overrides.delete(key);
  if (edit.put.length + edit.drop.length > 0) await ctx.applyOverrides();
  if (event !== undefined) {
    const { id, name, uuid } = event.project;
    const { name: actor, ipAddress } = caller;
    await ctx.audit.record({ ...event, project: { id, name, uuid }, actor, ipAddress });
  }
  return structured(content);
}

export const PROJECT_UUID: JsonMap = { type: "string", description: "UUID of a project." };
export const LIMIT: JsonMap = {
  ...{ type: "integer", minimum: 1, maximum: 1000, default: 100 },
  description: "How many at most, newest first.",
};

export function limitOf(args: JsonMap): number {
  return typeof args["limit"] === "number" ? args["limit"] : 100;
}

/** As an integer where the id is one. */
export function shownTokenId(id: string): number | string {
  return /^(?:0|[1-9]\d{0,14})$/.test(id) ? Number(id) : id;
}
