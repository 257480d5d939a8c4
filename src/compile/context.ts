/** What all parts of one compilation share. */
import type { Slices } from "../base/slices.ts";
import type { ResolvedConfig, SourcePlace } from "../config/model.ts";
import type { Plugin, StagePlugin } from "../plugin/contract.ts";
import type { Hooks, Host, MaybePromise } from "../plugin/index.ts";
import type { Platform } from "../plugins-host/host.ts";
import type { InstanceLease } from "../plugins-host/instances.ts";
import type { Registry } from "../plugins-host/registry.ts";
import type { FinishStep } from "./model.ts";
import type { Outbound } from "./outbound.ts";

export interface CompileContext {
  readonly config: ResolvedConfig;
  readonly registry: Registry;
  readonly platform: Platform;
  readonly lease: InstanceLease;
  /** Steps of the gateway itself that run at the end of every call. */
  readonly ownFinish: readonly FinishStep[];
  /** Loops over many things yield to the event loop when their slice is used up. */
  readonly slices: Slices;
  hostFor(plugin: Plugin): Host;
  readonly outbound: Outbound;
  readonly setUpStage: SetUpStage;
  /** Runs `make`; what it throws becomes a CompileError that names the place in the YAML. */
  at<T>(place: SourcePlace, make: () => MaybePromise<T>): MaybePromise<T>;
}

/** Makes the hooks of a stage with its options. */
export type SetUpStage = (plugin: StagePlugin<never>, options: object, host: Host) => MaybePromise<Hooks>;

/** A plugin's setup failed: the configuration is refused, at the line that uses the plugin. */
export class CompileError extends Error {
  readonly at: SourcePlace;

  constructor(at: SourcePlace, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.at = at;
  }
}
