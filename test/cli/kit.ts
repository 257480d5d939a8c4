/** Runs a command in this process, as a shell would, and keeps what it printed. */
import type { CliIo } from "../../src/cli/command.ts";
import { main } from "../../src/cli/main.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function run(args: readonly string[], about: Partial<CliIo> = {}): Promise<Ran> {
  const out = { stdout: "", stderr: "" };
  const io: CliIo = {
    stdout: (text) => void (out.stdout += text),
    stderr: (text) => void (out.stderr += text),
    stdin: async () => "",
    env: {},
    cwd: "/",
    isTerminal: false,
    ...about,
  };
  return { code: await main(args, io), ...out };
}
