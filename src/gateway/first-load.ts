/** The load of the configuration that a gateway starts with. */
import type { LoadRequest } from "../config/load.ts";
import { keepSide } from "../plan/kept-side.ts";
import { sideOf } from "./compared.ts";
import type { Loaded } from "./load.ts";
import { SteadyLoads } from "./steady-load.ts";

/** In this thread, with what the first reload compares its configuration with. */
export async function loadFirst(request: LoadRequest): Promise<Loaded> {
  const { shown, ...loaded } = await new SteadyLoads().load({ ...request, shows: true });
  const side = sideOf({ ...loaded, ...(shown !== undefined && { shown }) });
  return { ...loaded, kept: side && keepSide(side) };
}
