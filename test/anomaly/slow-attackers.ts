/**
 * Clients that hold connections: heads, bodies and refused uploads that drip, answers that nobody reads. And a provider
 * that streams more than a client which reads nothing can be sent. Both also run as processes of their own, so that what
 * they cost is not mistaken for what the gateway costs.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { hashOf, PROJECT, TOKENS } from "../spec/kit/config.ts";
import { chunk } from "../spec/kit/provider.ts";

/** The time that the gateway has to be rid of a slow client. */
export const GONE_WITHIN_S = 30;
export const KINDS = ["head", "body", "reader", "upload"] as const;
export type Kind = (typeof KINDS)[number];
export type Counts = Record<Kind, number>;

/** More than the kernel takes for a client that reads nothing: 4 MB to send, and some 6 MB received. */
const STREAM_BYTES = 24_000_000;

/** A provider that streams without end in sight, as fast as it is read, and has little work with it. */
export async function endlessProvider(): Promise<{ url: string; close(): void }> {
  const event = `data: ${JSON.stringify(chunk({ content: "a".repeat(16_000) }))}\n\n`;
  const body = `${event.repeat(Math.ceil(STREAM_BYTES / event.length))}data: [DONE]\n\n`;
  const head = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n`;
  const answer = Buffer.from(head + body);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
    // One request a connection, which comes in one piece.
    socket.once("data", () => socket.resume().end(answer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      for (const socket of open) socket.destroy();
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
  readonly #host: string;
  readonly #port: number;
  readonly #clients: SlowClient[] = [];

  constructor(origin: string) {
    const { hostname, port } = new URL(origin);
    this.#host = hostname;
    this.#port = Number(port);
  }

  /** Opens `count` connections of each kind. */
  open(count: number): void {
    for (let n = 0; n < count; n++) {
      for (const kind of KINDS) {
        // Half-open, so that only the gateway ends the connection.
        const socket = connect({ host: this.#host, port: this.#port, allowHalfOpen: true });
        const client: SlowClient = { kind, socket, isGone: false };
        socket.on("error", () => {}).on("close", () => (client.isGone = true));
        if (kind === "reader") socket.pause();
        else socket.resume();
        socket.write(firstBytes(kind));
        this.#clients.push(client);
      }
    }
  }

  /** Connections whose end these clients have not seen, by kind. */
  left(): Counts {
    return counted(this.#clients.filter(({ isGone }) => !isGone));
  }

  /**
   * Connections that the gateway's side has, by what the kernel says: a client that does not read sees no end. `held`:
   * those that the gateway has closed while the kernel still keeps bytes for the client.
   */
  atGateway(): { open: Counts; held: number } {
    const states = new Map<number, number>();
    for (const line of readFileSync("/proc/net/tcp", "utf8").split("\n")) {
      const [, local = "", remote = "", state = ""] = line.trim().split(/\s+/);
      if (portOf(local) === this.#port) states.set(portOf(remote), Number.parseInt(state, 16));
    }
    const stateOf = ({ socket }: SlowClient): number => states.get(socket.localPort ?? -1) ?? 0;
    const held = this.#clients.filter((client) => KERNEL_ONLY.has(stateOf(client))).length;
    return { open: counted(this.#clients.filter((client) => IN_USE.has(stateOf(client)))), held };
  }

  get count(): number {
    return Object.values(this.left()).reduce((sum, count) => sum + count, 0);
  }

  /** One byte more from every `share`-th client, beginning with number `first`. */
  drip(first = 0, share = 1): void {
    for (let n = first; n < this.#clients.length; n += share) {
      const client = this.#clients[n];
      if (client !== undefined && !client.isGone && client.kind !== "reader") client.socket.write("x");
    }
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

/** TCP states of Linux: established, and closed by the other side only. */
const IN_USE: ReadonlySet<number> = new Set([1, 8]);
/** Closed here: FIN_WAIT1, CLOSING and LAST_ACK, which wait for bytes to be taken. */
const KERNEL_ONLY: ReadonlySet<number> = new Set([4, 11, 9]);

function portOf(address: string): number {
  return Number.parseInt(address.slice(address.indexOf(":") + 1), 16);
}

function counted(clients: readonly SlowClient[]): Counts {
  const counts = { head: 0, body: 0, reader: 0, upload: 0 };
  for (const { kind } of clients) counts[kind]++;
  return counts;
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

/** Connections arrive evenly over this time, and each drips once a second. */
const ARRIVAL_S = 5;
const TICKS_PER_S = 50;

/** What the attackers report each second. */
export interface AttackReport {
  readonly second: number;
  readonly opened: number;
  readonly open: Counts;
  readonly held: number;
}

/** Runs in a process of its own. Attacks once it is told to, and reports to its parent. */
function attack(origin: string, count: number): void {
  const clients = new SlowClients(origin);
  let tick = 0;
  let opened = 0;
  let reported = 0;
  process.once("message", () => {
    const startMs = performance.now();
    setInterval(() => {
      // By the clock, since ticks come late on a busy machine.
      const seconds = (performance.now() - startMs) / 1000;
      const due = Math.min(count, Math.ceil((count * seconds) / ARRIVAL_S));
      clients.open(due - opened);
      opened = due;
      clients.drip(tick++ % TICKS_PER_S, TICKS_PER_S);
      if (seconds < reported + 1) return;
      reported = Math.floor(seconds);
      process.send?.({ second: reported, opened: opened * KINDS.length, ...clients.atGateway() });
    }, 1000 / TICKS_PER_S);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [role, origin = "", count = ""] = process.argv.slice(2);
  if (role === "provider") process.send?.((await endlessProvider()).url);
  else {
    // On a machine with few cores they should not slow down those who are measured.
    setPriority(5);
    attack(origin, Number(count));
    process.send?.("ready");
  }
  process.on("disconnect", () => process.exit());
}
