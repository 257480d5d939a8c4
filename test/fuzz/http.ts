/**
 * Raw HTTP requests against the real server on all surfaces: valid ones, pipelined and cut into pieces at random, and
 * spoiled ones. The gateway must answer each valid request once, never with a 500, never hang, and keep no call open.
 */
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { echoEntry } from "../spec/kit/config.ts";
import { type Harness, startGateway } from "../spec/kit/gateway.ts";
import { type FuzzRequest, fuzzedProjects, spoiledRequest, validRequest } from "./http-requests.ts";
import type { FuzzSession, FuzzTarget, SeededRandom } from "./target.ts";

/** A guard against hanging, not a measure of speed. */
const PATIENCE_MS = 10_000;
/** Turns of the event loop that answers to spoiled requests are waited for. */
const TURNS = 40;
/** On one connection. */
const REQUESTS_MAX = 4;

export const httpTarget: FuzzTarget = {
  name: "http",
  description: "raw HTTP requests on all surfaces neither end, stall nor confuse the gateway",
  start: startSession,
};

async function startSession(): Promise<FuzzSession> {
  const closes: (() => Promise<void>)[] = [];
  const upstream = createServer((req, res) => {
    req.resume().on("end", () => res.end("taken"));
  });
  await new Promise<void>((listening) => upstream.listen(0, "127.0.0.1", listening));
  const address = upstream.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const parts = fuzzedProjects(`http://127.0.0.1:${port}/base`);
  const g = await startGateway(
    { after: (close) => void closes.push(close) },
    {
      ...parts,
      endpoint: { ...echoEntry({}), expose_as_mcp_tool: true },
    },
  );
  return {
    run: (random) => runCase(g, random),
    async close() {
      upstream.closeAllConnections();
      upstream.close();
      for (const close of closes.reverse()) await close();
    },
  };
}

async function runCase(g: Harness, random: SeededRandom): Promise<void> {
  const listener = random.chance(0.8) ? "data" : "admin";
  const isValid = random.chance(0.3);
  const requests = Array.from({ length: 1 + random.below(REQUESTS_MAX) }, (_, n): FuzzRequest => {
    // What comes after a spoiled request may be taken for its body.
    return isValid || n > 0 ? validRequest(random, listener) : spoiledRequest(random, listener);
  });
  const peer = new Peer(listener === "data" ? g.client.origin : g.admin.origin);
  await peer.send(requests.map(({ bytes }) => bytes).join(""), random);
  if (isValid) {
    // A refusal may end the connection before the requests behind it are answered.
    const isEnough = (): boolean => peer.answers().length >= requests.length || peer.isLast();
    await until(isEnough, () => `no answer: ${peer.received}`);
  } else for (let turn = 0; turn < TURNS && !peer.isClosed; turn++) await new Promise(setImmediate);
  const answers = peer.answers();
  peer.socket.destroy();
  // One refusal may follow the answers: that of what comes behind them.
  const answersMax = isValid ? requests.length : requests.length * 2 + 1;
  if (answers.length > answersMax)
    throw new Error(`${answers.length} answers to ${requests.length} requests`);
  if (answers.includes(500)) throw new Error(`an answer is 500: ${peer.received}`);
  await until(
    () => g.gateway.openCalls === 0,
    () => `${g.gateway.openCalls} calls stay open after ${JSON.stringify(requests)} ${peer.received}`,
  );
  for (const line of g.lines.splice(0)) JSON.parse(line);
  g.client.heard.length = 0;
  g.clock.advance(1_000);
}

class Peer {
  readonly socket: Socket;
  received = "";
  isClosed = false;

  constructor(origin: string) {
    const { hostname, port } = new URL(origin);
    this.socket = connect(Number(port), hostname).setEncoding("latin1").setNoDelay(true);
    this.socket.on("data", (text: string) => (this.received += text));
    this.socket.on("error", () => {}).on("close", () => (this.isClosed = true));
  }

  /** Whether the connection will bring no other answer. */
  isLast(): boolean {
    return /\r\nConnection: close\r\n/i.test(this.received);
  }

  /** In pieces that have nothing to do with where requests begin and end. */
  async send(text: string, random: SeededRandom): Promise<void> {
    const bytes = Buffer.from(text);
    const pieces = random.below(4);
    let from = 0;
    for (let n = 0; n < pieces; n++) {
      const to = from + random.below(bytes.length - from + 1);
      this.socket.write(bytes.subarray(from, to));
      from = to;
      await new Promise(setImmediate);
    }
    this.socket.write(bytes.subarray(from));
  }

  /** Statuses of the whole answers so far. Throws when what came is no HTTP. */
  answers(): number[] {
    const statuses: number[] = [];
    let rest = this.received;
    while (rest !== "") {
      const head = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(rest);
      if (head === null) {
        if (/^H?T?T?P?\/?1?\.?1? ?/.exec(rest)?.[0] === "")
          throw new Error(`no answer begins here: ${rest.slice(0, 200)} of ${this.received}`);
        return statuses;
      }
      const [whole, status = "", headers = ""] = head;
      const end = whole.length + bodyLength(Number(status), headers, rest.slice(whole.length));
      if (Number.isNaN(end) || end > rest.length) return statuses;
      rest = rest.slice(end);
      // An interim answer is none.
      if (!status.startsWith("1")) statuses.push(Number(status));
    }
    return statuses;
  }
}

/** NaN: it is not whole yet. */
function bodyLength(status: number, headers: string, rest: string): number {
  if (status < 200 || status === 204 || status === 304) return 0;
  const length = /^content-length: (\d+)\r$/im.exec(headers)?.[1];
  if (length !== undefined) return Number(length);
  if (!/^transfer-encoding: chunked\r$/im.test(headers)) return rest.length;
  let at = 0;
  for (;;) {
    const chunk = /^([0-9a-f]+)\r\n/i.exec(rest.slice(at, at + 20));
    if (chunk === null) return Number.NaN;
    const size = Number.parseInt(chunk[1] ?? "", 16);
    at += chunk[0].length + size + 2;
    if (size === 0) return at > rest.length ? Number.NaN : at;
  }
}

async function until(holds: () => boolean, what: () => string): Promise<void> {
  const since = performance.now();
  while (!holds()) {
    if (performance.now() - since > PATIENCE_MS) throw new Error(what());
    await new Promise(setImmediate);
  }
}
