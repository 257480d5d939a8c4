// What the commands of a review print, on a copy of examples/gitops with one change in it: run in this process, as on a
// terminal of 100 columns.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { main } from "../src/cli/main.ts";
import { createGateway } from "../src/gateway/gateway.ts";
import type { Screen } from "./terminal-screen.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SAMPLE = join(ROOT, "examples/gitops");
const COLUMNS = 100;
const PERSON = {
  GIT_AUTHOR_NAME: "Ann",
  GIT_AUTHOR_EMAIL: "ann@team.example",
  GIT_AUTHOR_DATE: "2026-11-22T10:00:00Z",
};
const COMMITTER = Object.fromEntries(
  Object.entries(PERSON).map(([name, value]) => [name.replace("AUTHOR", "COMMITTER"), value]),
);
/** Its hash is in the sample. */
const OPERATOR = "example-token-platform";
/** Keys as CI would have them: not one of them is real. */
const KEYS = ["OPENAI", "OPENAI_SPARE", "ANTHROPIC", "GOOGLE", "MISTRAL", "GROQ"].map((name) => [
  `${name}_API_KEY`,
  "set",
]);
KEYS.push(["SUPPORT_WEBHOOK_SECRET", "a-secret-of-the-recording"]);

interface RecordedScreen extends Screen {
  readonly text: string;
}

/** By the name of the file. */
export async function screens(): Promise<ReadonlyMap<string, RecordedScreen>> {
  const folder = join(mkdtempSync(join(tmpdir(), "sluice-screens-")), "gateway");
  try {
    cpSync(SAMPLE, folder, { recursive: true });
    git(folder, "init", "--quiet", ".");
    git(folder, "add", "--all");
    git(folder, "commit", "--quiet", "--message", "one");
    // Commands find a configuration from where they are run.
    process.chdir(folder);
    return await recorded(folder);
  } finally {
    process.chdir(ROOT);
    rmSync(join(folder, ".."), { recursive: true, force: true });
  }
}

async function recorded(folder: string): Promise<ReadonlyMap<string, RecordedScreen>> {
  const found = new Map<string, RecordedScreen>();
  const add = async (
    name: string,
    label: string,
    ...commands: readonly (readonly string[])[]
  ): Promise<void> => {
    const texts: string[] = [];
    for (const command of commands)
      texts.push(
        `$ sluice ${shellWords(command).replace(/:\d{5}\b/, ":8081")}\n${await run(folder, command)}`,
      );
    found.set(name, { label, columns: COLUMNS, text: texts.join("\n").trimEnd() });
  };
  await add("test", "sluice test with coverage: every case passes, and which protections have cases", [
    "test",
    "--coverage",
  ]);
  const card = "My card is 4111 1111 1111 1111. What did I buy?";
  await add("explain", "sluice explain: one request stage by stage, with the lines that decide it", [
    ...["explain", "--endpoint", "support/customer-chat", "--message", card, "--reply", "A tent."],
  ]);
  await add("doctor", "sluice doctor: what keeps the gateway from serving, one line each", ["doctor"]);
  await withStatus(folder, async (url) => {
    await add("status", "sluice status: the configuration in use, traffic, budgets and circuits", [
      "status",
      "--url",
      url,
    ]);
  });
  change(folder, "teams/support.yaml", "kinds: [email, phone, credit_card]", "kinds: [email, phone]");
  change(folder, "teams/sales.yaml", "model: gemini-2.5-flash", "model: gemini-2.5-pro");
  change(folder, "teams/legal.yaml", "rate_limit_per_minute: 30", "rate_limit_per_minute: 20");
  change(folder, "prompts/summarise-ticket.md", "three sentences", "two sentences");
  await add("plan", "sluice plan: what a change of four lines does, by project, with risks", ["plan"]);
  change(folder, "teams/finance.yaml", "rate_limit_per_minute: 60", "rate_limit_per_minut: 60");
  change(folder, "teams/people.yaml", "provider: mistral\n", "provider: mistal\n");
  await add("validate", "sluice validate: mistakes with file, line and suggestion", [
    "validate",
    "--no-secrets",
  ]);
  return found;
}

async function withStatus(folder: string, use: (url: string) => Promise<void>): Promise<void> {
  const ports = join(folder, "ports.overlay");
  writeFileSync(ports, "server: { port: 0 }\nadmin: { port: 0 }\nstate: { driver: memory }\n");
  const configPath = join(folder, "gateway.config.yaml");
  const env = Object.fromEntries(KEYS);
  const gateway = await createGateway({
    configPath,
    overlays: [ports],
    env,
    watch: false,
    log: () => undefined,
  });
  try {
    const { adminUrl } = await gateway.start();
    if (adminUrl !== undefined) await use(adminUrl);
  } finally {
    await gateway.stop();
    rmSync(ports);
  }
}

async function run(cwd: string, command: readonly string[]): Promise<string> {
  let printed = "";
  const write = (text: string): void => void (printed += text);
  const io = { stdout: write, stderr: write, stdin: async () => "", cwd, isTerminal: true, columns: COLUMNS };
  await main(command, {
    ...io,
    env: { PATH: process.env["PATH"], SLUICE_ADMIN_TOKEN: OPERATOR, ...Object.fromEntries(KEYS) },
  });
  return printed.replaceAll(cwd, ".").replace(/(127\.0\.0\.1):\d{5}/g, "$1:8081");
}

function shellWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w./:=@-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}

function change(folder: string, file: string, from: string, to: string): void {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  if (!text.includes(from)) throw new Error(`${file} does not contain ${from}`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
}

function git(folder: string, ...args: readonly string[]): void {
  execFileSync("git", args, { cwd: folder, env: { PATH: process.env["PATH"], ...PERSON, ...COMMITTER } });
}
