/** Finds the requested command, runs it, and turns its outcome into an exit code. */
import { VERSION } from "../base/version.ts";
import { nearestName } from "../config/report/suggest.ts";
import { type CliIo, type Command, EXIT, usageError } from "./command.ts";
import { columnsOf, styleOf, table } from "./terminal.ts";

type LoadCommand = () => Promise<Command>;

/** Each command is loaded only when it runs or its help is requested. */
const COMMANDS: Readonly<Record<string, LoadCommand>> = {
  start: async () => (await import("./start.ts")).command,
  validate: async () => {
    const [{ validateCommand }, { pluginLoader }] = await Promise.all([
      import("./validate.ts"),
      import("../gateway/load.ts"),
    ]);
    return validateCommand(pluginLoader);
  },
  render: async () => {
    const [{ renderCommand }, { pluginLoader }] = await Promise.all([
      import("./render.ts"),
      import("../gateway/load.ts"),
    ]);
    return renderCommand(pluginLoader);
  },
  plan: async () => {
    const [{ planCommand }, { pluginLoader }] = await Promise.all([
      import("./plan/plan.ts"),
      import("../gateway/load.ts"),
    ]);
    return planCommand({ loadPlugins: pluginLoader, nowMs: Date.now });
  },
  test: async () => (await import("./test/command.ts")).command,
  schema: async () => {
    const [{ schemaCommand }, { pluginLoader }] = await Promise.all([
      import("./schema.ts"),
      import("../gateway/load.ts"),
    ]);
    return schemaCommand(pluginLoader);
  },
  explain: async () => (await import("./explain.ts")).command,
  status: async () => {
    const [{ statusCommand }, { pluginLoader }] = await Promise.all([
      import("./status/status.ts"),
      import("../gateway/load.ts"),
    ]);
    return statusCommand(pluginLoader);
  },
  reload: async () => {
    const [{ reloadCommand }, { pluginLoader }] = await Promise.all([
      import("./reload.ts"),
      import("../gateway/load.ts"),
    ]);
    return reloadCommand(pluginLoader);
  },
  doctor: async () => (await import("./doctor/doctor.ts")).command,
  token: async () => (await import("./token.ts")).command,
  init: async () => (await import("./init.ts")).command,
  import: async () => (await import("./import.ts")).command,
  state: async () => {
    const [{ stateCommand }, { pluginLoader }] = await Promise.all([
      import("./state.ts"),
      import("../gateway/load.ts"),
    ]);
    return stateCommand(pluginLoader);
  },
};

/** The overview's groups, in the order in which a team meets the commands. */
const GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  ["Configuration", ["init", "validate", "schema", "render", "import"]],
  ["Review", ["plan", "test", "explain"]],
  ["Operate", ["start", "status", "reload", "doctor", "token", "state"]],
];

export async function main(args: readonly string[], io: CliIo = processIo()): Promise<number> {
  const [name = "help", ...rest] = args;
  if (name === "help" || name === "--help" || name === "-h") {
    io.stdout(await overview(io));
    return 0;
  }
  if (name === "--version" || name === "-V" || name === "version") {
    io.stdout(`sluice ${VERSION} (Node ${process.versions.node})\n`);
    return 0;
  }
  const load = COMMANDS[name];
  if (load === undefined) {
    const nearest = nearestName(name, Object.keys(COMMANDS));
    const advice = nearest === undefined ? "" : `Did you mean \`sluice ${nearest}\`?\n`;
    io.stderr(`sluice: unknown command '${name}'\n${advice}\n${await overview(io)}`);
    return EXIT.usage;
  }
  const command = await load();
  if (rest.includes("--help") || rest.includes("-h")) {
    io.stdout(`${command.help}\n`);
    return 0;
  }
  try {
    return await command.run(rest, io);
  } catch (error) {
    return failed(command, error, io);
  }
}

function failed(command: Command, error: unknown, io: CliIo): number {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code.startsWith("ERR_PARSE_ARGS")) {
    return usageError(io, command.name, message);
  }
  if (code === "EADDRINUSE") {
    io.stderr(
      `sluice ${command.name}: ${message}\nAnother program listens on this port; change server.port or admin.port.\n`,
    );
    return EXIT.failed;
  }
  io.stderr(`sluice ${command.name}: ${message}\n`);
  return EXIT.failed;
}

async function overview(io: CliIo): Promise<string> {
  const { bold } = styleOf(io, "stdout");
  const names = Object.keys(COMMANDS);
  const grouped = GROUPS.map(
    ([title, list]) => [title, list.filter((name) => names.includes(name))] as const,
  );
  const width = Math.max(...names.map((name) => name.length));
  const sections = await Promise.all(
    grouped
      .filter(([, list]) => list.length > 0)
      .map(async ([title, list]) => {
        const rows = list.map(async (name) => [
          name.padEnd(width),
          (await COMMANDS[name]?.())?.summary ?? "",
        ]);
        return `${bold(title)}\n${table(await Promise.all(rows), { indent: 2, max: columnsOf(io) })}`;
      }),
  );
  return `sluice: an AI gateway whose whole configuration lives in git

Usage: sluice COMMAND [OPTIONS]

${sections.join("\n\n")}

\`sluice COMMAND --help\` shows options and examples, \`sluice --version\` the
versions of Sluice and Node.

${bold("Getting started")}, with a configuration in gateway.config.yaml:

  $ sluice validate              # every problem at once, with its place
  $ sluice start                 # serve it; save a file to reload
  $ sluice token new --name web  # a client token, and the YAML to commit
`;
}

const INTERRUPTS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

function processIo(): CliIo {
  // The reader closed the pipe (`| head`), which is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  // A closed stderr must not end a gateway that still answers calls.
  process.stderr.on("error", () => undefined);
  return {
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    stdin: async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
      return Buffer.concat(chunks).toString("utf8");
    },
    env: process.env,
    cwd: process.cwd(),
    isTerminal: process.stdout.isTTY === true,
    isErrorTerminal: process.stderr.isTTY === true,
    get columns() {
      return process.stdout.columns;
    },
    get rows() {
      return process.stdout.rows;
    },
    onInterrupt(stop) {
      for (const signal of INTERRUPTS) process.on(signal, stop);
      return () => {
        for (const signal of INTERRUPTS) process.off(signal, stop);
      };
    },
  };
}
