/** What a command is, and what it may touch: everything it reads and writes of the process is handed to it. */

export interface CliIo {
  stdout(text: string): void;
  stderr(text: string): void;
  /** All of standard input. */
  stdin(): Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly cwd: string;
  /** True when colours may be used. */
  readonly isTerminal: boolean;
  /** True when somebody reads standard error as it is written. Default: false. */
  readonly isErrorTerminal?: boolean;
}

export interface Command {
  readonly name: string;
  /** Half a line for the overview. */
  readonly summary: string;
  /** Usage, options and examples. */
  readonly help: string;
  /** Returns the exit code. Arguments that `parseArgs` refuses may throw: the caller turns that into 64. */
  run(args: readonly string[], io: CliIo): Promise<number>;
}

/** Exit codes of CONTRACT section 13. */
export const EXIT = { fine: 0, failed: 1, usage: 64 } as const;

/** Refuses wrong usage: says what is wrong and where to read more. */
export function misused(io: CliIo, command: string, message: string): number {
  io.stderr(`sluice ${command}: ${message}\nTry: sluice ${command} --help\n`);
  return EXIT.usage;
}

/** The configuration to work on: the argument, else SLUICE_CONFIG, else gateway.config.yaml. */
export function configPath(given: string | undefined, env: CliIo["env"]): string {
  return given ?? env["SLUICE_CONFIG"] ?? "gateway.config.yaml";
}
