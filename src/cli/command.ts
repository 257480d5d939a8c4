/** What a command is, and its only access to the process: everything it reads and writes is passed in. */

export interface CliIo {
  stdout(text: string): void;
  stderr(text: string): void;
  /** All of standard input. */
  stdin(): Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly cwd: string;
  /** Standard output is a terminal: tables are aligned, and colors are used unless NO_COLOR is set. */
  readonly isTerminal: boolean;
  /** Standard error is a terminal. Default: false. */
  readonly isErrorTerminal?: boolean;
  /** Of the terminal; undefined when not known. It changes when the window does. */
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  /** Calls `stop` on Ctrl-C and when the process is asked to end, until the returned function is called. */
  onInterrupt?(stop: () => void): () => void;
}

export interface Command {
  readonly name: string;
  /** Half a line for the overview. */
  readonly summary: string;
  /** Usage, options and examples. */
  readonly help: string;
  /** Returns the exit code. Arguments that `parseArgs` rejects may throw: the caller turns that into 64. */
  run(args: readonly string[], io: CliIo): Promise<number>;
}

/** 64 is the usage error of BSD's sysexits. */
export const EXIT = { ok: 0, failed: 1, changes: 2, testsFailed: 3, usage: 64 } as const;

/** Reports a usage error: what was wrong, what was expected, and where to read more. */
export function usageError(io: CliIo, command: string, message: string): number {
  io.stderr(`sluice ${command}: ${message}\nTry: sluice ${command} --help\n`);
  return EXIT.usage;
}

export function expectedSubcommand(given: string | undefined, names: readonly string[]): string {
  const expected = `expected ${alternatives(names.map((name) => `\`${name}\``))}`;
  return given === undefined
    ? `missing subcommand; ${expected}`
    : `unknown subcommand '${given}'; ${expected}`;
}

export function expectedValue(flag: string, given: string, values: readonly string[]): string {
  return `invalid ${flag} '${given}'; expected ${alternatives(values)}`;
}

/** `a, b or c`. */
function alternatives(words: readonly string[]): string {
  const [last = "", ...others] = words.toReversed();
  return others.length === 0 ? last : `${others.toReversed().join(", ")} or ${last}`;
}

/** The configuration to work on: the argument, else SLUICE_CONFIG, else gateway.config.yaml. */
export function configPath(given: string | undefined, env: CliIo["env"]): string {
  return given ?? env["SLUICE_CONFIG"] ?? "gateway.config.yaml";
}

/** Whether to color standard output or standard error. */
export function hasColors(io: CliIo, stream: "stdout" | "stderr"): boolean {
  const isTerminal = stream === "stdout" ? io.isTerminal : io.isErrorTerminal === true;
  return isTerminal && (io.env["NO_COLOR"] ?? "") === "";
}
