/** Finds the requested command, runs it, and turns its outcome into an exit code. */
import { VERSION } from "../base/version.ts";
import { nearestName } from "../config/report/suggest.ts";
import { type CliIo, type Command, EXIT, usageError } from "./command.ts";

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
  schema: async () => {
    const [{ schemaCommand }, { pluginLoader }] = await Promise.all([
      import("./schema.ts"),
      import("../gateway/load.ts"),
    ]);
    return schemaCommand(pluginLoader);
  },
  token: async () => (await import("./token.ts")).command,
  init: async () => (await import("./init.ts")).command,
  state: async () => {
    const [{ stateCommand }, { pluginLoader }] = await Promise.all([
      import("./state.ts"),
      import("../gateway/load.ts"),
    ]);
    return stateCommand(pluginLoader);
  },
};

export async function main(args: readonly string[], io: CliIo = processIo()): Promise<number> {
  const [name = "help", ...rest] = args;
  if (name === "help" || name === "--help" || name === "-h") {
    io.stdout(await overview());
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
    io.stderr(`sluice: unknown command '${name}'\n${advice}\n${await overview()}`);
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

async function overview(): Promise<string> {
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(10)} ${summary}`);
  return `sluice: an AI gateway whose whole configuration lives in git

Usage: sluice COMMAND [OPTIONS]

${lines.join("\n")}

  --version  print the version of Sluice and of Node

Getting started, with a configuration in gateway.config.yaml:

  $ sluice validate             # every problem at once, with file, line and suggestion
  $ sluice start                # serve it; save a file to reload
  $ sluice token new --name web # a client token, and the YAML to commit

Run 'sluice COMMAND --help' for options and examples.
`;
}

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
  };
}
