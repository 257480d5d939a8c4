/**
 * A gateway with a small heap and clients that claim more memory than it has: large bodies, large answers that nobody
 * reads, conversations with large messages. It must shed with 503, never abort, and come back to where it was.
 *   npm run memory -- [COUNT OF EACH] [MEGABYTES OF EACH] [MEGABYTES OF HEAP]
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hashOf, PROJECT, TOKENS } from "../spec/kit/config.ts";
import { PROGRAM } from "../spec/kit/process.ts";
import { completion } from "../spec/kit/provider.ts";

export interface MemoryLoad {
  readonly count: number;
  readonly megabytes: number;
  readonly heapMegabytes: number;
}

export interface MemoryReport {
  /** By what the clients did: how many got which status; 0: their connection was closed. */
  readonly statuses: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The gateway's own account of bodies and answers, when all is over. */
  readonly bufferedBytes: number;
  readonly openCalls: number;
  readonly residentMegabytes: { readonly before: number; readonly highest: number; readonly after: number };
  /** Whether a small call is answered at the end. */
  readonly answers: boolean;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MB = 1_000_000;
/** A guard against hanging, not a measure of speed. */
const PATIENCE_MS = 60_000;

export async function claimMemory(load: MemoryLoad): Promise<MemoryReport> {
  const gateway = await Gateway.start(load);
  try {
    const before = await gateway.measure();
    const text = "a".repeat(load.megabytes * MB);
    const statuses = {
      bodies: await gateway.sendAll("echo", text, load.count),
      "unread answers": await gateway.readNothing("large", load.count),
      "fat sessions": await gateway.sendAll("talk", text, load.count),
    };
    const after = await gateway.settle();
    return {
      statuses,
      bufferedBytes: after.bufferedBytes,
      openCalls: after.openCalls,
      residentMegabytes: { before: before.resident, highest: gateway.highest, after: after.resident },
      answers: (await gateway.sendAll("echo", "small", 1))["200"] === 1,
    };
  } finally {
    await gateway.close();
  }
}

interface Measure {
  readonly resident: number;
  readonly bufferedBytes: number;
  readonly openCalls: number;
}

class Gateway {
  highest = 0;
  readonly #child: ChildProcess;
  readonly #provider: Server;
  readonly #folder: string;
  readonly #urls: { readonly data: string; readonly admin: string };

  private constructor(parts: {
    child: ChildProcess;
    provider: Server;
    folder: string;
    urls: { data: string; admin: string };
  }) {
    this.#child = parts.child;
    this.#provider = parts.provider;
    this.#folder = parts.folder;
    this.#urls = parts.urls;
  }

  static async start({ megabytes, heapMegabytes }: MemoryLoad): Promise<Gateway> {
    const large = JSON.stringify(completion("b".repeat(megabytes * MB)));
    const provider = createServer((req, res) => {
      req.resume().on("end", () => res.writeHead(200, { "content-type": "application/json" }).end(large));
    });
    provider.listen(0, "127.0.0.1");
    await once(provider, "listening");
    const address = provider.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const folder = mkdtempSync(join(tmpdir(), "sluice-memory-"));
    const file = join(folder, "gateway.config.yaml");
    writeFileSync(file, JSON.stringify(configOf(`http://127.0.0.1:${port}`)));
    const args = [`--max-old-space-size=${heapMegabytes}`, ...PROGRAM, "start", "--config", file];
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const urls = await listening(child);
    return new Gateway({ child, provider, folder, urls });
  }

  /** Bodies of that text, all at once, by connections of their own. */
  async sendAll(slug: string, text: string, count: number): Promise<Record<string, number>> {
    // Encoded once, so that the clients of this process take less memory than the gateway.
    const body = Buffer.from(JSON.stringify({ message: text }));
    const headers = { authorization: `Bearer ${TOKENS.web}`, "content-type": "application/json" };
    const call = async (): Promise<number> => {
      try {
        const url = `${this.#urls.data}/api/${PROJECT}/${slug}`;
        const answer = await fetch(url, { method: "POST", headers, body });
        await answer.arrayBuffer();
        return answer.status;
      } catch {
        return 0;
      }
    };
    const watch = this.#watch();
    const statuses = await Promise.all(Array.from({ length: count }, call));
    await watch();
    return counted(statuses);
  }

  /** Calls whose answers are large, and clients that read no more than the status. */
  async readNothing(slug: string, count: number): Promise<Record<string, number>> {
    const { hostname, port } = new URL(this.#urls.data);
    const head = `POST /api/${PROJECT}/${slug} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${TOKENS.web}`;
    const sockets: Socket[] = [];
    const status = (): Promise<number> =>
      new Promise((resolve) => {
        const socket = connect(Number(port), hostname);
        sockets.push(socket);
        socket.on("error", () => {}).on("close", () => resolve(0));
        socket.once("data", (bytes: Buffer) => {
          socket.pause();
          resolve(Number(bytes.subarray(9, 12).toString()));
        });
        socket.write(`${head}\r\nContent-Length: 15\r\n\r\n{"message":"x"}`);
      });
    const watch = this.#watch();
    const statuses = await Promise.all(Array.from({ length: count }, status));
    await watch();
    for (const socket of sockets) socket.destroy();
    return counted(statuses);
  }

  /** When calls and what they held are gone. */
  async settle(): Promise<Measure> {
    for (const sinceMs = performance.now(); ; ) {
      const measure = await this.measure();
      if (measure.openCalls === 0 && measure.bufferedBytes === 0) return measure;
      if (performance.now() - sinceMs > PATIENCE_MS) return measure;
      await new Promise((later) => setTimeout(later, 200));
    }
  }

  async measure(): Promise<Measure> {
    const text = await (await fetch(`${this.#urls.admin}/metrics`)).text();
    const read = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    const resident = Math.round(read("sluice_resident_memory_bytes") / MB);
    this.highest = Math.max(this.highest, resident);
    return { resident, bufferedBytes: read("sluice_buffered_bytes"), openCalls: read("sluice_open_calls") };
  }

  async close(): Promise<void> {
    const gone = once(this.#child, "exit");
    if (this.#child.exitCode === null && this.#child.kill("SIGKILL")) await gone;
    this.#provider.closeAllConnections();
    this.#provider.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Measures until it is called. */
  #watch(): () => Promise<void> {
    let isOver = false;
    const watching = (async () => {
      while (!isOver) {
        await this.measure().catch(() => undefined);
        await new Promise((later) => setTimeout(later, 50));
      }
    })();
    return async () => {
      isOver = true;
      await watching;
    };
  }
}

function configOf(baseUrl: string): object {
  const mock = { provider: "mock", model: "m", credential: "echo" };
  return {
    version: 1,
    server: { port: 0 },
    admin: { port: 0 },
    log: { level: "info" },
    projects: [
      {
        ...{ uuid: PROJECT, name: "Memory", type: "ai_gateway" },
        credentials: [
          { name: "echo", provider: "mock", options: { reply: "short" } },
          { name: "main", provider: "openai", api_key: "sk-memory", base_url: baseUrl },
        ],
        tokens: [{ name: "web", hash: hashOf(TOKENS.web) }],
        endpoints: [
          { name: "Echo", ...mock },
          { name: "Talk", ...mock, sessions_enabled: true },
          { name: "Large", provider: "openai", model: "gpt-4o-mini", credential: "main" },
        ],
      },
    ],
  };
}

function counted(statuses: readonly number[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The listeners' addresses, from the log line that names them. What else is logged is read and dropped. */
function listening(child: ChildProcess): Promise<{ data: string; admin: string }> {
  return new Promise((resolve, fail) => {
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (more: string) => {
      const found = /"url":"([^"]+)","admin_url":"([^"]+)"/.exec((text = (text + more).slice(-10_000)));
      if (found !== null) resolve({ data: found[1] ?? "", admin: found[2] ?? "" });
    });
    child.once("exit", (code) => fail(new Error(`the gateway has ended with ${code}`)));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [count = 200, megabytes = 10, heapMegabytes = 512] = process.argv.slice(2).map(Number);
  const report = await claimMemory({ count, megabytes, heapMegabytes });
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  process.exitCode = report.answers && report.bufferedBytes === 0 && report.openCalls === 0 ? 0 : 1;
}
