/** Opens sockets to one origin, TCP or TLS, with what its earlier TLS handshakes left behind. Speaks no HTTP. */
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import type { SecureContext } from "node:tls";

export interface Address {
  readonly secure: boolean;
  /** A name or an IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Of an http or https URL. */
export function addressOf({ protocol, hostname, port }: URL): Address {
  const secure = protocol === "https:";
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return { secure, host, port: port === "" ? (secure ? 443 : 80) : Number(port) };
}

export interface SocketEvents {
  /** Connected, and over TLS also trusted: it may be written to. */
  onOpen(): void;
  /** The first `count` bytes of `READ_BUFFER` have just been read. */
  onRead(length: number): void;
  /** The other side has ended the connection. */
  onEnd(): void;
  /** No more of it, after `onEnd` or without. */
  onClose(cause: Error | undefined): void;
}

export type Connector = (events: SocketEvents) => Socket;

/**
 * All sockets of a thread read into this one: the bytes of a read are processed before the next read. A buffer for
 * each read costs more than the read, and one for each socket 64 KiB a stream.
 */
export const READ_BUFFER: Buffer = Buffer.allocUnsafeSlow(64 * 1024);

const PROBE_AFTER_MS = 60_000;

export interface ConnectOptions {
  /** Gives the certificates trusted; they are made when the first socket needs them. */
  readonly trust: () => SecureContext;
  /** How names become addresses. Default: the system's way. */
  readonly lookup: LookupFunction | undefined;
}

export function connector({ secure, host, port }: Address, { trust, lookup }: ConnectOptions): Connector {
  const common = {
    ...{ host, port, lookup, noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS },
  };
  if (!secure) return (events) => watched(connect({ ...common, onread: reader(events) }), "connect", events);
  // Loaded when the first TLS connection needs it: 5 ms of the start.
  const tls = process.getBuiltinModule("node:tls");
  // An address has no server name.
  const servername = isIP(host) === 0 ? host : "";
  let session: Buffer | undefined;
  return (events) => {
    const options = {
      ...common,
      servername,
      ALPNProtocols: ["http/1.1"],
      secureContext: trust(),
      // Node's types do not know that TLS sockets take it too.
      onread: reader(events),
      ...(session === undefined ? {} : { session }),
    };
    const socket = tls.connect(options);
    socket.on("session", (latest) => (session = latest));
    // It may have been the session that the other side did not like.
    socket.on("error", () => (session = undefined));
    return watched(socket, "secureConnect", events);
  };
}

function reader(events: SocketEvents) {
  return {
    buffer: READ_BUFFER,
    callback: (length: number) => {
      events.onRead(length);
      return true;
    },
  };
}

function watched(socket: Socket, open: "connect" | "secureConnect", events: SocketEvents): Socket {
  let cause: Error | undefined;
  return socket
    .on(open, () => events.onOpen())
    .on("end", () => events.onEnd())
    .on("error", (error) => (cause = error))
    .on("close", () => events.onClose(cause));
}
