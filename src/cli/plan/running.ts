/**
 * The configuration that a gateway runs, as its admin listener shows it: values with places, references as written,
 * without the changes made at run time. Also what it knows of who is affected. The token is in SLUICE_ADMIN_TOKEN.
 */

import type { PluginLoader } from "../../config/load.ts";
import { SideError } from "../../plan/git/git.ts";
import type { CliIo } from "../command.ts";
import type { SideOutcome } from "./side-outcome.ts";

export async function loadRunning(_url: string, _io: CliIo, _plugins: PluginLoader): Promise<SideOutcome> {
  throw new SideError("`running:` is not available in this version");
}
