/** What a reload came to, as it is logged, answered and shown. */
import type { Diagnostic } from "../config/report/diagnostic.ts";
import type { ChangeSummary } from "../plan/change-summary.ts";
import type { LoadedRef } from "./reload-events.ts";

export interface ReloadOutcome {
  readonly ok: boolean;
  /** False also when nothing had changed. */
  readonly changed: boolean;
  readonly generation: number;
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** Sections that changed and need a restart: `server`, `admin`, `state`. */
  readonly needsRestart: readonly string[];
  /** What it has changed; absent: nothing, or it is not known. */
  readonly changes?: ChangeSummary;
  /** The configuration in use after the reload. */
  readonly inUse: LoadedRef;
  /** Present: nothing was applied, since another configuration than the reviewed one runs or would have been applied. */
  readonly conflict?: ReloadConflict;
}

export interface ReloadConflict {
  readonly side: "running" | "new";
  readonly found: LoadedRef;
}

/** The latest reload, as `/readyz` shows it. */
export interface LastReload {
  readonly at: string;
  readonly ok: boolean;
  readonly errors: readonly string[];
}

/** What the latest reload found, for the admin API. */
export interface LastFindings {
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** Sections of the configuration in use that wait for a restart. */
  readonly needsRestart: readonly string[];
}
