/** The program as people start it: its words, its exit codes, its signals. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { at, Client, until } from "./kit/client.ts";
import { configOf, echoEntry, PROJECT, TOKENS } from "./kit/config.ts";
import { chunksOf, textOf } from "./kit/event-stream.ts";
import { PROGRAM } from "./kit/process.ts";
import { chunk, fakeProvider } from "./kit/provider.ts";
import { sessionOf } from "./kit/session-file.ts";
import { verifies } from "./verifies.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

interface Running {
  readonly child: ChildProcess;
  /** All it has printed. */
  readonly said: () => string;
  readonly exit: Promise<number | null>;
}

function run(t: TestContext, args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const child = spawn(process.execPath, [...PROGRAM, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const pipe of [child.stdout, child.stderr])
    pipe.setEncoding("utf8").on("data", (text) => (said += text));
  const exit = new Promise<number | null>((resolve) => child.on("close", resolve));
  t.after(async () => {
    child.kill("SIGKILL");
    await exit;
  });
  return { child, said: () => said, exit };
}

async function listening(running: Running): Promise<string> {
  const url = /listens on (http:\/\/\S+)/;
  await until(() => url.test(running.said()) || running.child.exitCode !== null, "it listens");
  const [, found] = url.exec(running.said()) ?? [];
  assert.ok(found, running.said());
  return found;
}

function folderOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-run-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

const FREE_PORTS = "server: { port: 0 }\nadmin: { port: 0 }\n";

verifies(
  ["run.start.demo", "run.start.prints", "run.start.port-zero"],
  "the shipped configuration runs as it is, and prints a call that works when pasted, streamed too",
  async (t) => {
    const folder = folderOf(t, { "ports.yaml": FREE_PORTS });
    const program = run(t, ["start", "--overlay", join(folder, "ports.yaml")]);
    const url = await listening(program);
    assert.doesNotMatch(url, /:0$/);
    const line = /^ *(curl .*)$/m.exec(program.said())?.[1] ?? "";
    assert.match(program.said(), /gw_(?:test|live)_\w+/);
    const [call] = sessionOf(`## Pasted\n$ ${line}\n`);
    assert.ok(call && line.includes(url), line);
    const client = new Client(url);
    t.after(() => client.close());
    const answer = await client.send(call.path, call);
    assert.equal(answer.status, 200, answer.text);
    assert.ok(String(at(answer.json, "content")).length > 0);
    const body = { ...JSON.parse(call.body ?? "{}"), stream: true };
    const events = await (await client.stream(call.path, { ...call, body })).rest();
    assert.equal(textOf(events), at(answer.json, "content"));
    assert.ok(chunksOf(events).length > 3);
    // What is printed is for a shell: let one run it, where it has curl.
    const shell = promisify(execFile)("sh", ["-c", `command -v curl >/dev/null || exit 42; ${line} -sS`]);
    const printed = await shell.catch((error: { code?: unknown }) => {
      assert.equal(error.code, 42);
      return undefined;
    });
    if (printed !== undefined) assert.equal(at(JSON.parse(printed.stdout), "ok"), true);
  },
);

verifies("run.start.loopback", "the demo token is refused beyond loopback", async (t) => {
  const folder = folderOf(t, { "open.yaml": "server: { host: 0.0.0.0, port: 0 }\nadmin: { port: 0 }\n" });
  const program = run(t, ["start", "--overlay", join(folder, "open.yaml")]);
  assert.equal(await program.exit, 1);
  assert.match(program.said(), /demo token/);
  assert.doesNotMatch(program.said(), /listens on/);
});

verifies(
  ["run.start.config-flag", "run.start.config-env", "reload.sighup"],
  "flag and variable name the configuration; SIGHUP reloads, SIGTERM ends with 0",
  async (t) => {
    const text = (template: string): string =>
      JSON.stringify(
        configOf({ endpoint: echoEntry({ user_prompt_template: template }) }, "http://127.0.0.1:9"),
      );
    const folder = folderOf(t, { "mine.yaml": text("one {{input}}") });
    const path = join(folder, "mine.yaml");
    const starts = [run(t, ["start", "--config", path]), run(t, ["start"], { SLUICE_CONFIG: path })];
    for (const program of starts) {
      const client = new Client(await listening(program));
      t.after(() => client.close());
      const says = async (): Promise<unknown> => {
        const headers = { authorization: "Bearer gw_live_web0Caller1" };
        const body = { message: "Hello" };
        const path = "/api/6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f701/ask";
        return at((await client.send(path, { headers, body })).json, "content");
      };
      writeFileSync(path, text("one {{input}}"));
      program.child.kill("SIGHUP");
      await until(async () => (await says()) === "one Hello", "the first text is served");
      writeFileSync(path, text("two {{input}}"));
      program.child.kill("SIGHUP");
      await until(async () => (await says()) === "two Hello", "the second text is served");
      program.child.kill("SIGTERM");
      assert.equal(await program.exit, 0, program.said());
    }
  },
);

/** The program with a call whose stream has begun; the test says when it goes on. */
async function streaming(t: TestContext) {
  const provider = await fakeProvider();
  t.after(() => provider.close());
  const folder = folderOf(t, { "mine.yaml": JSON.stringify(configOf({}, provider.url)) });
  const program = run(t, ["start", "--config", join(folder, "mine.yaml")]);
  const client = new Client(await listening(program));
  t.after(() => client.close());
  const played = provider.opens();
  const sent = { token: TOKENS.web, body: { message: "Hello", stream: true } };
  const [stream] = await Promise.all([
    client.stream(`/api/${PROJECT}/ask`, sent),
    played.send(chunk({ content: "Half" })),
  ]);
  return { program, client, played, stream };
}

/** Resolves when no new connection is accepted. */
async function closed(client: Client): Promise<void> {
  const isGone = (): Promise<boolean> =>
    client.raw("GET /healthz HTTP/1.0\r\n\r\n").then(
      () => false,
      () => true,
    );
  await until(isGone, "no new connection is taken");
}

verifies("server.drain", "SIGTERM waits for an open stream, then ends with 0", async (t) => {
  const { program, client, played, stream } = await streaming(t);
  program.child.kill("SIGTERM");
  await closed(client);
  await played.send(chunk({ content: " and half." }));
  await played.send(chunk({}, "stop"));
  await played.send("[DONE]");
  await played.end();
  const events = await stream.rest();
  assert.deepEqual([textOf(events), events.at(-1)], ["Half and half.", "[DONE]"]);
  assert.equal(await program.exit, 0, program.said());
});

for (const second of ["SIGTERM", "SIGINT"] as const) {
  test(`a ${second} after the first signal does not wait for open calls`, async (t) => {
    const { program, client } = await streaming(t);
    program.child.kill("SIGTERM");
    await closed(client);
    assert.equal(program.child.exitCode, null);
    program.child.kill(second);
    assert.equal(await program.exit, 130, program.said());
  });
}

verifies("run.start.broken", "a faulty configuration is printed and does not start", async (t) => {
  const folder = folderOf(t, { "broken.yaml": "version: 1\nprojcts: []\n" });
  const program = run(t, ["start", "--config", join(folder, "broken.yaml")]);
  assert.equal(await program.exit, 1);
  assert.match(program.said(), /error\[E\d{4}\][\s\S]*broken\.yaml:2:1[\s\S]*projects/);
});

verifies("run.commands", "the package has the documented commands", () => {
  const about: unknown = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const name of ["start", "test", "dev", "sluice"]) {
    assert.equal(typeof at(about, "scripts", name), "string", name);
  }
  assert.match(String(at(about, "bin", "sluice")), /main\.js$/);
});

verifies("run.ci", "CI runs what the README says", () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const ci = readFileSync(join(ROOT, ".ci/run"), "utf8");
  assert.match(readme, /npm ci && npm test/);
  const commands: readonly string[] = ci.match(/^npm .*$/gm) ?? [];
  assert.ok(commands.includes("npm ci") && commands.includes("npm test"), ci);
  for (const command of commands) assert.ok(readme.includes(command), `README does not say: ${command}`);
});
