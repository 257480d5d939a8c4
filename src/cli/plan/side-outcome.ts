/** What comes of reading a side of a plan. */
import type { Findings } from "../../config/report/render.ts";
import type { WholeSide } from "../../plan/side.ts";

/** A side that was read. */
export interface LoadedSide {
  readonly side: WholeSide;
  /** Path and text of each YAML file that it consists of. */
  readonly texts: Iterable<readonly [path: string, text: string]>;
  /** Plugins that were compared as data. */
  readonly skippedPlugins: number;
}

export type SideOutcome = LoadedSide | { readonly findings: Findings };
