/** `sluice init`: writes a plugin with its test, and the YAML to paste. Never writes over a file. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Command, EXIT, misused } from "./command.ts";
import { guardrail } from "./init/guardrail.ts";
import { provider } from "./init/provider.ts";
import { stage } from "./init/stage.ts";
import { store } from "./init/store.ts";
import { type Names, namesOf, type Template } from "./init/template.ts";

const TEMPLATES: Readonly<Record<string, Template>> = { guardrail, stage, provider, store };

const HELP = `Usage: sluice init plugin NAME [OPTIONS]

Writes a plugin that works, its test that passes, and a page about it, and prints the YAML to paste.

  NAME           kebab-case: what the configuration will call it
  --kind KIND    ${Object.keys(TEMPLATES).join(" | ")} (default: guardrail)
${Object.entries(TEMPLATES)
  .map(([kind, { summary }]) => `                   ${kind.padEnd(10)} ${summary}`)
  .join("\n")}
  --dir DIR      where to write it (default: plugins)

Examples:
  sluice init plugin acme-words
  sluice init plugin acme-teams --kind stage --dir gateway/plugins`;

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
    if (what !== "plugin") return misused(io, "init", "what to write: `plugin`");
    if (name === undefined || rest.length > 0) return misused(io, "init", "one NAME");
    if (!/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(name) || name.length > 60) {
      return misused(io, "init", `'${name}' is not in kebab-case, such as acme-words`);
    }
    const template = Object.hasOwn(TEMPLATES, values.kind) ? TEMPLATES[values.kind] : undefined;
    if (template === undefined) {
      return misused(io, "init", `'${values.kind}' is none of ${Object.keys(TEMPLATES).join(", ")}`);
    }
    const folder = resolve(io.cwd, values.dir);
    const shown = relative(io.cwd, folder) || ".";
    const files = filesOf(template, namesOf(name), shown);
    const there = Object.keys(files).filter((file) => existsSync(join(folder, file)));
    if (there.length > 0) {
      io.stderr(
        `sluice init: ${there.map((file) => join(shown, file)).join(", ")} is there already; nothing was written\n`,
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
    return EXIT.fine;
  },
};

function filesOf(template: Template, names: Names, folder: string): Readonly<Record<string, string>> {
  const { name } = names;
  return {
    [`${name}.ts`]: template.plugin(names),
    [`${name}.test.ts`]: template.test(names),
    [`${name}.md`]: `# ${name}

What it does, and for whom: say it here.

\`\`\`yaml
${yamlOf(template, names, folder)}\`\`\`

\`node --import tsx --test ${name}.test.ts\` tests it. Its options are in its \`schema\`; \`sluice schema\` shows them to
editors, and \`sluice validate\` holds configurations to them.
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
