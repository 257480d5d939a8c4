/** Runs `sluice explain` as the command line does, over files in a folder of the test's own. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { CliIo } from "../../src/cli/command.ts";
import { main } from "../../src/cli/main.ts";
import type { Explanation } from "../../src/offline/explain/explanation.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Desk {
  readonly folder: string;
  run(args: readonly string[], more?: Partial<CliIo>): Promise<Ran>;
  /** With `--output json`, which must succeed. */
  explained(...args: readonly string[]): Promise<Explanation>;
}

export function deskWith(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Desk {
  const folder = mkdtempSync(join(tmpdir(), "sluice-explain-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const run: Desk["run"] = async (args, more = {}) => {
    const out = { stdout: "", stderr: "" };
    const io: CliIo = {
      stdout: (text) => void (out.stdout += text),
      stderr: (text) => void (out.stderr += text),
      stdin: async () => "",
      ...{ env, cwd: folder, isTerminal: false },
      ...more,
    };
    return { code: await main(["explain", ...args], io), ...out };
  };
  return {
    folder,
    run,
    async explained(...args) {
      const { code, stdout, stderr } = await run([...args, "--output", "json"]);
      if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
      // What the command prints as JSON is an explanation.
      return JSON.parse(stdout) as Explanation;
    },
  };
}
