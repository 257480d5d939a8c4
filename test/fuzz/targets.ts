/** All fuzz targets, in the order in which `npm run fuzz` runs them. */
import { configuration } from "./configuration.ts";
import { httpTarget } from "./http.ts";
import type { FuzzTarget } from "./target.ts";

export const FUZZ_TARGETS: readonly FuzzTarget[] = [configuration, httpTarget];
