/**
 * A real redis-server for tests: one of its own for each file that starts it, on a unix socket in a temporary folder,
 * ended by its process. Where the program is missing the tests are skipped, loudly; in CI they fail.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Logger, Random } from "../../src/plugin/host.ts";
import type { StateStore } from "../../src/plugin/index.ts";
import type { AuditRecord } from "../../src/plugin/store.ts";
import type { LedgerMetrics } from "../../src/state/redis/ledger-metrics.ts";
import { type RedisStoreOptions, redisStore } from "../../src/state/redis/redis.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";

const isThere = spawnSync("redis-server", ["--version"]).status === 0;

/** For `describe` and `test`: why they are skipped, or false. */
export const skipWithoutRedis: string | false =
  isThere || process.env["CI"] ? false : "redis-server is missing";
if (skipWithoutRedis) console.warn("NOT TESTED: the redis store, since no redis-server is installed here.");

export interface RedisServer {
  /** For `state.url`. */
  readonly url: string;
  readonly socketPath: string;
  /** Kills it as a crash would. */
  kill(): Promise<void>;
  /** Starts it again, with what it had written. */
  start(): Promise<void>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** Tests of one file, which share a server that is started for the first of them. */
export function redisTests(options: { readonly isDurable?: boolean } = {}): {
  test(sentence: string, body: () => Promise<void>): void;
  /** In a test. */
  readonly server: RedisServer;
} {
  let server: RedisServer | undefined;
  after(() => server?.stop());
  return {
    test(sentence, body) {
      test(sentence, { skip: skipWithoutRedis }, async () => {
        server ??= await startRedis(options);
        await body();
      });
    },
    get server() {
      if (server === undefined) throw new Error("no server runs outside of tests");
      return server;
    },
  };
}

/** `isDurable`: it writes each change to disk before it answers, and has it when it is started again. */
export async function startRedis({ isDurable = false } = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-redis-"));
  const socketPath = join(folder, "redis.sock");
  const log = isDurable ? ["--appendonly", "yes", "--appendfsync", "always"] : ["--appendonly", "no"];
  const flags = ["--port", "0", "--unixsocket", socketPath, "--dir", folder, "--save", "", ...log];
  let child: ChildProcess | undefined;

  const server: RedisServer = {
    url: `unix://${socketPath}`,
    socketPath,
    async start() {
      rmSync(socketPath, { force: true });
      const started = spawn("redis-server", [...flags, "--loglevel", "notice"], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      child = started;
      // Also where a test that hangs ends its process before anything is cleared away.
      process.once("exit", () => started.kill("SIGKILL"));
      await said(started, "eady to accept connections");
      if (!existsSync(socketPath)) await said(started, socketPath);
    },
    async kill() {
      const dying = child;
      child = undefined;
      if (dying === undefined || dying.exitCode !== null) return;
      const gone = new Promise((resolve) => dying.once("exit", resolve));
      dying.kill("SIGKILL");
      await gone;
    },
    async stop() {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

/** Resolves when the server has written `words`; rejects when it ends instead. */
function said(child: ChildProcess, words: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`redis-server ended: ${text}`)));
    child.stdout?.on("data", (chunk) => {
      text += String(chunk);
      if (text.includes(words)) resolve();
    });
    child.stderr?.on("data", (chunk) => {
      text += String(chunk);
    });
  });
}

/** One command to the server, over a connection of its own; what it answers, as it stands on the wire. */
export function ask(server: RedisServer, ...words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(server.socketPath, () => socket.write(`${words.join(" ")}\r\n`));
    socket.once("error", reject);
    socket.once("data", (chunk) => {
      socket.destroy();
      resolve(String(chunk));
    });
  });
}

/** Ids that no other store's are: several stand for several processes. */
export const realRandom: Random = { uuid: () => randomUUID(), fraction: () => Math.random() };

export interface LogLine {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A log to look at. `next` resolves with the next line that holds these words. */
export function listeningLog(): Logger & { lines: LogLine[]; next(words: string): Promise<LogLine> } {
  const lines: LogLine[] = [];
  const waiting: { words: string; resolve: (line: LogLine) => void }[] = [];
  const take =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void => {
      const line = { level, fields, message };
      lines.push(line);
      for (const one of [...waiting]) {
        if (!message.includes(one.words)) continue;
        waiting.splice(waiting.indexOf(one), 1);
        one.resolve(line);
      }
    };
  return {
    lines,
    next: (words) => new Promise((resolve) => waiting.push({ words, resolve })),
    debug: take("debug"),
    info: take("info"),
    warn: take("warn"),
    error: take("error"),
  };
}

/** Metrics to look at: `read` answers what a family without labels shows. */
export function listeningMetrics(): LedgerMetrics & { read(name: string): number } {
  const reads = new Map<string, () => number>();
  return {
    gauge: (name, _help, read) => void reads.set(name, read),
    counter(name) {
      let sum = 0;
      reads.set(name, () => sum);
      return { series: () => (value) => void (sum += value) };
    },
    read(name) {
      const read = reads.get(name);
      if (read === undefined) throw new Error(`there is no metric ${name}`);
      return read();
    },
  };
}

/** A store on `url` as a process has it, on the server's own time unless another is given. */
export function openStore(
  options: Partial<RedisStoreOptions> & { readonly url: string },
): Promise<StateStore> {
  return redisStore({
    clock: virtualClock(),
    random: realRandom,
    log: listeningLog(),
    keyPrefix: "test",
    onUnavailable: "deny",
    onDataLoss: "deny",
    maxSessions: 100,
    ...options,
  });
}

/** The n-th of a log, n below 10. */
export function auditRecord(n: number): AuditRecord {
  return {
    id: `00000000-0000-4000-8000-00000000000${n}`,
    event: "token.revoked",
    severity: "warn",
    actor: "ops",
    project: { id: 1, name: "Ferry", uuid: "p-1" },
    target: `${n}`,
    metadata: {},
    ipAddress: "",
    occurredAtMs: n,
  };
}
