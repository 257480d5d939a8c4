/** The gateway as a process of its own, as an operator runs it: for what only shows over several, or when one is killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "./client.ts";
import type { Closer } from "./gateway.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const { SLUICE_COMPILED: compiled } = process.env;
/** Arguments of Node.js that run the program: as scripts/test.mjs has compiled it, or without it from the sources. */
export const PROGRAM: readonly string[] =
  compiled === undefined
    ? ["--conditions=sluice-source", "--import", import.meta.resolve("tsx"), join(ROOT, "src/main.ts")]
    : [join(compiled, "main.js")];

export interface GatewayProcess {
  readonly client: Client;
  readonly pid: number;
  /** Lines of its runtime log. */
  readonly lines: readonly string[];
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with its exit code. */
  stop(): Promise<number>;
}

/** Runs the gateway with this configuration; resolves when it listens. Killed when the test ends. */
export async function gatewayProcess(t: Closer, config: unknown): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-process-"));
  const file = join(folder, "gateway.config.yaml");
  writeFileSync(file, JSON.stringify(config));
  const child = spawn(process.execPath, [...PROGRAM, "start", "--config", file], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const gone = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await gone;
  };
  t.after(async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  });
  const lines: string[] = [];
  child.stdout
    .setEncoding("utf8")
    .on("data", (text: string) => lines.push(...text.split("\n").filter(Boolean)));
  const client = new Client(await listening(child));
  t.after(async () => client.close());
  return {
    client,
    pid: child.pid ?? 0,
    lines,
    kill,
    async stop() {
      child.kill("SIGTERM");
      const [code] = await gone;
      return Number(code);
    },
  };
}

async function listening({ stderr }: ChildProcess): Promise<string> {
  let said = "";
  if (stderr === null) throw new Error("the gateway's standard error is not read");
  for await (const text of stderr.setEncoding("utf8")) {
    said += String(text);
    const url = /sluice listens on (\S+)/.exec(said)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`the gateway did not start: ${said}`);
}
