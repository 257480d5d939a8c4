/** Arguments of `sluice test`. */

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { linearPattern } from "../../base/linear-pattern.ts";
import { type CliIo, expectedValue } from "../command.ts";

export const OUTPUTS = ["text", "json", "junit", "tap", "github"] as const;
export type Output = (typeof OUTPUTS)[number];

export interface TestOptions {
  /** Files and folders as named; empty: those below the configuration's folder. */
  readonly paths: readonly string[];
  readonly output: Output;
  /** Which cases run. */
  readonly selects: ((name: string) => boolean) | undefined;
  readonly coverage: boolean;
  readonly thresholdPercent: number | undefined;
  readonly mutate: boolean;
  readonly update: boolean;
  readonly watch: boolean;
  readonly init: boolean;
  /** Absolute. */
  readonly overlays: readonly string[];
  /** Absolute. */
  readonly root: string | undefined;
}

/** A text: what is wrong with the arguments. */
export function readOptions(args: readonly string[], { cwd }: CliIo): TestOptions | string {
  const { values, positionals: paths } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      run: { type: "string" },
      output: { type: "string", default: "text" },
      coverage: { type: "boolean", default: false },
      "coverage-threshold": { type: "string" },
      mutate: { type: "boolean", default: false },
      update: { type: "boolean", default: false },
      watch: { type: "boolean", default: false },
      init: { type: "boolean", default: false },
      overlay: { type: "string", multiple: true, default: [] },
      root: { type: "string" },
    },
  });
  const output = OUTPUTS.find((one) => one === values.output);
  if (output === undefined) return expectedValue("--output", values.output, OUTPUTS);
  const selects = values.run === undefined ? undefined : selector(values.run);
  if (typeof selects === "string") return selects;
  const threshold = values["coverage-threshold"];
  const thresholdPercent = threshold === undefined ? undefined : Number(threshold);
  if (thresholdPercent !== undefined && !(thresholdPercent >= 0 && thresholdPercent <= 100))
    return `invalid --coverage-threshold '${threshold}'; expected a number from 0 to 100`;
  const { mutate, update, watch, init, root } = values;
  if (watch && output !== "text") return "--watch prints text; remove --output";
  if (init && paths.length > 1) return "expected at most one FILE with --init";
  return {
    ...{ paths, output, selects, thresholdPercent, mutate, update, watch, init },
    coverage: values.coverage || thresholdPercent !== undefined,
    overlays: values.overlay.map((path) => resolve(cwd, path)),
    root: root === undefined ? undefined : resolve(cwd, root),
  };
}

function selector(pattern: string): ((name: string) => boolean) | string {
  try {
    const compiled = linearPattern(pattern);
    return (name) => compiled.test(name);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : "not a regular expression";
    return `invalid --run '${pattern}': ${reason}`;
  }
}
