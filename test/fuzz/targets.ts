/** All fuzz targets, in the order in which `npm run fuzz` runs them. */
import { configuration } from "./configuration.ts";
import { httpTarget } from "./http.ts";
import { providerAnswers } from "./provider-answers.ts";
import type { FuzzTarget } from "./target.ts";
import { testFiles } from "./test-files.ts";
import { upstreamBytes } from "./upstream-bytes.ts";

export const FUZZ_TARGETS: readonly FuzzTarget[] = [
  configuration,
  httpTarget,
  providerAnswers,
  testFiles,
  upstreamBytes,
];
