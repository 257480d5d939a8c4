/** stub */
import type { PluginLoader } from "../../config/load.ts";
import type { DocumentInput } from "../../plan/document.ts";
import { SideError } from "../../plan/git/git.ts";
import type { ObjectRef } from "../../plan/objects.ts";
import type { PlanChange } from "../../plan/plan.ts";
import type { Side } from "../../plan/side.ts";
import type { CliIo } from "../command.ts";

export interface RunningUsage {
  tokensOf(object: ObjectRef): { readonly input: number; readonly output: number } | undefined;
  reportOf(changes: readonly PlanChange[]): Pick<DocumentInput, "usage" | "overrides" | "drift">;
}
export async function usageOf(
  _url: string,
  _sides: { from: Side; to: Side },
  _io: CliIo,
  _p: PluginLoader,
): Promise<RunningUsage> {
  throw new SideError("`--usage` is not available in this version");
}
