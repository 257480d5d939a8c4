/** `sluice status`: how a running gateway is, once or as it changes. */
import { parseArgs } from "node:util";
import type { PluginLoader } from "../../config/load.ts";
import { type Overview, overviewSchema } from "../../gateway/overview.ts";
import {
  ADMIN_OPTIONS,
  ADMIN_OPTIONS_HELP,
  type AdminClient,
  AdminError,
  adminClient,
} from "../admin-client.ts";
import { type CliIo, type Command, EXIT, expectedValue, hasColors, usageError } from "../command.ts";
import { conforms } from "../conforms.ts";
import { columnsOf, styleOf } from "../terminal.ts";
import { statusLine, statusText } from "./view.ts";
import { watchStatus } from "./watch.ts";

const HELP = `Usage: sluice status [--url URL] [--watch] [--output text|json]

Shows how a running gateway is: what needs attention first (a rejected reload with its frames, open circuits,
budgets above 80 %), then the configuration in use, traffic, totals and overrides. Needs a control-plane token in
SLUICE_ADMIN_TOKEN.

${ADMIN_OPTIONS_HELP}
  --watch          ask every 2 s until Ctrl-C: redraws a terminal, prints a line each time into a pipe
  --output FORMAT  text, or json: the body of GET /admin/v1/overview (with --watch one line each time)

Exit status: 0 ready, 1 not ready or no answer, 64 usage error.

Examples:
  sluice status
  sluice status --url http://gateway.internal:8081 --watch
  sluice status --output json | jq .config.hash`;

export function statusCommand(loadPlugins: PluginLoader): Command {
  return {
    name: "status",
    summary: "show how a running gateway is",
    help: HELP,
    async run(args, io) {
      const { values } = parseArgs({
        args: [...args],
        options: {
          ...ADMIN_OPTIONS,
          watch: { type: "boolean", default: false },
          output: { type: "string", default: "text" },
        },
      });
      const { output, watch } = values;
      if (output !== "text" && output !== "json")
        return usageError(io, "status", expectedValue("--output", output, ["text", "json"]));
      let client: AdminClient | undefined;
      try {
        client = await adminClient(values, io, loadPlugins);
        const asked = client;
        const ask = () => overviewOf(asked, output);
        if (!watch) return show(await ask(), { url: client.url, output, io });
        return await watchStatus({ ask, io, ...viewsOf(client.url, output, io) });
      } catch (error) {
        if (!(error instanceof AdminError)) throw error;
        io.stderr(`sluice status: ${error.message}\n`);
        return EXIT.failed;
      } finally {
        client?.close();
      }
    },
  };
}

/** Text is drawn from what this version knows; JSON is passed on, whatever the gateway's version. */
async function overviewOf(client: AdminClient, output: Shown["output"]): Promise<Overview> {
  const { status, body } = await client.ask("GET", "/admin/v1/overview");
  if (status !== 200) throw new AdminError(`${client.url} answers ${status}`, true);
  const fault = output === "json" ? undefined : conforms(body, overviewSchema);
  if (fault !== undefined)
    throw new AdminError(
      `${client.url} answers an overview of another version of Sluice (${fault}); use its own \`sluice status\`, or --output json`,
      true,
    );
  return body as unknown as Overview; // Checked by the schema of this type, or only printed.
}

interface Shown {
  readonly url: string;
  readonly output: "text" | "json";
  readonly io: CliIo;
}

function show(seen: Overview, { url, output, io }: Shown): number {
  io.stdout(output === "json" ? `${JSON.stringify(seen, null, 2)}\n` : textOf(url, io)(seen));
  return seen.ready ? EXIT.ok : EXIT.failed;
}

function viewsOf(url: string, output: Shown["output"], io: CliIo) {
  const isDrawn = output === "text" && io.isTerminal;
  return {
    screen: isDrawn ? textOf(url, io) : undefined,
    line: output === "json" ? (seen: Overview) => `${JSON.stringify(seen)}\n` : statusLine,
  };
}

function textOf(url: string, io: CliIo): (seen: Overview) => string {
  const frames = { isColored: hasColors(io, "stdout"), cwd: io.cwd };
  // The terminal's width may have changed since the last time.
  return (seen) => statusText(seen, { url, style: styleOf(io, "stdout"), frames, columns: columnsOf(io) });
}
