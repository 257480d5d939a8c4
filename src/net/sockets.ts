/**
 * Opens sockets for undici and for the proxy surface: past the SSRF guard where there is one, through a forward proxy
 * where one is configured, over TCP or TLS. What was checked is what is connected to. Speaks no HTTP but CONNECT.
 */
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import type { ConnectionOptions, SecureContext } from "node:tls";
import type { Clock } from "../plugin/index.ts";
import { openTunnel, type ProxyFor } from "./forward-proxy.ts";
import { codedError } from "./http-client.ts";
import { type Address, addressOf } from "./http1/connect.ts";
import { guardedLookup, isAllowedName, type Resolve, type SsrfAllow } from "./ssrf.ts";

/** PEM. */
export interface Certificates {
  /** Trusted instead of the system's. */
  readonly ca?: string | undefined;
  /** The client's own. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface SocketOptions {
  readonly clock: Clock;
  /** Which addresses may be connected to. undefined: all, for what the operator names. */
  readonly guard?: { readonly allow: SsrfAllow; readonly resolve: Resolve | undefined } | undefined;
  readonly proxyFor: ProxyFor;
  readonly certificates?: Certificates | undefined;
  /** Offered by ALPN beside HTTP/1.1. */
  readonly http2?: boolean | undefined;
}

type Opened = (error: Error | null, socket?: Socket) => void;

/** Until the socket can be written to, the tunnel and TLS included. */
const CONNECT_TIMEOUT_MS = 10_000;
const PROBE_AFTER_MS = 60_000;

export class Sockets {
  readonly #options: SocketOptions;
  readonly #lookup: LookupFunction | undefined;
  /** One for all sockets: it holds all the certificates of the system. */
  #secureContext: SecureContext | undefined;
  readonly #proxyFor: ProxyFor;

  /** Throws when the certificates cannot be used. */
  constructor(options: SocketOptions) {
    const { guard, certificates = {}, proxyFor } = options;
    this.#options = options;
    this.#proxyFor = proxyFor;
    this.#lookup = guard && guardedLookup(guard.allow, guard.resolve);
    if (certificates.cert !== undefined) this.#trust();
  }

  /** True: this URL's sockets go through a forward proxy. */
  isProxied(url: URL): boolean {
    return this.#proxyFor(url) !== undefined;
  }

  /** `opened` is called once, later; not after the returned function, which ends the attempt. */
  open(url: URL, opened: Opened): () => void {
    const attempt = new Attempt(this.#options.clock, opened);
    const target = addressOf(url);
    const proxy = this.#proxyFor(url);
    if (proxy === undefined) this.#connect(attempt, target, this.#lookup);
    else
      this.#checkedHost(attempt, target.host, (host) =>
        this.#tunnel(attempt, proxy, { ...target, host }, target),
      );
    return () => attempt.cancel();
  }

  #connect(attempt: Attempt, { host, port, secure }: Address, lookup: LookupFunction | undefined): void {
    const socket = attempt.watch(connect({ ...TCP, host, port, ...(lookup && { lookup }) }));
    if (secure) this.#secure(attempt, socket, host);
    else socket.once("connect", () => attempt.done(socket));
  }

  /** The name itself where `network.allow` has it, else the first of its addresses, all of which the guard has checked. */
  #checkedHost(attempt: Attempt, host: string, checked: (host: string) => void): void {
    const { guard } = this.#options;
    if (
      guard === undefined ||
      this.#lookup === undefined ||
      isIP(host) !== 0 ||
      isAllowedName(host, guard.allow)
    )
      return checked(host);
    this.#lookup(host, { all: false }, (error, address) => {
      if (error) attempt.fail(error);
      else checked(String(address));
    });
  }

  /** `via`: the target as the proxy is asked for it. */
  #tunnel(attempt: Attempt, proxy: URL, via: Address, target: Address): void {
    if (attempt.isOver) return;
    const { host, port, secure } = addressOf(proxy);
    const plain = attempt.watch(connect({ ...TCP, host, port }));
    const socket = secure ? attempt.watch(tls().connect({ socket: plain, ...serverName(host) })) : plain;
    socket.once(secure ? "secureConnect" : "connect", () => {
      openTunnel(socket, proxy, via, (error) => {
        if (error !== undefined) return attempt.fail(error);
        if (target.secure) this.#secure(attempt, socket, target.host);
        else attempt.done(socket);
      });
    });
  }

  #secure(attempt: Attempt, under: Socket, host: string): void {
    const options: ConnectionOptions = {
      socket: under,
      host,
      ...serverName(host),
      ALPNProtocols: this.#options.http2 === true ? ["h2", "http/1.1"] : ["http/1.1"],
      secureContext: this.#trust(),
    };
    const socket = attempt.watch(tls().connect(options));
    socket.once("secureConnect", () => attempt.done(socket));
  }

  #trust(): SecureContext {
    const { ca, cert, key } = this.#options.certificates ?? {};
    return (this.#secureContext ??= tls().createSecureContext({
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    }));
  }
}

const TCP = { noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS } as const;

/** One socket being opened: fails once, in time, and leaves nothing open when it does. */
class Attempt {
  readonly #opened: Opened;
  readonly #timer: { cancel(): void };
  readonly #sockets: Socket[] = [];
  isOver = false;
  readonly fail = (error: Error): void => {
    if (this.isOver) return;
    this.cancel();
    this.#opened(error);
  };

  constructor(clock: Clock, opened: Opened) {
    this.#opened = opened;
    this.#timer = clock.after(CONNECT_TIMEOUT_MS, () =>
      this.fail(codedError("ETIMEDOUT", "no connection in time")),
    );
  }

  /** A socket is closed when the attempt fails, and the attempt fails when the socket does. */
  watch<S extends Socket>(socket: S): S {
    this.#sockets.push(socket);
    // Stays when the attempt is over: an error that nobody listens to would end the process.
    socket.on("error", this.fail);
    socket.on("close", () => this.fail(codedError("ECONNRESET", "the other side closed the connection")));
    return socket;
  }

  done(socket: Socket): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#timer.cancel();
    this.#opened(null, socket);
  }

  cancel(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#timer.cancel();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** An address has no name to ask for. */
function serverName(host: string): { readonly servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {};
}

/** Loaded when the first TLS socket needs it: 5 ms of the start. */
function tls(): typeof import("node:tls") {
  return process.getBuiltinModule("node:tls");
}
