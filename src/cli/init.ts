/** `sluice init`: writes a plugin with its test, and prints the YAML to paste. Never overwrites a file. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Command, EXIT, expectedSubcommand, expectedValue, usageError } from "./command.ts";
import { guardrail } from "./init/guardrail.ts";
import { provider } from "./init/provider.ts";
import { stage } from "./init/stage.ts";
import { store } from "./init/store.ts";
import { type Names, namesOf, type Template } from "./init/template.ts";

const TEMPLATES: Readonly<Record<string, Template>> = { guardrail, stage, provider, store };

const HELP = `Usage: sluice init plugin NAME [OPTIONS]

Writes a working plugin, a passing test and a README page for it, and prints the YAML to paste into the configuration.
Existing files are never overwritten.

  NAME           the name in the configuration, in kebab-case
  --kind KIND    ${Object.keys(TEMPLATES).join(" | ")} (default: guardrail)
${Object.entries(TEMPLATES)
  .map(([kind, { summary }]) => `                   ${kind.padEnd(10)} ${summary}`)
  .join("\n")}
  --dir DIR      the folder to write to (default: plugins)

Examples:
  sluice init plugin acme-words
  sluice init plugin acme-teams --kind stage --dir gateway/plugins

Exit status: 0 written, 1 a file exists already, 64 usage error.`;

export const command: Command = {
  name: "init",
  summary: "write a plugin with its test",
  help: HELP,
  async run(args, io) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        kind: { type: "string", default: "guardrail" },
        dir: { type: "string", default: "plugins" },
      },
    });
    const [what, name, ...rest] = positionals;
    if (what !== "plugin") return usageError(io, "init", expectedSubcommand(what, ["plugin"]));
    if (name === undefined || rest.length > 0) return usageError(io, "init", "expected exactly one NAME");
    if (!/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(name) || name.length > 60) {
      return usageError(io, "init", `invalid NAME '${name}'; expected kebab-case, such as acme-words`);
    }
    const template = Object.hasOwn(TEMPLATES, values.kind) ? TEMPLATES[values.kind] : undefined;
    if (template === undefined) {
      return usageError(io, "init", expectedValue("--kind", values.kind, Object.keys(TEMPLATES)));
    }
    const folder = resolve(io.cwd, values.dir);
    const shown = relative(io.cwd, folder) || ".";
    const files = filesOf(template, namesOf(name), shown);
    const existing = Object.keys(files).filter((file) => existsSync(join(folder, file)));
    if (existing.length > 0) {
      io.stderr(
        `sluice init: ${existing.map((file) => join(shown, file)).join(", ")} already exists; nothing was written\n`,
      );
      return EXIT.failed;
    }
    mkdirSync(folder, { recursive: true });
    for (const [file, text] of Object.entries(files)) {
      writeFileSync(join(folder, file), text, { flag: "wx" });
      io.stdout(`wrote ${join(shown, file)}\n`);
    }
    io.stdout(`
Test it:

  node --import tsx --test ${join(shown, `${name}.test.ts`)}

Use it, in the configuration (paths are relative to that file):

${indented(yamlOf(template, namesOf(name), shown))}`);
    return EXIT.ok;
  },
};

function filesOf(template: Template, names: Names, folder: string): Readonly<Record<string, string>> {
  const { name } = names;
  return {
    [`${name}.ts`]: template.plugin(names),
    [`${name}.test.ts`]: template.test(names),
    [`${name}.md`]: `# ${name}

Describe here what it does and who needs it.

\`\`\`yaml
${yamlOf(template, names, folder)}\`\`\`

\`node --import tsx --test ${name}.test.ts\` tests it. Its options are declared in its \`schema\`; editors get
them from \`sluice schema\`, and \`sluice validate\` checks configurations against them.
`,
  };
}

function yamlOf(template: Template, names: Names, folder: string): string {
  const path = `./${join(folder, `${names.name}.ts`)}`.replaceAll("\\", "/");
  return `plugins:\n  - ${path.replace(/^\.\/(?=\.\.?\/)/, "")}\n${template.yaml(names)}`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
