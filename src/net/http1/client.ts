/** The lean `HttpClient` for provider calls: HTTP/1.1 over TCP or TLS, without forward proxies. */
import type { LookupFunction } from "node:net";
import type { SecureContext } from "node:tls";
import type { OpenConnection } from "../connection-pool.ts";
import type { HttpClient, OutboundRequest } from "../http-client.ts";
import { PooledClient, type PoolOptions, type Transport } from "../pooled-client.ts";
import { addressOf, connector } from "./connect.ts";
import { Connection } from "./connection.ts";
import { headerLines, type Outgoing, outgoing, requestStart } from "./outgoing.ts";

export interface Http1ClientOptions extends PoolOptions {
  /** Certificates to trust, PEM, instead of the system's. */
  readonly ca?: string;
  /** How names become addresses. Default: the system's way. */
  readonly lookup?: LookupFunction;
}

export function createHttp1Client(options: Http1ClientOptions): HttpClient {
  return new PooledClient(new Http1Transport(options), options);
}

class Http1Transport implements Transport<Outgoing> {
  readonly #options: Http1ClientOptions;
  /** A wire format gives the same header object for each call of a credential: made text once. */
  readonly #headerLines = new WeakMap<OutboundRequest["headers"], string | Error>();
  /** One for all sockets: it holds all the certificates of the system. */
  #secureContext: SecureContext | undefined;

  constructor(options: Http1ClientOptions) {
    this.#options = options;
  }

  encoder({ pathname, search, host }: URL) {
    const start = (method: string): string => requestStart(method, pathname + search, host);
    const post = start("POST");
    return (
      { method, headers, body }: OutboundRequest,
      traceparent: string | undefined,
    ): Outgoing | Error => {
      const lines = this.#lines(headers, traceparent);
      if (lines instanceof Error) return lines;
      return outgoing((method === "POST" ? post : start(method)) + lines, body);
    };
  }

  opener(url: URL) {
    const connect = connector(addressOf(url), { trust: () => this.#trust(), lookup: this.#options.lookup });
    const open: OpenConnection<Outgoing> = (owner, call) => new Connection(owner, connect, call);
    return open;
  }

  #lines(headers: OutboundRequest["headers"], traceparent: string | undefined): string | Error {
    let lines = this.#headerLines.get(headers);
    if (lines === undefined) {
      lines = headerLines(headers);
      this.#headerLines.set(headers, lines);
    }
    if (traceparent === undefined || lines instanceof Error) return lines;
    const traced = headerLines({ traceparent });
    return traced instanceof Error ? traced : lines + traced;
  }

  #trust(): SecureContext {
    const { ca } = this.#options;
    const { createSecureContext } = process.getBuiltinModule("node:tls");
    return (this.#secureContext ??= createSecureContext(ca === undefined ? {} : { ca }));
  }
}
