/** `sluice render`: the merged configuration with its defaults, references as written, and where each value is from. */
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Document, isPair, isScalar, isSeq, visit } from "yaml";
import { loadConfig, type PluginLoader } from "../config/load.ts";
import type { SourcePlace } from "../config/model.ts";
import { renderText } from "../config/report/render.ts";
import { type ConfigPath, type ShownConfig, withProvenance } from "../config/shown.ts";
import { shownFile } from "../plan/document.ts";
import {
  type CliIo,
  type Command,
  configPath,
  EXIT,
  expectedValue,
  hasColors,
  usageError,
} from "./command.ts";

const HELP = `Usage: sluice render [PATH] [--overlay FILE]... [--root DIR] [--output yaml|json] [--provenance]

Prints the configuration that PATH and its overlays come to: included files and overlays merged, defaults filled in, prompts
and schemas in place of the files that hold them. Secrets stay references as they are written; a secret that is written
out is shown as its fingerprint. Needs no secret, and executes no code of plugins.

  PATH             a YAML file or a folder of them (default: SLUICE_CONFIG, else gateway.config.yaml)
  --overlay FILE   a partial configuration merged over it; may be repeated, later ones win
  --root DIR       the folder that included files must stay inside (default: the folder of PATH)
  --output FORMAT  yaml (default) or json
  --provenance     where each value is written, as file:line: a comment in YAML, {"value", "at"} in JSON

The YAML loads again as an equal configuration, if it is saved in the folder of PATH: references to secret files and
plugins stay relative.

Exit status: 0; 1 when the configuration is invalid, with its diagnostics on standard error; 64 usage error.

Examples:
  sluice render --overlay production.yaml
  sluice render --provenance | grep temperature
  sluice render --output json | conftest test -`;

const FORMATS = ["yaml", "json"];

export function renderCommand(loadPlugins: PluginLoader): Command {
  return {
    name: "render",
    summary: "print the merged configuration with its defaults",
    help: HELP,
    async run(args, io) {
      const { values, positionals } = parseArgs({
        args: [...args],
        allowPositionals: true,
        options: {
          overlay: { type: "string", multiple: true, default: [] },
          root: { type: "string" },
          output: { type: "string", default: "yaml" },
          provenance: { type: "boolean", default: false },
        },
      });
      if (positionals.length > 1)
        return usageError(io, "render", "expected at most one PATH; name overlays with --overlay");
      const { output, provenance, overlay, root } = values;
      if (!FORMATS.includes(output))
        return usageError(io, "render", expectedValue("--output", output, FORMATS));
      const outcome = await loadConfig(
        {
          path: resolve(io.cwd, configPath(positionals[0], io.env)),
          root: root === undefined ? undefined : resolve(io.cwd, root),
          overlays: overlay.map((file) => resolve(io.cwd, file)),
          ...{ env: {}, secrets: "keep", plugins: "skip", shows: true, strict: false },
        },
        loadPlugins,
      );
      const { shown, config, errors, omitted } = outcome;
      if (shown === undefined || config === undefined) {
        io.stderr(renderText(errors, hasColors(io, "stderr"), io.cwd, omitted));
        return EXIT.failed;
      }
      if (config.plugins.length > 0)
        io.stderr("No code of plugins was executed: their options are shown as they are written.\n");
      io.stdout(output === "json" ? jsonOf(shown, provenance, io) : renderedYaml(shown, provenance, io.cwd));
      return EXIT.ok;
    },
  };
}

function jsonOf(shown: ShownConfig, provenance: boolean, { cwd }: CliIo): string {
  const value = provenance ? withProvenance(shown, (at) => lineText(at, cwd)) : shown.config;
  return `${JSON.stringify(value, null, 2)}\n`;
}

function lineText({ file, line }: SourcePlace, cwd: string): string {
  return `${shownFile(file, cwd)}:${line}`;
}

export function renderedYaml(shown: ShownConfig, provenance: boolean, cwd: string): string {
  // Equal values are written twice: aliases would tie together what was written apart.
  const document = new Document(shown.config, { aliasDuplicateObjects: false });
  const mark = randomUUID();
  if (provenance) comment(document, shown, { cwd, mark });
  // As long as they are: folded lines are hard to search.
  const text = document.toString({ lineWidth: 0 });
  return provenance ? onOneLine(text, mark) : text;
}

/** `yaml` writes an empty list and its comment on lines of their own. No text has the mark, which nobody can know. */
function onOneLine(text: string, mark: string): string {
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    const at = line.indexOf(mark);
    if (at < 0) lines.push(line);
    else {
      const empty = lines.pop()?.trim() ?? "";
      lines.push(`${lines.pop() ?? ""} ${empty} #${line.slice(at + mark.length)}`);
    }
  }
  return lines.join("\n");
}

/** Behind every value that is no map and no list, or an empty one. */
function comment(
  document: Document,
  { originOf }: ShownConfig,
  { cwd, mark }: { readonly cwd: string; readonly mark: string },
): void {
  visit(document, {
    Node(_, node, ancestors) {
      const isEmpty = "items" in node && Array.isArray(node.items) && node.items.length === 0;
      if (!isScalar(node) && !isEmpty) return;
      const path = pathOf(node, ancestors);
      if (path === undefined) return;
      const origin = originOf(path);
      node.comment = `${isEmpty ? mark : ""} ${origin === undefined ? "default" : lineText(origin.at, cwd).replace(/\s/g, " ")}`;
    },
  });
}

/** undefined: it is a key. */
function pathOf(node: unknown, ancestors: readonly unknown[]): ConfigPath | undefined {
  const path: (string | number)[] = [];
  for (const [index, parent] of ancestors.entries()) {
    const below = ancestors[index + 1] ?? node;
    if (isPair(parent)) {
      if (parent.key === below) return undefined; // Keys have no place of their own.
      path.push(String(isScalar(parent.key) ? parent.key.value : parent.key));
    } else if (isSeq(parent)) path.push(parent.items.indexOf(below));
  }
  return path;
}
