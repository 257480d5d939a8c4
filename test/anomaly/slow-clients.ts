/**
 * Clients that hold connections: heads, bodies and refused uploads that drip, answers that nobody reads. All must be gone
 * within 30 s, and the others must not notice.
 *   npm run slow-clients -- [COUNT OF EACH]
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { hashOf, PROJECT, TOKENS } from "../spec/kit/config.ts";
import { gatewayProcess } from "../spec/kit/process.ts";
import { chunk } from "../spec/kit/provider.ts";

/** The time that the gateway has to be rid of a slow client. */
export const GONE_WITHIN_S = 30;
export const KINDS = ["head", "body", "reader", "upload"] as const;
export type Kind = (typeof KINDS)[number];

/** More than the kernel takes for a client that reads nothing (some 4 MB). */
const STREAM_BYTES = 8_000_000;

/** A provider that streams without end in sight, as fast as it is read. */
export async function endlessProvider(): Promise<{ url: string; close(): void }> {
  const event = `data: ${JSON.stringify(chunk({ content: "a".repeat(16_000) }))}\n\n`;
  const server = createServer((req, res) => {
    req.resume();
    res.writeHead(200, { "content-type": "text/event-stream" });
    let sent = 0;
    const write = (): void => {
      while (sent < STREAM_BYTES) {
        sent += event.length;
        if (!res.write(event)) return void res.once("drain", write);
      }
      res.end("data: [DONE]\n\n");
    };
    write();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Project of a gateway that can be attacked. */
export function attackedProject(providerUrl: string): object {
  return {
    ...{ uuid: PROJECT, name: "Attacked", type: "ai_gateway" },
    credentials: [
      { name: "echo", provider: "mock", options: { reply: "{{input}}" } },
      { name: "main", provider: "openai", api_key: "sk-attacked", base_url: providerUrl },
    ],
    tokens: [{ name: "web", hash: hashOf(TOKENS.web) }],
    endpoints: [
      { name: "Echo", provider: "mock", model: "m", credential: "echo" },
      { name: "Big", provider: "openai", model: "gpt-4o-mini", credential: "main" },
    ],
  };
}

interface SlowClient {
  readonly kind: Kind;
  readonly socket: Socket;
  isGone: boolean;
}

export class SlowClients {
  readonly #clients: SlowClient[] = [];

  /** Opens `count` connections of each kind. */
  constructor(origin: string, count: number) {
    const { hostname, port } = new URL(origin);
    for (const kind of KINDS) {
      for (let n = 0; n < count; n++) {
        // Half-open, so that only the gateway ends the connection.
        const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
        const client: SlowClient = { kind, socket, isGone: false };
        socket.on("error", () => {}).on("close", () => (client.isGone = true));
        if (kind === "reader") socket.pause();
        else socket.resume();
        socket.write(firstBytes(kind));
        this.#clients.push(client);
      }
    }
  }

  /** Connections that the gateway still has, by kind. */
  left(): Record<Kind, number> {
    const counts = { head: 0, body: 0, reader: 0, upload: 0 };
    for (const { kind, isGone } of this.#clients) if (!isGone) counts[kind]++;
    return counts;
  }

  get count(): number {
    return Object.values(this.left()).reduce((sum, count) => sum + count, 0);
  }

  /** One byte more from each, as once a second. A peer that has closed answers it with a reset. */
  drip(): void {
    for (const { kind, socket, isGone } of this.#clients) if (!isGone && kind !== "reader") socket.write("x");
  }

  /** Readers see that they are cut only when they read: what the kernel kept, and then the end. */
  readOn(): void {
    for (const client of this.#clients) {
      if (client.kind !== "reader") continue;
      client.socket.once("end", () => client.socket.destroy()).resume();
    }
  }

  close(): void {
    for (const { socket } of this.#clients) socket.destroy();
  }
}

function firstBytes(kind: Kind): string {
  const start = (slug: string, token: string): string =>
    `POST /api/${PROJECT}/${slug} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
  if (kind === "head") return `${start("echo", TOKENS.web)}X-Slow: `;
  if (kind === "body") return `${start("echo", TOKENS.web)}Content-Length: 100000\r\n\r\n{"message":"`;
  if (kind === "upload") return `${start("echo", TOKENS.unknown)}Content-Length: 60000\r\n\r\n`;
  // Streams, which the gateway holds back for a slow reader: whole answers would fill its buffers instead.
  const body = '{"message":"x","stream":true}';
  return `${start("big", TOKENS.web)}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** Calls of a well-behaved client, one after the other, for a while; their latencies in ms, in order. `shed` takes the other statuses. */
async function latencies(origin: string, forMs: number, shed: number[]): Promise<number[]> {
  const taken: number[] = [];
  const body = JSON.stringify({ message: "Hello" });
  const headers = { authorization: `Bearer ${TOKENS.web}`, "content-type": "application/json" };
  for (const startMs = performance.now(); performance.now() - startMs < forMs; ) {
    const sentMs = performance.now();
    const answer = await fetch(`${origin}/api/${PROJECT}/echo`, { method: "POST", headers, body });
    await answer.text();
    if (answer.status === 200) taken.push(performance.now() - sentMs);
    else shed.push(answer.status);
    await new Promise((later) => setTimeout(later, 10));
  }
  return taken.sort((a, b) => a - b);
}

function p99(sorted: readonly number[]): string {
  return (sorted[Math.floor(sorted.length * 0.99)] ?? 0).toFixed(1);
}

async function main(count: number): Promise<void> {
  const provider = await endlessProvider();
  const closes: (() => Promise<void>)[] = [];
  const gateway = await gatewayProcess(
    { after: (close) => void closes.push(close) },
    {
      version: 1,
      server: { port: 0, max_connections_per_address: 100_000 },
      admin: { port: 0 },
      log: { level: "error" },
      projects: [attackedProject(provider.url)],
    },
  );
  const { origin } = gateway.client;
  const shed: number[] = [];
  const calm = await latencies(origin, 5_000, shed);
  const attack = new SlowClients(origin, count);
  const startMs = performance.now();
  const attacked = latencies(origin, GONE_WITHIN_S * 1000, shed);
  for (let second = 1; second <= GONE_WITHIN_S; second++) {
    await new Promise((later) => setTimeout(later, Math.max(0, startMs + second * 1000 - performance.now())));
    attack.drip();
    // What the kernel kept of five hundred answers takes this process some seconds to read.
    if (second === GONE_WITHIN_S - 8) attack.readOn();
    process.stdout.write(`${String(second).padStart(3)} s  ${JSON.stringify(attack.left())}\n`);
  }
  const during = await attacked;
  const left = attack.count;
  process.stdout.write(`slow clients: ${4 * count} opened, ${left} left after ${GONE_WITHIN_S} s\n`);
  process.stdout.write(
    `others' p99: ${p99(calm)} ms before, ${p99(during)} ms while attacked (${during.length} calls, ${shed.length} shed)\n`,
  );
  attack.close();
  for (const close of closes.reverse()) await close();
  provider.close();
  process.exitCode = left === 0 && shed.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(Number(process.argv[2] ?? 500));
