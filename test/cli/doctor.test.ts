/** `sluice doctor` over real files, ports, folders, servers and Redis. */
import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { CliIo } from "../../src/cli/command.ts";
import { checkClock, checkNode } from "../../src/cli/doctor/machine.ts";
import { visibleWidth } from "../../src/cli/terminal.ts";
import { lockFolder } from "../../src/state/file/folder-lock.ts";
import { at } from "../spec/kit/client.ts";
import { configOf } from "../spec/kit/config.ts";
import { startGateway } from "../spec/kit/gateway.ts";
import { verifies } from "../spec/verifies.ts";
import { skipWithoutRedis, startRedis } from "../state/redis-server.ts";
import { type Ran, run } from "./kit.ts";

/** Behind references: must be in no output. */
const CANARY = "canary-7d3f1e90-secret";

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly subject: string;
  readonly message: string;
  readonly advice: string | null;
}

interface Ward {
  readonly folder: string;
  /** Writes the configuration: a credential of a provider with these parts. */
  write(parts?: Record<string, unknown>): void;
  doctor(args?: string, about?: Partial<CliIo>): Promise<Ran>;
  /** The findings of one check, as JSON has them. */
  look(check: string, args?: string, about?: Partial<CliIo>): Promise<readonly Finding[]>;
}

function ward(t: TestContext, upstream = "http://127.0.0.1:9"): Ward {
  // Resolved: paths in messages are.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sluice-doctor-")));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const one: Ward = {
    folder,
    write(parts = {}) {
      const { server, ...root } = Object(parts);
      const config = configOf({ server, root: { admin: { enabled: false }, ...root } }, upstream);
      writeFileSync(join(folder, "gateway.config.yaml"), JSON.stringify(config, null, 2));
    },
    async doctor(args = "", about = {}) {
      const ran = await run(["doctor", ...args.split(" ").filter(Boolean)], { cwd: folder, ...about });
      assert.ok(!`${ran.stdout}${ran.stderr}`.includes(CANARY), "no value of a secret is printed");
      return ran;
    },
    async look(check, args = "", about = {}) {
      const { stdout } = await one.doctor(`--output json ${args}`, about);
      const checks: readonly Finding[] = Object(at(JSON.parse(stdout), "checks"));
      return checks.filter((finding) => finding.check === check);
    },
  };
  one.write();
  return one;
}

const plain = ({ level, subject, message }: Finding): readonly string[] => [level, subject, message];

verifies(
  "doctor.exit",
  "a machine that could serve gets one calm line for each thing, and exit 0",
  async (t) => {
    const one = ward(t);
    one.write({ state: { driver: "file", directory: join(one.folder, "state") } });
    const { code, stdout, stderr } = await one.doctor();
    assert.deepEqual([code, stderr], [0, ""]);
    const titles = stdout.split("\n").filter((line) => /^[A-Z]/.test(line));
    assert.deepEqual(titles.slice(0, -1), [
      ...["Node", "Configuration", "Secrets", "Ports", "State", "File watching", "Clock"],
    ]);
    assert.match(titles.at(-1) ?? "", /^Doctor: nothing would keep this gateway from serving/);
    for (const line of stdout.split("\n")) assert.ok(visibleWidth(line) <= 80, line);
    const json = JSON.parse((await one.doctor("--output json")).stdout);
    assert.equal(json.ok, true);
    for (const finding of json.checks)
      assert.deepEqual(Object.keys(finding), ["check", "level", "subject", "message", "advice"]);
  },
);

verifies(
  "doctor.exit",
  "an invalid configuration is an error with its place, and the rest is not looked at",
  async (t) => {
    const one = ward(t);
    one.write({ nonsense: 1 });
    const { code, stdout } = await one.doctor();
    assert.equal(code, 1);
    assert.match(
      stdout,
      /✗ gateway\.config\.yaml:\d+ +unknown key `nonsense` \[E0101\]\n +→ sluice validate gateway\.config/,
    );
    assert.match(stdout, /\nPorts\n {2}- not checked until the configuration is valid\n/);
    assert.match(stdout, /\nDoctor: 1 error\. This gateway would not serve\.\n$/);
    const none = await one.doctor("none.yaml");
    assert.equal(none.code, 1);
    assert.match(none.stdout, /none\.yaml does not\s+exist/);
  },
);

test("usage errors of doctor are told", async (t) => {
  const one = ward(t);
  assert.equal((await one.doctor("a.yaml b.yaml")).code, 64);
  assert.match((await one.doctor("--output xml")).stderr, /invalid --output 'xml'; expected text or json/);
});

verifies("doctor.node", "Node releases before the fixes are named with the one to use", () => {
  for (const version of ["20.20.2", "22.22.2", "24.14.1", "24.20.0", "25.8.2", "26.0.0"])
    assert.equal(checkNode(version).level, "ok", version);
  for (const [version, newer] of [
    ["20.20.1", "20.20.2"],
    ["22.9.9", "22.22.2"],
    ["24.14.0", "24.14.1"],
    ["23.11.0", "24.14.1"],
  ] as const) {
    const { level, advice } = checkNode(version);
    assert.equal(level, "warning", version);
    assert.ok(advice?.startsWith(`use ${newer} or newer: this one has CVE-2026-21717`), advice);
  }
});

verifies(
  "doctor.secrets",
  "each reference is listed with its place and whether it has a value",
  async (t) => {
    const one = ward(t);
    const credential = (name: string, api_key: string) => ({ name, provider: "mock", api_key });
    const keys = [
      "${env:SET}",
      "${env:UNSET}",
      "${env:EMPTY}",
      "${env:ABSENT:-fallback-value}",
      "${file:./key}",
      "${file:./none}",
    ];
    const project = {
      ...{ uuid: "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f709", name: "P", type: "ai_gateway" },
      credentials: [...keys, "${env:SET}"].map((key, n) => credential(`c${n}`, key)),
      endpoints: [
        { name: "E", provider: "mock", model: "echo", credential: "c0", prompt: "${file:./prompt.md}" },
      ],
    };
    writeFileSync(
      join(one.folder, "gateway.config.yaml"),
      JSON.stringify({ version: 1, projects: [project] }, null, 1),
    );
    writeFileSync(join(one.folder, "key"), CANARY);
    writeFileSync(join(one.folder, "prompt.md"), "Be brief.");
    const env = { SET: CANARY, EMPTY: "" };
    const found = (await one.look("secrets", "", { env })).map(({ level, subject, message }) => [
      level,
      subject,
      message.replace(/:\d+/, ":N"),
    ]);
    assert.deepEqual(found, [
      ["ok", "SET", "set (gateway.config.yaml:N and 1 more)"],
      ["error", "UNSET", "not set (gateway.config.yaml:N)"],
      ["error", "EMPTY", "set, but empty (gateway.config.yaml:N)"],
      ["ok", "ABSENT", "not set, its default is used (gateway.config.yaml:N)"],
      ["ok", "./key", "readable (gateway.config.yaml:N)"],
      ["error", "./none", "does not exist (gateway.config.yaml:N)"],
    ]);
    const { code, stdout } = await one.doctor("", { env, columns: 200, isTerminal: true });
    assert.equal(code, 1);
    assert.match(stdout, /valid, but references have no value: see Secrets/);
  },
);

async function listening<S extends Server>(t: TestContext, server: S): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  // A server that listens on TCP has such an address.
  return (server.address() as AddressInfo).port;
}

verifies("doctor.ports", "ports are free, in use, or not of this machine", async (t) => {
  const one = ward(t);
  const busy = await listening(
    t,
    createTcpServer((socket) => socket.destroy()),
  );
  one.write({ server: { port: busy }, admin: { host: "192.0.2.1", port: 8081 } });
  const [server, admin] = await one.look("ports");
  assert.deepEqual(server && plain(server), [
    "error",
    `server 127.0.0.1:${busy}`,
    "in use by another program",
  ]);
  assert.equal(server?.advice, "end it, or change server.port");
  assert.deepEqual(admin && plain(admin), [
    ...["error", "admin 192.0.2.1:8081", "192.0.2.1 is not an address of this machine"],
  ]);
  const g = await startGateway(t);
  one.write({ server: { port: Number(new URL(g.client.origin).port) } });
  const [running] = await one.look("ports");
  assert.deepEqual([running?.level, running?.message], ["ok", "in use by a running gateway"]);
  assert.equal((await one.doctor()).code, 0);
});

verifies("doctor.state.file", "the state folder is looked at without being changed", async (t) => {
  const one = ward(t);
  const directory = join(one.folder, "state");
  one.write({ state: { driver: "file", directory } });
  const [absent] = await one.look("state");
  assert.deepEqual(absent && plain(absent), ["ok", directory, "is created at the start"]);
  assert.deepEqual(readdirSync(one.folder), ["gateway.config.yaml"]);

  mkdirSync(directory, { mode: 0o700 });
  chmodSync(directory, 0o700);
  const levels = async () => (await one.look("state")).map(({ level, subject }) => `${level} ${subject}`);
  assert.deepEqual((await levels()).slice(0, 3), [`ok ${directory}`, "ok lock", "ok owner and mode"]);
  assert.deepEqual(readdirSync(directory), []);
  const space = (await one.look("state")).find(({ subject }) => subject === "space");
  assert.match(space?.message ?? "", /^[\d.]+ [KMGT]?B free$/);

  chmodSync(directory, 0o755);
  const mode = (await one.look("state")).find(({ subject }) => subject === "owner and mode");
  assert.equal(mode?.level, "warning");
  assert.equal(mode?.advice, `chmod 700 ${directory}`);
  chmodSync(directory, 0o700);

  const lock = await lockFolder(directory);
  assert.equal(lock.heldBy, undefined);
  const held = (await one.look("state")).find(({ subject }) => subject === "lock");
  assert.deepEqual([held?.level, held?.message], ["error", `process ${process.pid} has the folder`]);
  if (lock.heldBy === undefined) await lock.release();

  rmSync(directory, { recursive: true });
  writeFileSync(directory, "");
  const [file] = await one.look("state");
  assert.deepEqual(file && plain(file), ["error", directory, "is not a folder"]);
  one.write({ state: { driver: "file", directory: join(directory, "below") } });
  const [below] = await one.look("state");
  assert.equal(below?.level, "error");
  assert.match(below?.advice ?? "", /^set state\.directory to a folder that this user may write to$/);
});

test("memory says what it means, and a store of a plugin is not set up", async (t) => {
  const one = ward(t);
  const [memory] = await one.look("state");
  assert.deepEqual(memory && plain(memory), ["ok", "memory", "nothing outlives a restart"]);
});

verifies(
  "doctor.state.redis",
  "Redis is asked for its version, its eviction policy and its time",
  async (t) => {
    if (skipWithoutRedis) return t.skip(skipWithoutRedis);
    const server = await startRedis({});
    t.after(() => server.stop());
    const one = ward(t);
    one.write({ state: { driver: "redis", url: server.url } });
    const found = await one.look("state");
    assert.deepEqual(
      found.map(({ level, subject }) => [level, subject]),
      [
        ["ok", "redis"],
        ["ok", "version"],
        ["ok", "eviction"],
      ],
    );
    assert.match(found[1]?.message ?? "", /^(?:redis|valkey) \d+\.\d+\.\d+$/);
    assert.ok((await one.look("clock")).some(({ subject, level }) => subject === "redis" && level === "ok"));

    const { Redis } = await import("ioredis");
    const client = new Redis(server.socketPath);
    t.after(() => client.disconnect());
    await client.config("SET", "maxmemory", "100mb");
    await client.config("SET", "maxmemory-policy", "allkeys-lru");
    const evicting = (await one.look("state")).find(({ subject }) => subject === "eviction");
    assert.equal(evicting?.level, "warning");
    assert.equal(evicting?.message, "maxmemory-policy is allkeys-lru: budgets may be forgotten");
    assert.equal(evicting?.advice, "CONFIG SET maxmemory-policy noeviction");

    await server.kill();
    const { code, stdout } = await one.doctor();
    assert.equal(code, 1);
    assert.match(stdout, /✗ redis +redis \(unix socket, database 0\) does not answer/);
  },
);

test("a Redis whose password is wrong or missing is told without the password", async (t) => {
  const one = ward(t);
  one.write({ state: { driver: "redis", url: `redis://:${CANARY}@127.0.0.1:9/0` } });
  const [refused] = await one.look("state");
  assert.equal(refused?.level, "error");
  assert.match(refused?.message ?? "", /^redis \(127\.0\.0\.1:9, database 0\) does not answer/);
});

verifies("doctor.watching", "file watching is on, or off as the configuration says", async (t) => {
  const one = ward(t);
  assert.deepEqual((await one.look("watching")).map(plain), [
    ["ok", "", "changed files are loaded when they are saved"],
  ]);
  one.write({ reload: { watch: false } });
  const [off] = await one.look("watching");
  assert.deepEqual(
    [off?.message, off?.advice],
    ["off (reload.watch is false)", "load changes with `sluice reload`"],
  );
});

verifies("doctor.clock", "a clock behind the newest file of the configuration is told", async (t) => {
  const one = ward(t);
  const [fine] = await one.look("clock");
  assert.equal(fine?.level, "ok");
  const file = join(one.folder, "gateway.config.yaml");
  const later = new Date(Date.now() + 7_200_000);
  utimesSync(file, later, later);
  const [behind] = await one.look("clock");
  assert.equal(behind?.level, "warning");
  assert.match(
    behind?.message ?? "",
    /is (?:2 h|1 h 59 min) before the last change of the configuration's files$/,
  );
  const watch = { files: [], directories: [], fingerprint: "", secretFiles: [], directoryNames: [] };
  assert.equal(checkClock(watch, Date.UTC(1970, 0, 2)).level, "error");
});

verifies(
  "doctor.network",
  "addresses are connected to as the gateway would, without credentials",
  async (t) => {
    const asked: (string | undefined)[] = [];
    const provider = createServer((req, res) => {
      asked.push(req.headers.authorization);
      res.writeHead(404, { date: new Date(Date.now() + 3_600_000).toUTCString() }).end();
    });
    const port = await listening(t, provider);
    const one = ward(t, `http://127.0.0.1:${port}/v1`);
    one.write({
      telemetry: { otlp: { endpoint: "http://127.0.0.1:9" } },
      providers: { openai: { max_connections: 5 } },
    });
    const { code, stdout } = await one.doctor("--network --output json");
    const checks: readonly Finding[] = Object(at(JSON.parse(stdout), "checks"));
    const [found, receiver] = checks.filter(({ check }) => check === "network");
    assert.equal(found?.subject, `provider openai 127.0.0.1:${port}`);
    assert.match(found?.message ?? "", /^127\.0\.0\.1, connected in \d+ ms, answers 404 in \d+ ms$/);
    assert.deepEqual(asked, [undefined], "one request, no credential");
    assert.deepEqual(
      [receiver?.level, receiver?.message],
      ["warning", "cannot be connected to (ECONNREFUSED)"],
    );
    const skew = checks.find(({ check, subject }) => check === "clock" && subject === "servers");
    assert.equal(skew?.level, "warning");
    assert.match(skew?.message ?? "", /^their clocks differ by (?:1 h|59 min) /);
    assert.equal(code, 0, "a receiver that cannot be reached keeps no call from its answer");
  },
);

verifies(
  "doctor.network",
  "a provider that cannot be reached is an error; what the guard blocks is told",
  async (t) => {
    const one = ward(t);
    const webhooks = [
      { name: "siem", url: "https://127.0.0.1/hook", events: ["token.revoked"], secret: "whsec_0123456789" },
    ];
    const { projects, ...config } = Object(
      configOf({ root: { admin: { enabled: false } } }, "http://127.0.0.1:9"),
    );
    const [first, ...others] = projects;
    writeFileSync(
      join(one.folder, "gateway.config.yaml"),
      JSON.stringify({ ...config, projects: [{ ...first, webhooks }, ...others] }),
    );
    const [provider, webhook] = await one.look("network", "--network");
    assert.deepEqual(provider && plain(provider), [
      ...["error", "provider openai 127.0.0.1:9", "cannot be connected to (ECONNREFUSED)"],
    ]);
    assert.equal(webhook?.level, "warning");
    assert.match(webhook?.message ?? "", /^blocked by the SSRF guard: /);
    assert.match(webhook?.advice ?? "", /network\.allow/);
    assert.equal((await one.doctor("--network")).code, 1);
    assert.equal((await one.doctor()).code, 0, "without --network nothing is asked");
  },
);

verifies("doctor.network", "TLS is checked as calls check it, with the certificate's end", async (t) => {
  const fixture = (name: string): string =>
    readFileSync(new URL(`../net/http1/fixtures/${name}`, import.meta.url), "utf8");
  const [cert, key] = [fixture("localhost-cert.pem"), fixture("localhost-key.pem")];
  const port = await listening(
    t,
    createTlsServer({ cert, key }, (_req, res) => res.end()),
  );
  const one = ward(t, `https://localhost:${port}/v1`);
  const [untrusted] = await one.look("network", "--network");
  assert.equal(untrusted?.level, "error");
  assert.match(untrusted?.message ?? "", /^its certificate is not trusted \(\w+\)$/);
  one.write({ providers: { openai: { ca: cert } } });
  const [trusted] = await one.look("network", "--network");
  assert.match(
    trusted?.message ?? "",
    /^(?:127\.0\.0\.1|::1) \(DNS \d+ ms\), TLSv1\.3 in \d+ ms, certificate until \d{4}-\d\d-\d\d, answers 200 in \d+ ms$/,
  );
  assert.equal(trusted?.level, "ok");
});
