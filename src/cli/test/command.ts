/** `sluice test`: runs the test cases of a configuration, offline. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { renderGithub, renderJson, renderText } from "../../config/report/render.ts";
import { folderOfConfig, isFolder, testFilesBelow } from "../../config-tests/discover.ts";
import { renderGithubReport } from "../../config-tests/reports/github.ts";
import { renderJsonReport } from "../../config-tests/reports/json.ts";
import { renderJunit } from "../../config-tests/reports/junit.ts";
import { shortPath } from "../../config-tests/reports/paths.ts";
import { renderTap } from "../../config-tests/reports/tap.ts";
import { counts, mutationsOf, type RunResults } from "../../config-tests/results.ts";
import { runSuite, type SuiteOutcome } from "../../config-tests/suite.ts";
import { type CliIo, type Command, configPath, EXIT, hasColors, usageError } from "../command.ts";
import { HELP } from "./help.ts";
import { readOptions, type TestOptions } from "./options.ts";
import { renderTextReport } from "./report-text.ts";
import { writeStarter } from "./starter-file.ts";
import { tracer } from "./trace.ts";
import { untilChanged } from "./watch.ts";

export const command: Command = {
  name: "test",
  summary: "run the test cases of a configuration, offline",
  help: HELP,
  async run(args, io) {
    const options = readOptions(args, io);
    if (typeof options === "string") return usageError(io, "test", options);
    if (options.init) return writeStarter(options, io);
    if (!options.watch) return (await once(options, io)).code;
    for (;;) {
      const { files } = await once(options, io);
      io.stdout("\nwaiting for changes; Ctrl-C ends\n\n");
      await untilChanged(files, () => filesOf(options, io));
    }
  },
};

interface Run {
  readonly code: number;
  /** Files that the outcome depends on. */
  readonly files: readonly string[];
}

/** The folder or file that cases are about when none is named. */
export function defaultConfig(io: CliIo): string {
  return resolve(io.cwd, configPath(undefined, io.env));
}

/** Test files that are named, those below folders that are named, or those below the configuration's folder. */
function filesOf({ paths }: TestOptions, io: CliIo): readonly string[] {
  if (paths.length === 0) return testFilesBelow(folderOfConfig(defaultConfig(io)));
  const found = paths.map((path) => resolve(io.cwd, path));
  return [...new Set(found.flatMap((path) => (isFolder(path) ? testFilesBelow(path) : [path])))];
}

async function once(options: TestOptions, io: CliIo): Promise<Run> {
  const files = filesOf(options, io);
  if (files.length === 0) {
    const folders = options.paths.length === 0 ? [folderOfConfig(defaultConfig(io))] : options.paths;
    const where = folders.map((folder) => shortPath(io.cwd, resolve(io.cwd, folder))).join(", ");
    io.stderr(
      `sluice test: there is no test file (*.test.yaml, *.test.yml) below ${where}\nsluice test --init writes one that passes.\n`,
    );
    return { code: EXIT.failed, files: folders };
  }
  const fallback = defaultConfig(io);
  const outcome = await runSuite({
    files,
    fallbackConfig: existsSync(fallback) ? fallback : undefined,
    ...{ overlays: options.overlays, root: options.root, update: options.update },
    ...{
      coverage: options.coverage,
      mutate: options.mutate,
      nowMs: Date.now(),
      explain: tracer(io, options.output === "text"),
    },
    ...(options.selects === undefined ? {} : { selects: options.selects }),
  });
  const { results } = outcome;
  if (results === undefined) {
    reportMistakes(outcome, options, io);
    return { code: EXIT.failed, files: outcome.files };
  }
  if (results.cases.length === 0) {
    const why = options.selects === undefined ? "the test files hold no cases" : "--run selects no case";
    io.stderr(`sluice test: ${why}\n`);
    return { code: EXIT.failed, files: outcome.files };
  }
  if (outcome.warnings.length > 0)
    io.stderr(outcome.scrub(renderText(outcome.warnings, hasColors(io, "stderr"), io.cwd)));
  io.stdout(outcome.scrub(reportOf(results, options, io)));
  return { code: exitCode(results, options), files: outcome.files };
}

function reportMistakes(
  { errors, warnings, omitted }: SuiteOutcome,
  { output }: TestOptions,
  io: CliIo,
): void {
  const findings = { errors, warnings, omitted };
  if (output === "json") io.stdout(renderJson(findings, io.cwd));
  else if (output === "github") io.stdout(renderGithub(findings, io.cwd));
  else if (output === "text")
    io.stdout(renderText([...errors, ...warnings], hasColors(io, "stdout"), io.cwd, omitted));
  else io.stderr(renderText([...errors, ...warnings], hasColors(io, "stderr"), io.cwd, omitted));
}

function reportOf(results: RunResults, { output, thresholdPercent }: TestOptions, io: CliIo): string {
  switch (output) {
    case "json":
      return renderJsonReport(results, io.cwd);
    case "junit":
      return renderJunit(results, io.cwd, new Date());
    case "tap":
      return renderTap(results, io.cwd);
    case "github":
      return renderGithubReport(results, io.cwd);
    case "text":
      return renderTextReport(results, io, thresholdPercent);
  }
}

function exitCode(results: RunResults, { thresholdPercent }: TestOptions): number {
  const { coverage } = results;
  const mutations = mutationsOf(results);
  const isLow =
    thresholdPercent !== undefined && coverage !== undefined && coverage.percent < thresholdPercent;
  const isMissed = mutations !== undefined && mutations.survived.length > 0;
  return counts(results).failed > 0 || isLow || isMissed ? EXIT.testsFailed : EXIT.ok;
}
