/** What a reload has come to, as the admin API and the control plane both show it. */
import type { JsonMap } from "../base/json.ts";

export interface Reload {
  readonly ok: boolean;
  readonly changed: boolean;
  readonly generation: number;
  /** Sections that changed and wait for a restart. */
  readonly needsRestart: readonly string[];
  readonly errors: readonly {
    readonly code: string;
    readonly message: string;
    readonly file: string;
    readonly line: number;
    readonly column: number;
    readonly path: string;
  }[];
}

export function reloadFields({ ok, changed, generation, needsRestart, errors }: Reload): JsonMap {
  return {
    ...{ ok, changed, generation, needs_restart: needsRestart },
    errors: errors.map(({ code, message, file, line, column, path }) => ({
      ...{ code, message, file, line, column, path },
    })),
  };
}
