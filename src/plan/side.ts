/**
 * One side of a plan: a configuration as data, as it is written somewhere (a folder, a git revision, a running gateway).
 * Where it was read from is the caller's business.
 */
import type { ResolvedConfig, SourcePlace } from "../config/model.ts";
import type { JsonMap, Origin, ShownConfig } from "../config/shown.ts";

export interface Side {
  /** As named on the command line: `git:HEAD`, `./gateway`. */
  readonly name: string;
  /** `config_hash` of a gateway that runs it. */
  readonly hash: string;
  /** Git revision; null: not known. */
  readonly revision: string | null;
  /** What is compared, and where each value is written. */
  readonly shown: ShownConfig;
  /** Prices and targets, for what a call costs. Its references are placeholders. */
  readonly config: ResolvedConfig;
}

/** A value of one side, with the place that it comes from. */
export interface Written {
  readonly value: JsonMap[string] | undefined;
  /** undefined: a default, or nothing at all. */
  readonly origin: Origin | undefined;
}

/** The first line of a file, for what stands nowhere else. */
export function startOf(file: string): SourcePlace {
  return { file, line: 1, column: 1 };
}
