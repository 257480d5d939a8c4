/** `sluice schema`: the JSON Schema of the configuration for editors, with those of the plugins in it. */
import { parseArgs } from "node:util";
import { lookUpPlugins, type PluginLoader } from "../config/load.ts";
import { editorSchema, FILE_KINDS } from "../config/schema/editor.ts";
import { testEditorSchema } from "../config-tests/editor-schema.ts";
import { type Command, configPath, EXIT, expectedValue, usageError } from "./command.ts";

const HELP = `Usage: sluice schema [PATH] [--for KIND] [--root DIR]

Prints the JSON Schema (draft-07) of the configuration, with the options of all built-in plugins and of those listed under
\`plugins:\` of the configuration. Editors use it for completion, hover texts and checks while you type.

  PATH        the configuration whose plugins are included (default: SLUICE_CONFIG, else gateway.config.yaml)
  --for KIND  the kind of file that the schema describes (default: config)
                config        a whole configuration
                part          a file included by the configuration
                project-part  a file included by a project
                overlay       a file for --overlay
                test          a file of test cases, for \`sluice test\`
  --root DIR  the folder that the configuration's files must stay inside (default: the folder of PATH)

Examples:
  sluice schema > gateway.schema.json
  sluice schema --for project-part > project-part.schema.json
  sluice schema --for test > gateway.test.schema.json
  # and at the top of gateway.config.yaml:
  # yaml-language-server: $schema=./gateway.schema.json`;

export function schemaCommand(loadPlugins: PluginLoader): Command {
  return {
    name: "schema",
    summary: "print the JSON Schema of the configuration, for editors",
    help: HELP,
    async run(args, io) {
      const { values, positionals } = parseArgs({
        args: [...args],
        allowPositionals: true,
        options: { for: { type: "string", default: "config" }, root: { type: "string" } },
      });
      if (positionals.length > 1) return usageError(io, "schema", "expected at most one PATH");
      if (values.for === "test") {
        io.stdout(`${JSON.stringify(testEditorSchema(), null, 2)}\n`);
        return EXIT.ok;
      }
      const kind = FILE_KINDS.find((one) => one === values.for);
      if (kind === undefined)
        return usageError(io, "schema", expectedValue("--for", values.for, [...FILE_KINDS, "test"]));
      const path = configPath(positionals[0], io.env);
      const { root } = values;
      const request = { path, root, overlays: [], env: io.env, secrets: "skip", strict: false } as const;
      const plugins = await lookUpPlugins(request, loadPlugins);
      for (const { module, message } of plugins.failures)
        io.stderr(`plugin skipped: ${module.specifier}: ${message}\n`);
      io.stdout(`${JSON.stringify(editorSchema(plugins, kind), null, 2)}\n`);
      return EXIT.ok;
    },
  };
}
