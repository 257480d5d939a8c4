/** `sluice schema`: the JSON Schema of the configuration for editors, with those of the plugins in it. */
import { parseArgs } from "node:util";
import { lookUpPlugins, type PluginLoader } from "../config/load.ts";
import { editorSchema } from "../config/schema/editor.ts";
import { type Command, configPath, EXIT, misused } from "./command.ts";

const HELP = `Usage: sluice schema [PATH]

Prints the JSON Schema (draft-07) of the configuration, for completion and checks while you type. The options of all
plugins are in it, those that the configuration's own \`plugins:\` register included.

  PATH    the configuration whose plugins to look at (default: SLUICE_CONFIG, else gateway.config.yaml)

Examples:
  sluice schema > gateway.schema.json
  # and at the top of gateway.config.yaml:
  # yaml-language-server: $schema=./gateway.schema.json`;

export function schemaCommand(loadPlugins: PluginLoader): Command {
  return {
    name: "schema",
    summary: "print the JSON Schema of the configuration, for editors",
    help: HELP,
    async run(args, io) {
      const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} });
      if (positionals.length > 1) return misused(io, "schema", "one PATH at most");
      const path = configPath(positionals[0], io.env);
      const request = { path, overlays: [], env: io.env, secrets: "skip", strict: false } as const;
      const plugins = await lookUpPlugins(request, loadPlugins);
      for (const { module, message } of plugins.failures)
        io.stderr(`left out: ${module.specifier}: ${message}\n`);
      io.stdout(`${JSON.stringify(editorSchema(plugins), null, 2)}\n`);
      return EXIT.fine;
    },
  };
}
