/**
 * What every measurement uses: two cores, a temporary folder, the mock upstream, and targets that are
 * started fresh and stopped again. Whatever cannot be measured throws an Error that says why; `main.ts` catches it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Cores, pinned } from "./cores.ts";
import { Load } from "./load.ts";
import { cpuUs, mainThreadUs, rssMb } from "./usage.ts";

/** Something that answers chat calls. */
export interface TargetPlan {
  readonly name: string;
  /** Arguments and environment of the Node that is to listen on `port`. */
  launch(port: number): { readonly args: readonly string[]; readonly env?: Record<string, string> };
  /** A call whose answer must be 200 for the target to count as started. */
  readonly probe: Buffer;
  /** It works on more threads than one, and may take any core for them. */
  readonly hasThreads?: boolean;
}

/** A target that runs and has answered once. */
export interface Target {
  readonly name: string;
  readonly port: number;
  /** From its start as a process to its first whole answer. */
  readonly startMs: number;
  cpuUs(): number;
  mainThreadUs(): number;
  rssMb(): number;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 5_000;
const LOG_EXCERPT_CHARACTERS = 600;

/** A file of this folder, as a path. */
export function benchFile(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

export class Lab {
  readonly folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
  readonly #targetCore: readonly number[];
  readonly #driverCore: readonly number[];
  readonly #children = new Set<ChildProcess>();
  #upstream: ChildProcess | undefined;
  #upstreamPort = 0;

  constructor(cores: Cores | undefined) {
    this.#targetCore = cores === undefined ? [] : [cores.target];
    this.#driverCore = cores === undefined ? [] : [cores.driver];
    process.once("exit", () => this.close());
  }

  /** Starts the mock upstream. Before anything else, once. */
  async open(): Promise<void> {
    const upstream = this.#spawn(this.#driverCore, [benchFile("upstream.mjs")], {}, "pipe");
    this.#upstream = upstream;
    if (upstream.stdout === null) throw new Error("the mock upstream has no output");
    const [port] = await once(upstream.stdout, "data", { signal: AbortSignal.timeout(START_TIMEOUT_MS) });
    this.#upstreamPort = Number(port);
  }

  /** Base URL of the mock upstream, whose streams behave so; see `upstream.mjs`. */
  upstreamUrl(behaviour: {
    chunks: number;
    eventsPerWrite: number;
    pauseMs: number;
    /** Each chunk says when it was sent. */
    stamped?: boolean;
  }): string {
    const { chunks, eventsPerWrite, pauseMs, stamped = false } = behaviour;
    const segment = `c${chunks}-b${eventsPerWrite}-i${pauseMs}${stamped ? "-t" : ""}`;
    return `http://127.0.0.1:${this.#upstreamPort}/${segment}/v1`;
  }

  /** CPU used by what does the measuring: the load, this program and the mock upstream. */
  driverCpuUs(): number {
    return cpuUs(process.pid) + (this.#upstream?.pid === undefined ? 0 : cpuUs(this.#upstream.pid));
  }

  /** Starts a target in a fresh process on its own core and waits for its first answer. */
  async start(plan: TargetPlan): Promise<Target> {
    const port = await freePort();
    const { args, env = {} } = plan.launch(port);
    const logFile = join(this.folder, `${plan.name.replaceAll(/\W+/g, "-")}.log`);
    const log = openSync(logFile, "w");
    const startedMs = performance.now();
    const cores = plan.hasThreads ? [...this.#targetCore, ...this.#driverCore] : this.#targetCore;
    const child = this.#spawn(cores, args, { ...env, PORT: String(port) }, log);
    closeSync(log);
    const failure = await firstAnswer(child, port, plan.probe);
    const startMs = performance.now() - startedMs;
    const pid = child.pid;
    if (failure !== undefined || pid === undefined) {
      await this.#stop(child);
      const said = readFileSync(logFile, "utf8").slice(-LOG_EXCERPT_CHARACTERS).trim();
      throw new Error(
        `${plan.name} did not start: ${failure ?? "no process"}${said === "" ? "" : `\n${said}`}`,
      );
    }
    return {
      name: plan.name,
      port,
      startMs,
      cpuUs: () => cpuUs(pid),
      mainThreadUs: () => mainThreadUs(pid),
      rssMb: () => rssMb(pid),
      stop: () => this.#stop(child),
    };
  }

  /** Runs another program beside the load until `stop`; resolves when it says that it is ready. */
  async startProgram(command: readonly string[], ready: RegExp): Promise<{ stop(): Promise<void> }> {
    const [program = "", ...args] = pinned(this.#driverCore, command);
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#children.add(child);
    child.once("close", () => this.#children.delete(child));
    child.once("error", () => this.#children.delete(child));
    const said = await Promise.race([
      firstMatch(child.stdout, ready),
      once(child, "close"),
      once(child, "error"),
    ]);
    if (said !== true) throw new Error(`${program} did not start`);
    child.stdout.resume();
    return { stop: () => this.#stop(child) };
  }

  /** Ends every process that is left and removes the folder. */
  close(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  #spawn(
    cores: readonly number[],
    args: readonly string[],
    env: Record<string, string>,
    output: number | "pipe",
  ): ChildProcess {
    const [command = process.execPath, ...rest] = pinned(cores, [process.execPath, ...args]);
    const child = spawn(command, rest, {
      env: { ...process.env, ...env },
      stdio: ["ignore", output, output === "pipe" ? "inherit" : output],
    });
    this.#children.add(child);
    child.once("close", () => this.#children.delete(child));
    child.once("error", () => this.#children.delete(child));
    return child;
  }

  async #stop(child: ChildProcess): Promise<void> {
    if (hasEnded(child)) return;
    const ended = once(child, "close");
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }
}

async function firstMatch(output: NodeJS.ReadableStream, ready: RegExp): Promise<boolean> {
  let said = "";
  for await (const text of output) if (ready.test((said += String(text)))) return true;
  return false;
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Calls until the answer is 200. Returns what stood in the way when that does not come. */
async function firstAnswer(child: ChildProcess, port: number, probe: Buffer): Promise<string | undefined> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  let failure = "no answer";
  while (performance.now() < deadlineMs) {
    const load = new Load({ port, requests: [probe], connections: 1, callsMax: 1 });
    await Promise.race([load.finished, delay(START_TIMEOUT_MS, undefined, { ref: false })]);
    load.close();
    if (load.tally().calls === 1) return undefined;
    if (load.firstFailure !== "no connection") failure = load.firstFailure;
    if (hasEnded(child)) return `it ended with ${child.exitCode ?? child.signalCode}`;
    await delay(2);
  }
  return failure;
}

/** A port that was free a moment ago: good enough on a loopback that nobody else uses. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}
