/** `sluice validate`: everything that loading checks, without serving. */
import { parseArgs } from "node:util";
import { type LoadOutcome, loadConfig, type PluginLoader } from "../config/load.ts";
import type { ResolvedConfig } from "../config/model.ts";
import { type Findings, renderGithub, renderJson, renderSarif, renderText } from "../config/report/render.ts";
import {
  type CliIo,
  type Command,
  configPath,
  EXIT,
  expectedValue,
  hasColors,
  usageError,
} from "./command.ts";

const HELP = `Usage: sluice validate [PATH] [--overlay FILE]... [--root DIR] [--no-secrets] [--no-plugins]
                       [--strict] [--output FORMAT]

Runs every check that \`start\` runs and reports all problems at once: code, place, what was found and what is allowed.
Nothing is served and no provider is called.

  PATH             a YAML file or a folder of them (default: SLUICE_CONFIG, else gateway.config.yaml)
  --overlay FILE   a partial configuration merged over it; may be repeated, later ones win
  --root DIR       the folder that included files, prompts, schemas and plugins must stay inside, symbolic links
                   resolved (default: the folder of PATH)
  --no-secrets     treat unset variables and missing secret files as set, for CI without secrets; prompts, templates
                   and schemas are still read
  --no-plugins     execute no plugin code, for untrusted configurations; options of plugins are not checked
  --strict         report secrets hard-coded in a file as errors instead of warnings
  --output FORMAT  text, json, github (pull-request annotations) or sarif (code scanning)

Exit status: 0 valid, 1 invalid, 64 usage error. At most 200 diagnostics are printed, with a count of the rest.

Examples:
  sluice validate
  sluice validate ./gateway --overlay ./production.yaml --no-secrets
  sluice validate --output github`;

type Renderer = (findings: Findings, outcome: LoadOutcome, io: CliIo, tookMs: number) => string;

const RENDERERS: Readonly<Record<string, Renderer>> = {
  text: ({ errors, warnings, omitted }, { config, watch }, io, tookMs) => {
    const findings = renderText([...errors, ...warnings], hasColors(io, "stdout"), io.cwd, omitted);
    return config === undefined ? findings : `${findings}${summary(config, watch.files.length, tookMs)}`;
  },
  json: (findings, _, io) => renderJson(findings, io.cwd),
  github: (findings, _, io) => renderGithub(findings, io.cwd),
  sarif: (findings, _, io) => renderSarif(findings, io.cwd),
};

export function validateCommand(loadPlugins: PluginLoader): Command {
  return {
    name: "validate",
    summary: "check a configuration and report every problem",
    help: HELP,
    async run(args, io) {
      const startedMs = performance.now();
      const { values, positionals } = parseArgs({
        args: [...args],
        allowPositionals: true,
        options: {
          overlay: { type: "string", multiple: true, default: [] },
          root: { type: "string" },
          "no-secrets": { type: "boolean", default: false },
          "no-plugins": { type: "boolean", default: false },
          strict: { type: "boolean", default: false },
          output: { type: "string", default: "text" },
        },
      });
      if (positionals.length > 1)
        return usageError(io, "validate", "expected at most one PATH; name overlays with --overlay");
      const render = Object.hasOwn(RENDERERS, values.output) ? RENDERERS[values.output] : undefined;
      if (render === undefined) {
        return usageError(io, "validate", expectedValue("--output", values.output, Object.keys(RENDERERS)));
      }
      const request = {
        path: configPath(positionals[0], io.env),
        root: values.root,
        overlays: values.overlay,
        env: io.env,
        secrets: values["no-secrets"] ? "skip" : "resolve",
        plugins: values["no-plugins"] ? "skip" : "load",
        strict: values.strict,
      } as const;
      const outcome = await loadConfig(request, loadPlugins);
      io.stdout(render(outcome, outcome, io, performance.now() - startedMs));
      return outcome.config === undefined ? EXIT.failed : EXIT.ok;
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
  const others = [
    [total(({ aliases }) => aliases), "alias"],
    [total(({ proxy_endpoints }) => proxy_endpoints), "proxy endpoint"],
  ] as const;
  for (const [number, noun] of others)
    if (number > 0) parts.push(number > 1 && noun === "alias" ? `${number} aliases` : count(number, noun));
  return `ok: ${parts.join(", ")} (${Math.round(tookMs)} ms)\n`;
}
