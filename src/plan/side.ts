/**
 * One side of a plan: a configuration as data, as it is written somewhere (a folder, a git revision, a running gateway).
 * Where it was read from is the caller's business.
 */
import type { ResolvedConfig, SourcePlace, TokenConfig } from "../config/model.ts";
import type { JsonMap, Origin, ShownConfig } from "../config/shown.ts";

export interface Side {
  /** As named on the command line: `git:HEAD`, `./gateway`. */
  readonly name: string;
  /** `config_hash` of a gateway that runs it. */
  readonly hash: string;
  /** Git revision; null: not known. */
  readonly revision: string | null;
  /** What is compared, and where each value is written. */
  readonly shown: Pick<ShownConfig, "config" | "originOf" | "referenceOf">;
  /** What the configuration comes to where that is no value of its own: see `SideFacts`. References may be placeholders. */
  readonly config: SideFacts;
}

/** With everything that the configuration comes to. */
export interface WholeSide extends Side {
  readonly config: ResolvedConfig;
}

/** Prices, for what a call costs; versions of plugins; and tokens as they are accepted. */
export interface SideFacts extends Pick<ResolvedConfig, "prices" | "plugins"> {
  readonly projects: readonly {
    readonly uuid: string;
    readonly tokens: readonly Pick<TokenConfig, "id" | "name" | "hash" | "is_active">[];
  }[];
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
