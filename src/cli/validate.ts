/** `sluice validate`: everything that loading checks, without serving. */
import { parseArgs } from "node:util";
import { type LoadOutcome, loadConfig, type PluginLoader } from "../config/load.ts";
import type { ResolvedConfig } from "../config/model.ts";
import { type Findings, renderGithub, renderJson, renderSarif, renderText } from "../config/render.ts";
import { type CliIo, type Command, configPath, EXIT, misused } from "./command.ts";

const HELP = `Usage: sluice validate [PATH] [--overlay FILE]... [--no-secrets] [--strict] [--output FORMAT]

Checks a configuration as loading would, and reports all that is wrong at once: each finding with its code, its
place, what was found and what is allowed. Nothing is served and no provider is called.

  PATH             a YAML file or a folder of them (default: SLUICE_CONFIG, else gateway.config.yaml)
  --overlay FILE   a partial configuration merged over it; may be repeated, later ones win
  --no-secrets     references to unset variables and missing files count as given: for CI without secrets
  --strict         a secret written out in a file is an error, not a warning
  --output FORMAT  text, json, github (remarks on a pull request) or sarif (code scanning)

Exits with 0 when the configuration is good, 1 when it is not, 64 when called wrongly.

Examples:
  sluice validate
  sluice validate ./gateway --overlay ./production.yaml --no-secrets
  sluice validate --output github`;

type Renderer = (findings: Findings, outcome: LoadOutcome, io: CliIo, tookMs: number) => string;

const RENDERERS: Readonly<Record<string, Renderer>> = {
  text: ({ errors, warnings }, { config, watch }, io, tookMs) => {
    const findings = renderText([...errors, ...warnings], io.isTerminal, io.cwd);
    return config === undefined ? findings : `${findings}${summary(config, watch.files.length, tookMs)}`;
  },
  json: (findings, _, io) => renderJson(findings, io.cwd),
  github: (findings, _, io) => renderGithub(findings, io.cwd),
  sarif: (findings, _, io) => renderSarif(findings, io.cwd),
};

export function validateCommand(loadPlugins: PluginLoader): Command {
  return {
    name: "validate",
    summary: "check a configuration and report all that is wrong with it",
    help: HELP,
    async run(args, io) {
      const startedMs = performance.now();
      const { values, positionals } = parseArgs({
        args: [...args],
        allowPositionals: true,
        options: {
          overlay: { type: "string", multiple: true, default: [] },
          "no-secrets": { type: "boolean", default: false },
          strict: { type: "boolean", default: false },
          output: { type: "string", default: "text" },
        },
      });
      if (positionals.length > 1) return misused(io, "validate", "one PATH at most; overlays need --overlay");
      const render = Object.hasOwn(RENDERERS, values.output) ? RENDERERS[values.output] : undefined;
      if (render === undefined) {
        return misused(
          io,
          "validate",
          `--output takes ${Object.keys(RENDERERS).join(", ")}, not '${values.output}'`,
        );
      }
      const request = {
        path: configPath(positionals[0], io.env),
        overlays: values.overlay,
        env: io.env,
        secrets: values["no-secrets"] ? "skip" : "resolve",
        strict: values.strict,
      } as const;
      const outcome = await loadConfig(request, loadPlugins);
      io.stdout(render(outcome, outcome, io, performance.now() - startedMs));
      return outcome.config === undefined ? EXIT.failed : EXIT.fine;
    },
  };
}

function summary(config: ResolvedConfig, files: number, tookMs: number): string {
  const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const total = (items: (project: ResolvedConfig["projects"][number]) => readonly unknown[]) =>
    config.projects.reduce((sum, project) => sum + items(project).length, 0);
  const parts = [
    count(files, "file"),
    count(config.projects.length, "project"),
    count(
      total(({ endpoints }) => endpoints),
      "endpoint",
    ),
    count(
      total(({ tokens }) => tokens),
      "token",
    ),
  ];
  return `ok: ${parts.join(", ")} (${Math.round(tookMs)} ms)\n`;
}
