/**
 * Runs the Python clients against the gateway: `npm run clients`. Each is a process of its own in a virtual environment
 * with pinned packages, kept in node_modules/.cache. Fails when a check fails or when the results differ from the
 * committed ones; `-- --write` writes these and docs/clients.md, `-- litellm` runs that driver alone and compares nothing.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { at } from "../../spec/kit/at.ts";
import { type ClientJob, startForClients } from "./client-gateway.ts";
import { type ClientResults, type PYTHON_CLIENTS, PYTHON_RESULTS } from "./client-matrix.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const DRIVERS = fileURLToPath(new URL("python/", import.meta.url));
const ENVIRONMENTS = `${ROOT}node_modules/.cache/sluice-clients`;
const INSTALL_TIMEOUT_MS = 240_000;
const DRIVER_TIMEOUT_MS = 120_000;

interface PythonClient {
  readonly name: (typeof PYTHON_CLIENTS)[number];
  readonly driver: string;
  /** Packages that cannot be installed together have files of their own. */
  readonly requirements: string;
}

const CLIENTS: readonly PythonClient[] = [
  { name: "OpenAI SDK (Python)", driver: "drive_openai.py", requirements: "requirements.txt" },
  { name: "LangChain (Python)", driver: "drive_langchain.py", requirements: "requirements.txt" },
  { name: "Pydantic AI (Python)", driver: "drive_pydantic_ai.py", requirements: "requirements.txt" },
  { name: "LiteLLM (Python)", driver: "drive_litellm.py", requirements: "requirements-litellm.txt" },
];

/** What a driver may find in its environment: nothing of ours but the path. */
const ENVIRONMENT = {
  PATH: process.env["PATH"],
  HOME: process.env["HOME"],
  LITELLM_LOCAL_MODEL_COST_MAP: "True",
  LANGSMITH_TRACING: "false",
  PYTHONDONTWRITEBYTECODE: "1",
  NO_PROXY: "127.0.0.1,localhost",
};

const only = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const closers: (() => Promise<void>)[] = [];
const failures: string[] = [];
try {
  const results = await runAll();
  const text = `${JSON.stringify(results, null, 2)}\n`;
  if (failures.length === 0 && only.length === 0) compare(text);
} finally {
  for (const close of closers.reverse()) await close();
}
for (const failure of failures) console.error(failure);
process.exitCode = failures.length === 0 ? 0 : 1;

async function runAll(): Promise<ClientResults> {
  const clients = CLIENTS.filter(
    ({ driver }) => only.length === 0 || only.some((name) => driver.includes(name)),
  );
  const environments = new Map(
    clients.map(({ requirements }) => [requirements, environmentFor(requirements)]),
  );
  const closer = { after: (close: () => Promise<void>) => void closers.push(close) };
  const jobFor = await startForClients(
    closer,
    CLIENTS.map(({ name }) => name),
  );
  const results: ClientResults = {};
  for (const client of clients) {
    const python = `${environments.get(client.requirements)}/bin/python`;
    results[client.name] = await run(client, python, jobFor(client.name));
  }
  return results;
}

/** Creates the environment unless one with the same requirements is there. Returns its folder. */
function environmentFor(requirements: string): string {
  const file = DRIVERS + requirements;
  const digest = createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 16);
  const folder = `${ENVIRONMENTS}/${digest}`;
  const done = `${folder}/installed`;
  if (existsSync(done)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(ENVIRONMENTS, { recursive: true });
  command("python3", ["-m", "venv", folder]);
  // Every package is pinned, so there is nothing to resolve.
  command(`${folder}/bin/python`, [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-deps",
    "--only-binary",
    ":all:",
    "-r",
    file,
  ]);
  writeFileSync(`${done}.part`, "");
  renameSync(`${done}.part`, done);
  return folder;
}

function command(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { stdio: "inherit", timeout: INSTALL_TIMEOUT_MS });
  if (status !== 0)
    throw new Error(`${program} ${args.slice(0, 3).join(" ")} failed: ${error ?? `exit code ${status}`}`);
}

/** Runs one driver; returns its results by provider and feature. */
async function run(
  client: PythonClient,
  python: string,
  job: ClientJob,
): Promise<Record<string, Record<string, string>>> {
  const started = process.hrtime.bigint();
  const output = await outputOf(python, DRIVERS + client.driver, JSON.stringify(job));
  const results: Record<string, Record<string, string>> = {};
  for (const line of output.split("\n").filter((text) => text !== "")) {
    const told: unknown = JSON.parse(line);
    const [provider, feature, result] = ["provider", "feature", "result"].map((key) => String(at(told, key)));
    if (provider === undefined || feature === undefined || result === undefined) continue;
    if (result === "fail") failures.push(`${client.name}, ${provider}, ${feature}: ${at(told, "error")}`);
    (results[provider] ??= {})[feature] = result;
  }
  const seconds = Number((process.hrtime.bigint() - started) / 1_000_000n) / 1000;
  console.log(`${client.name}: ${output.split("\n").length - 1} checks in ${seconds.toFixed(1)} s`);
  return results;
}

function outputOf(python: string, driver: string, input: string): Promise<string> {
  const child = spawn(python, ["-W", "ignore", driver], {
    env: ENVIRONMENT,
    stdio: ["pipe", "pipe", "inherit"],
    timeout: DRIVER_TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    output += piece;
  });
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${driver} ended with ${signal ?? `exit code ${code}`}`));
    });
  });
}

function compare(text: string): void {
  if (process.argv.includes("--write")) return write(text);
  const committed = existsSync(PYTHON_RESULTS) ? readFileSync(PYTHON_RESULTS, "utf8") : "";
  if (text !== committed)
    failures.push("the results differ from the committed ones: npm run clients -- --write");
}

function write(text: string): void {
  writeFileSync(PYTHON_RESULTS, text);
  const { status } = spawnSync(
    process.execPath,
    ["scripts/test.mjs", "test/surfaces/openai/clients.test.ts"],
    {
      cwd: ROOT,
      stdio: "inherit",
      env: { ...process.env, SLUICE_WRITE_DOCS: "1" },
    },
  );
  if (status !== 0)
    failures.push("docs/clients.md was not written: test/surfaces/openai/clients.test.ts fails");
}
