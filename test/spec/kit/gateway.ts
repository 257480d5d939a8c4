/**
 * Starts the real gateway over real HTTP, on free ports, with a configuration written to a temporary folder, a fake
 * provider behind it and a clock that only the test turns. Everything is closed when the test ends.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createGateway, type Gateway } from "../../../src/index.ts";
import { type VirtualClock, virtualClock } from "../../../src/testing/virtual-clock.ts";
import { type Answer, Client, type Sent } from "./client.ts";
import { type ConfigParts, configOf, PROJECT, PROVIDER_KEY, TOKENS } from "./config.ts";
import type { EventStream } from "./event-stream.ts";
import { type FakeProvider, fakeProvider } from "./provider.ts";

/** Where the clock stands at first: noon of a day in the middle of a month. */
export const START_MS = Date.UTC(2026, 4, 14, 12);

/** Closes things at the end: a test's context, or the runner's `after` for a gateway of a whole file. */
export interface Closer {
  after(close: () => Promise<void>): void;
}

export interface StartOptions extends ConfigParts {
  /** More files of the config's folder: relative path -> text. */
  readonly files?: Readonly<Record<string, string>>;
  /** The whole configuration as text or object, in place of the parts. */
  readonly config?: unknown;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Follow changes of the files. Default: only `gateway.reload()` reloads. */
  readonly watch?: boolean;
}

export interface Harness {
  readonly gateway: Gateway;
  readonly clock: VirtualClock;
  readonly provider: FakeProvider;
  readonly client: Client;
  readonly admin: Client;
  readonly folder: string;
  /** Lines that the gateway logged. */
  readonly lines: string[];
  /** Calls `ask` or another slug with the token `web`, unless told otherwise. */
  call(body: unknown, options?: CallOptions): Promise<Answer>;
  stream(body: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<EventStream>;
  /** Writes another configuration over the first, without reloading. */
  rewrite(parts: ConfigParts | string): void;
}

/** Whatever a test was about: nothing that was logged or answered holds a token or a key that it used. */
function assertNothingSecret(said: readonly string[]): void {
  const all = said.join("\n");
  for (const secret of [PROVIDER_KEY, ...Object.values(TOKENS)]) {
    assert.equal(all.includes(secret), false, `${secret} was logged or answered`);
  }
}

/** A call of `ask` by the token `web` as it goes over the wire, for clients that leave. */
export function callBytes(body: unknown): string {
  const text = JSON.stringify(body);
  const head = `POST /api/${PROJECT}/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKENS.web}`;
  return `${head}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

export interface CallOptions extends Sent {
  readonly slug?: string;
}

export async function startGateway(closer: Closer, options: StartOptions = {}): Promise<Harness> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-spec-"));
  const provider = await fakeProvider();
  let close = async (): Promise<void> => {};
  // Set before anything can fail: a gateway that does not start must leave nothing behind either.
  closer.after(async () => {
    await close();
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const clock = virtualClock(START_MS);
  const lines: string[] = [];
  const configPath = join(folder, "gateway.config.yaml");
  const write = (config: unknown): void =>
    writeFileSync(configPath, typeof config === "string" ? config : JSON.stringify(config, null, 2));
  for (const [name, text] of Object.entries(options.files ?? {})) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  write(options.config ?? configOf(options, provider.url));
  // A configuration from elsewhere names ports of its own; here they must be free ones.
  const ports = join(folder, "ports.overlay");
  writeFileSync(ports, "server: { port: 0 }\nadmin: { port: 0 }\n");
  const gateway = await createGateway({
    configPath,
    overlays: options.config === undefined ? [] : [ports],
    watch: options.watch ?? false,
    clock,
    env: options.env ?? {},
    log: (line) => lines.push(line),
  });
  const { url, adminUrl } = await gateway.start();
  const client = new Client(url);
  const admin = new Client(adminUrl ?? "http://admin.invalid");
  close = async () => {
    client.close();
    admin.close();
    const stopped = gateway.stop();
    // What a failed test has left open is cut: nobody else turns this clock.
    await new Promise(setImmediate);
    clock.advance(gateway.config.server.drain_timeout_ms);
    await stopped;
    assertNothingSecret([...lines, ...client.heard, ...admin.heard]);
  };
  const pathOf = (slug = "ask"): string => `/api/${PROJECT}/${slug}`;
  return {
    gateway,
    clock,
    provider,
    client,
    admin,
    folder,
    lines,
    call: (body, sent = {}) => client.send(pathOf(sent.slug), { token: TOKENS.web, body, ...sent }),
    stream: (body, sent = {}) =>
      client.stream(pathOf(sent.slug), { token: TOKENS.web, body: { ...body, stream: true }, ...sent }),
    rewrite: (parts) => write(typeof parts === "string" ? parts : configOf(parts, provider.url)),
  };
}

/** Turns of the event loop without a new timer after which no more are expected. */
const SETTLED_TURNS = 100;

/** For `until`: holds when no timer has been added for a while, so that all that waits for time is waiting. */
export function timersSettled({ clock }: Harness): () => boolean {
  let timers = clock.pendingTimers();
  let turns = 0;
  return () => {
    const pending = clock.pendingTimers();
    turns = pending === timers ? turns + 1 : 0;
    timers = pending;
    return turns >= SETTLED_TURNS;
  };
}
