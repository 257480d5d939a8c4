/** `sluice state`: inspects, verifies, repairs, exports and imports the folder of the file store. */
import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { loadConfig, type PluginLoader } from "../config/load.ts";
import type { ResolvedConfig } from "../config/model.ts";
import { renderText } from "../config/report/render.ts";
import {
  checkFiles,
  exportLines,
  importLines,
  OfflineError,
  readState,
  repairFolder,
  withFolder,
} from "../state/file/offline.ts";
import { confirmLoss } from "../state/redis/confirm.ts";
import {
  type CliIo,
  type Command,
  configPath,
  EXIT,
  expectedSubcommand,
  expectedValue,
  hasColors,
  usageError,
} from "./command.ts";
import { checkedText, repairedText, shownText, stateView } from "./state-text.ts";

const HELP = `Usage: sluice state show   [--directory DIR | --config PATH [--root DIR]] [--output text|json]
       sluice state verify [--directory DIR | --config PATH [--root DIR]] [--output text|json]
       sluice state repair [--directory DIR | --config PATH [--root DIR]]
       sluice state export [--directory DIR | --config PATH [--root DIR]] [FILE]
       sluice state import [--directory DIR | --config PATH [--root DIR]] [FILE]
       sluice state confirm [--config PATH] [--root DIR]

Works on the folder of \`state.driver: file\` while no gateway uses it. A crash needs no repair. If files are damaged, a
gateway starts when only conversations, audit records or rate windows are lost, and logs which. It does not start when
spend or a token revocation may be lost, until the folder is restored from a backup or repaired.

show    prints spend by month and key, the number of conversations, overrides and audit records, and the files
verify  reads every file completely; exits with 1 if one is damaged, and prints where and what is lost
repair  writes everything readable to a new snapshot, prints what is lost, and renames the damaged files
export  writes the state as JSON lines to FILE or standard output
import  creates a new folder from such lines in FILE or standard input
confirm for \`state.driver: redis\`, while gateways run: accepts that Redis was emptied or lost writes (budgets, sessions,
        possibly revocations), so that calls are admitted again (state.on_data_loss: deny)

  --directory DIR  the folder; relative to the working directory (default: state.directory of the configuration)
  --config PATH    the configuration that names the folder (default: SLUICE_CONFIG, else gateway.config.yaml)
  --root DIR       the folder that the files of the configuration must stay inside (default: the folder of PATH)
  --output json    machine-readable; amounts in nano-dollars

Examples:
  sluice state show
  sluice state verify --directory /var/lib/sluice
  sluice state export backup.jsonl && sluice state import --directory ./restored backup.jsonl

Exit status: 0 done, 1 failed or damaged, 64 usage error.`;

interface Task {
  readonly folder: string;
  readonly io: CliIo;
  readonly asJson: boolean;
  /** Absolute; undefined: standard input or output. */
  readonly file: string | undefined;
}

const ACTIONS: Readonly<Record<string, (task: Task) => Promise<number>>> = {
  show: (task) => withFolder(task.folder, () => show(task)),
  verify: (task) => withFolder(task.folder, () => verify(task)),
  repair: (task) => withFolder(task.folder, () => repair(task)),
  export: (task) => withFolder(task.folder, () => exportState(task)),
  import: (task) => withFolder(task.folder, () => importState(task), "nothing"),
};

export function stateCommand(loadPlugins: PluginLoader): Command {
  return {
    name: "state",
    summary: "inspect, verify, repair, export or import file-store data",
    help: HELP,
    async run([name, ...args], io) {
      if (name === "confirm") return confirm(args, io, loadPlugins);
      const action = name !== undefined && Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
      if (action === undefined) {
        return usageError(io, "state", expectedSubcommand(name, [...Object.keys(ACTIONS), "confirm"]));
      }
      const { values, positionals } = parseArgs({
        args: [...args],
        allowPositionals: true,
        options: {
          directory: { type: "string" },
          config: { type: "string" },
          root: { type: "string" },
          output: { type: "string", default: "text" },
        },
      });
      const { output } = values;
      const takesFile = name === "export" || name === "import";
      if (output !== "text" && (output !== "json" || (name !== "show" && name !== "verify")))
        return usageError(
          io,
          "state",
          expectedValue(
            "--output",
            output,
            name === "show" || name === "verify" ? ["text", "json"] : ["text"],
          ),
        );
      if (positionals.length > (takesFile ? 1 : 0))
        return usageError(io, "state", takesFile ? "expected at most one FILE" : `${name} takes no FILE`);
      const directory = values.directory ?? (await loaded(values, io, loadPlugins, "skip"))?.state.directory;
      if (directory === undefined) return EXIT.failed;
      const [file] = positionals;
      const task = {
        folder: resolve(io.cwd, directory),
        io,
        asJson: output === "json",
        file: file === undefined || file === "-" ? undefined : resolve(io.cwd, file),
      };
      return action(task).catch((error: unknown) => failed(error, io));
    },
  };
}

interface ConfigOptions {
  readonly config?: string | undefined;
  readonly root?: string | undefined;
}

/** Undefined if the configuration has errors, which are printed. */
async function loaded(
  { config: path, root }: ConfigOptions,
  io: CliIo,
  loadPlugins: PluginLoader,
  secrets: "skip" | "resolve",
): Promise<ResolvedConfig | undefined> {
  const request = {
    path: resolve(io.cwd, configPath(path, io.env)),
    root: root === undefined ? undefined : resolve(io.cwd, root),
    overlays: [],
    env: io.env,
    secrets,
    strict: false,
  } as const;
  const { config, errors } = await loadConfig(request, loadPlugins);
  if (config === undefined) io.stderr(renderText(errors, hasColors(io, "stderr"), io.cwd));
  return config;
}

/** Accepts a detected loss of data in Redis, so that calls are admitted again. */
async function confirm(args: readonly string[], io: CliIo, loadPlugins: PluginLoader): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { config: { type: "string" }, root: { type: "string" } },
  });
  if (positionals.length > 0) return usageError(io, "state", "confirm takes no FILE");
  const config = await loaded(values, io, loadPlugins, "resolve");
  if (config === undefined) return EXIT.failed;
  const { driver, url, key_prefix: keyPrefix } = config.state;
  if (driver !== "redis") {
    io.stderr(`sluice state: confirm needs state.driver 'redis'; this configuration has '${driver}'\n`);
    return EXIT.failed;
  }
  try {
    const { server, lost } = await confirmLoss({ url, keyPrefix });
    const loss = lost && `the data loss of ${new Date(lost.atMs).toISOString()} (${lost.reason})`;
    const outcome = loss ? `confirmed ${loss}; calls are admitted again` : "no data loss to confirm";
    io.stdout(`redis (${server}): ${outcome}\n`);
    return EXIT.ok;
  } catch (error) {
    io.stderr(`sluice state: ${error instanceof Error ? error.message : "no answer from redis"}\n`);
    return EXIT.failed;
  }
}

function failed(error: unknown, io: CliIo): number {
  if (!(error instanceof OfflineError)) throw error;
  io.stderr(`sluice state: ${error.message}\n`);
  return EXIT.failed;
}

async function show({ folder, io, asJson }: Task): Promise<number> {
  const view = stateView(await readState(folder));
  io.stdout(asJson ? `${JSON.stringify(view, null, 2)}\n` : shownText(view, io.isTerminal));
  return EXIT.ok;
}

async function verify({ folder, io, asJson }: Task): Promise<number> {
  const files = await checkFiles(folder);
  const ok = files.every(({ faults }) => faults.length === 0);
  io.stdout(asJson ? `${JSON.stringify({ ok, files }, null, 2)}\n` : checkedText(files, io.isTerminal));
  return ok ? EXIT.ok : EXIT.failed;
}

async function repair({ folder, io }: Task): Promise<number> {
  const repaired = await repairFolder(folder);
  if (repaired === undefined) {
    io.stdout("no file is damaged; nothing was changed\n");
    return EXIT.ok;
  }
  io.stdout(repairedText(repaired));
  return EXIT.ok;
}

async function exportState({ folder, io, file }: Task): Promise<number> {
  const lines = exportLines(await readState(folder));
  if (file === undefined) {
    for (const line of lines) io.stdout(line);
    return EXIT.ok;
  }
  await pipeline(Readable.from(lines), createWriteStream(file, { mode: 0o600 }));
  io.stdout(`exported ${folder} to ${file}\n`);
  return EXIT.ok;
}

async function importState({ folder, io, file }: Task): Promise<number> {
  const text = file === undefined ? await io.stdin() : await readFile(file, "utf8");
  const changes = await importLines(folder, text);
  io.stdout(`imported ${changes} changes into ${folder}\n`);
  return EXIT.ok;
}
