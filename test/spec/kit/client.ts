/**
 * The client side of the specification's tests: plain node:http and raw sockets, so that what is asserted is what
 * went over the wire. Must know nothing of the gateway's code.
 */
import assert from "node:assert/strict";
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { at } from "./at.ts";
import { EventStream } from "./event-stream.ts";

export { at };

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Status line and headers as they came, one a line. */
  readonly head: string;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown;
}

export interface Sent {
  readonly method?: string;
  /** undefined: no Authorization header. */
  readonly token?: string | undefined;
  /** A string or bytes go out as they are, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Client {
  readonly origin: string;
  /** Heads and texts of all answers, checked at the end; or none, for tests of memory. */
  readonly heard: string[] = [];
  readonly #remembers: boolean;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(origin: string, remembers = true) {
    this.origin = origin;
    this.#remembers = remembers;
  }

  /** One call, its whole answer. */
  async send(path: string, sent: Sent): Promise<Answer> {
    const message = await this.#open(path, sent);
    const parts: Buffer[] = [];
    for await (const part of message) parts.push(part);
    const text = Buffer.concat(parts).toString("utf8");
    const { statusCode: status = 0, headers } = message;
    const head = headOf(message);
    if (this.#remembers) this.heard.push(head, text);
    return { status, headers, head, text, json: parsed(text) };
  }

  /** One call whose answer is read event by event. */
  async stream(path: string, sent: Sent): Promise<EventStream> {
    return new EventStream(await this.#open(path, sent), this.#remembers ? this.heard : []);
  }

  /** Sends bytes as they are and reads until the gateway closes the connection or `enough` is satisfied. */
  raw(bytes: string | Buffer, enough: (received: string) => boolean = () => false): Promise<string> {
    const { hostname, port } = new URL(this.origin);
    return new Promise((resolve, fail) => {
      let received = "";
      const socket = connect(Number(port), hostname, () => socket.write(bytes));
      socket.setEncoding("latin1");
      socket.on("data", (text: string) => {
        received += text;
        if (enough(received)) socket.destroy();
      });
      socket.on("error", (error: NodeJS.ErrnoException) => {
        // The gateway may close while bytes that it does not want are still on their way.
        if (error.code !== "ECONNRESET" && error.code !== "EPIPE") fail(error);
      });
      socket.on("close", () => resolve(received));
    });
  }

  /** A connection of its own that is written to in pieces. */
  dialogue(first: string): { sent: Promise<void>; write(more: string): void; answer: Promise<string> } {
    const { hostname, port } = new URL(this.origin);
    const socket = connect(Number(port), hostname);
    const sent = new Promise<void>((resolve) => {
      socket.on("connect", () => socket.write(first, () => resolve()));
    });
    const answer = new Promise<string>((resolve) => {
      let received = "";
      socket.setEncoding("latin1");
      socket.on("data", (text: string) => (received += text));
      socket.on("error", () => {});
      socket.on("close", () => resolve(received));
    });
    return { sent, write: (more) => void socket.write(more), answer };
  }

  /** Sends bytes on a connection of their own; the returned function breaks it. */
  abandon(bytes: string): () => void {
    const { hostname, port } = new URL(this.origin);
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on("error", () => {});
    return () => socket.destroy();
  }

  close(): void {
    this.#agent.destroy();
  }

  #open(path: string, { method = "POST", token, body, headers = {} }: Sent): Promise<IncomingMessage> {
    const bytes = body === undefined ? undefined : encoded(body);
    const all: Record<string, string> = {
      "content-type": "application/json",
      ...headers,
    };
    if (token !== undefined) all["authorization"] ??= `Bearer ${token}`;
    if (bytes !== undefined) all["content-length"] ??= String(bytes.length);
    return new Promise((resolve, fail) => {
      const out = request(`${this.origin}${path}`, { method, agent: this.#agent, headers: all });
      out.on("response", resolve).on("error", fail).end(bytes);
    });
  }
}

/** Asserts a refusal: its status, its text, and the shape that all refusals have. */
export function assertRefused(answer: Answer, status: number, error: string | RegExp): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(String(answer.headers["content-type"]), /^application\/json/);
  assert.equal(at(answer.json, "ok"), false);
  const said = at(answer.json, "error");
  if (typeof error === "string") assert.equal(said, error);
  else assert.match(String(said), error);
}

/** Asserts a success and returns its text. */
export function assertAnswered(answer: Answer): string {
  assert.equal(answer.status, 200, answer.text);
  assert.equal(at(answer.json, "ok"), true);
  const content = at(answer.json, "content");
  assert.equal(typeof content, "string");
  return String(content);
}

function headOf({ httpVersion, statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/${httpVersion} ${statusCode} ${statusMessage}`];
  for (let n = 0; n < rawHeaders.length; n += 2) lines.push(`${rawHeaders[n]}: ${rawHeaders[n + 1]}`);
  return lines.join("\n");
}

function encoded(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Longest wait for something that must come to pass: a guard against hanging, not a measure of speed. */
const PATIENCE_MS = 20_000;

/** How long the event loop runs without a pause: most of what tests wait for happens in this process. */
const SPIN_MS = 20;
/** After that, between two looks: what a test waits for is another process or the disk, which need the core. */
const PAUSE_MS = 2;

/** Waits until `holds`, and fails when it has not come true in time. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const sinceMs = performance.now();
  while (!(await holds())) {
    const waitedMs = performance.now() - sinceMs;
    if (waitedMs > PATIENCE_MS) assert.fail(`timed out waiting until ${what}`);
    await new Promise((next) => (waitedMs < SPIN_MS ? setImmediate(next) : setTimeout(next, PAUSE_MS)));
  }
}
