// Records the README's first minute as docs/terminal.svg: starts the gateway from this clone on a copy of
// gateway.config.yaml and on free ports (shown as 8080 and 8081), runs the commands, and renders what they print. Records
// the commands of a review as docs/terminal/*.svg, on a copy of examples/gitops.
//   npm run docs:terminal
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { main } from "../src/cli/main.ts";
import { DEMO_TOKEN } from "../src/config/check/demo-token.ts";
import { svgOf } from "./terminal-screen.ts";
import { screens } from "./terminal-screens.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const URL_SHOWN = "http://127.0.0.1:8080";
const START_TIMEOUT_MS = 60_000;
const RELOAD_TIMEOUT_MS = 15_000;

/** The commands in the order of the recording; README.md contains each of them. */
export const COMMANDS = {
  start: "npm start",
  call: `curl ${URL_SHOWN}/api/6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11/assistant \\
  -H 'Authorization: Bearer ${DEMO_TOKEN}' \\
  -H 'Content-Type: application/json' \\
  -d '{"message":"Hello!"}'`,
  validate: "npm run -s sluice -- validate",
} as const;

interface Gateway {
  readonly url: string;
  /** What it printed for the terminal; log lines are left out. */
  readonly banner: string;
  readonly process: ChildProcess;
}

async function record(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-terminal-"));
  const config = join(folder, "gateway.config.yaml");
  copyFileSync(join(ROOT, "gateway.config.yaml"), config);
  const gateway = await start(folder);
  try {
    const first = await call(gateway.url);
    edit(config, "max: 8000", "max: 5");
    const second = await untilChanged(gateway.url, first);
    edit(config, "max: 5", "max: five");
    const invalid = await validate(folder);
    return [
      `$ ${COMMANDS.start}`,
      gateway.banner.replaceAll(gateway.url, URL_SHOWN),
      `$ ${COMMANDS.call}`,
      first,
      "",
      "# gateway.config.yaml: `max: 8000` becomes `max: 5`; save, and repeat the call",
      second,
      "",
      "# `max: five`: the gateway rejects it and keeps the last valid configuration",
      `$ ${COMMANDS.validate}`,
      invalid,
    ].join("\n");
  } finally {
    gateway.process.kill("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Ports of its own, so that a gateway on 8080 does not matter. */
async function start(folder: string): Promise<Gateway> {
  const overlay = join(folder, "ports.yaml");
  writeFileSync(overlay, "server: { port: 0 }\nadmin: { port: 0 }\n");
  const args = ["start", "--config", join(folder, "gateway.config.yaml"), "--overlay", overlay];
  const child = spawn(process.execPath, [join(ROOT, "scripts/sluice.mjs"), ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
  let printed = "";
  for await (const text of child.stderr) {
    printed += String(text);
    if (printed.includes("or streamed")) break;
  }
  clearTimeout(timer);
  const url = /listens on (\S+)/.exec(printed)?.[1];
  if (url === undefined) throw new Error(`the gateway did not start:\n${printed}`);
  const lines = printed.split("\n").filter((line) => /^(?:sluice listens|health and metrics)/.test(line));
  const banner = lines.join("\n").replace(/(metrics on http:\/\/127\.0\.0\.1):\d+/, "$1:8081");
  return { url, banner: `${banner}\n`, process: child };
}

async function call(url: string): Promise<string> {
  const command = COMMANDS.call.replace(URL_SHOWN, url).replace("curl", "curl -sS");
  const { stdout } = await promisify(execFile)("sh", ["-c", command]);
  return stdout;
}

function edit(path: string, from: string, to: string): void {
  const text = readFileSync(path, "utf8");
  if (!text.includes(from)) throw new Error(`${path} does not contain ${from}`);
  writeFileSync(path, text.replace(from, to));
}

/** Repeats the call until the edited configuration answers it. */
async function untilChanged(url: string, before: string): Promise<string> {
  const withoutIds = (answer: string): string =>
    answer.replace(/"(?:id|request_id|session_id)":"[^"]*"/g, "");
  const endMs = Date.now() + RELOAD_TIMEOUT_MS;
  for (;;) {
    const answer = await call(url);
    if (withoutIds(answer) !== withoutIds(before)) return answer;
    if (Date.now() > endMs) throw new Error("the changed configuration was not loaded");
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** In this process, as on a terminal: with colors. */
async function validate(folder: string): Promise<string> {
  let printed = "";
  const write = (text: string): void => void (printed += text);
  const io = { stdout: write, stderr: write, stdin: async () => "", env: {}, cwd: folder, isTerminal: true };
  await main(["validate", join(folder, "gateway.config.yaml")], io);
  return printed.trimEnd();
}

const LABEL =
  "Terminal: npm start, a call, a changed limit that refuses the next call, and validate showing a mistake with file, line and suggestion";

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(join(ROOT, "docs/terminal.svg"), svgOf(await record(), { label: LABEL }));
  mkdirSync(join(ROOT, "docs/terminal"), { recursive: true });
  for (const [name, screen] of await screens())
    writeFileSync(join(ROOT, `docs/terminal/${name}.svg`), svgOf(screen.text, screen));
}
