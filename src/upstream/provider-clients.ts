/**
 * The HTTP clients that provider calls go through: the lean one, and one on undici for each way of reaching a provider
 * that the lean one does not know (a forward proxy, certificates, HTTP/2). Each is loaded when the first provider needs it.
 */
import { directly, environmentProxies, fixedProxy, type ProxyFor } from "../net/forward-proxy.ts";
import type { HostConnections, HttpClient } from "../net/http-client.ts";
import type { Clock } from "../plugin/index.ts";

/** How a provider is reached: a part of `providers.<key>`. */
export interface ProviderTransport {
  readonly proxy: string | null;
  readonly ca: string | null;
  readonly client_cert: string | null;
  readonly client_key: string | null;
  readonly http2: boolean;
}

export interface ProviderClientsOptions {
  readonly clock: Clock;
  /** Where `HTTPS_PROXY` and its like are looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ClientLease {
  readonly client: HttpClient;
  /** The client is closed when it is unused and its calls have ended. */
  release(): void;
}

interface Shared {
  readonly client: HttpClient;
  users: number;
}

export class ProviderClients {
  readonly #options: ProviderClientsOptions;
  readonly #environment: ProxyFor;
  /** Providers that are reached alike share their connections, and so their limit on them. */
  readonly #shared = new Map<string, Shared>();
  #lean: Promise<HttpClient> | undefined;
  #leanClient: HttpClient | undefined;

  /** Throws an Error for people when the environment names a proxy that is not a URL. */
  constructor(options: ProviderClientsOptions) {
    this.#options = options;
    this.#environment = environmentProxies(options.env);
  }

  /** Rejects when the certificates cannot be used. */
  async acquire(transport: ProviderTransport, baseUrl: string): Promise<ClientLease> {
    const proxyFor = this.#proxyFor(transport, baseUrl);
    const { ca, client_cert: cert, client_key: key, http2 } = transport;
    if (proxyFor === directly && ca === null && cert === null && !http2)
      return { client: await this.#leanOne(), release() {} };
    const { createRequestClient } = await import("../net/request.ts");
    const name = JSON.stringify([transport.proxy, ca, cert, key, http2, proxyFor === directly]);
    let shared = this.#shared.get(name);
    if (shared === undefined) {
      const certificates = { ca: ca ?? undefined, cert: cert ?? undefined, key: key ?? undefined };
      const client = createRequestClient({ clock: this.#options.clock, proxyFor, certificates, http2 });
      shared = { client, users: 0 };
      this.#shared.set(name, shared);
    }
    const { client } = shared;
    shared.users++;
    return { client, release: () => this.#release(name, shared) };
  }

  connections(): readonly HostConnections[] {
    const clients = [...this.#shared.values()].map(({ client }) => client);
    return [...(this.#leanClient === undefined ? [] : [this.#leanClient]), ...clients].flatMap((client) =>
      client.connections(),
    );
  }

  async close(): Promise<void> {
    const shared = [...this.#shared.values()].map(({ client }) => client.close());
    await Promise.all([...shared, this.#lean?.then((client) => client.close())]);
  }

  #proxyFor({ proxy }: ProviderTransport, baseUrl: string): ProxyFor {
    if (proxy !== null) return fixedProxy(proxy);
    // Where the URL is not known yet the client decides for each one.
    const isDirect = URL.canParse(baseUrl) && this.#environment(new URL(baseUrl)) === undefined;
    return isDirect ? directly : this.#environment;
  }

  #leanOne(): Promise<HttpClient> {
    this.#lean ??= import("../net/http1/client.ts").then(({ createHttp1Client }) => {
      this.#leanClient = createHttp1Client({ clock: this.#options.clock });
      return this.#leanClient;
    });
    return this.#lean;
  }

  #release(name: string, shared: Shared): void {
    shared.users--;
    if (shared.users > 0) return;
    this.#shared.delete(name);
    void shared.client.close();
  }
}
