/** Runs shell commands of guides and CI templates as a reader or a runner would, with `sluice` as the program under test. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { PROGRAM } from "../spec/kit/process.ts";

export interface ShellOutcome {
  readonly status: number | null;
  /** Standard output and standard error as they came. */
  readonly output: string;
}

/** A folder of its own, with a `sluice` on its path and no configuration of the machine. */
export class Shell {
  readonly folder: string;
  readonly #env: Readonly<Record<string, string>>;

  constructor(t: TestContext) {
    const home = mkdtempSync(join(tmpdir(), "sluice-shell-"));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    this.folder = join(home, "work");
    mkdirSync(this.folder);
    const bin = join(home, "bin");
    mkdirSync(bin);
    const words = [process.execPath, ...PROGRAM].map((word) => `'${word}'`).join(" ");
    writeFileSync(join(bin, "sluice"), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
    const person = { NAME: "Ann", EMAIL: "ann@team.example" };
    const git = Object.entries(person).flatMap(([key, value]) =>
      ["AUTHOR", "COMMITTER"].map((role) => [`GIT_${role}_${key}`, value] as const),
    );
    this.#env = {
      PATH: `${bin}:${process.env["PATH"] ?? ""}`,
      HOME: home,
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      ...Object.fromEntries(git),
    };
  }

  /** `bash -euo pipefail`, as CI runs its steps. */
  run(script: string, env: Readonly<Record<string, string>> = {}): Promise<ShellOutcome> {
    const child = spawn("bash", ["-euo", "pipefail", "-c", script], {
      cwd: this.folder,
      env: { ...this.#env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const take = (bytes: Buffer): void => void (output += bytes.toString("utf8"));
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    return new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (status) => resolve({ status, output }));
    });
  }
}
