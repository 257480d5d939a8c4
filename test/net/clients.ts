/** Both outbound clients as tests run them: the same calls, on the same pools and limits, over different transports. */
import { directly } from "../../src/net/forward-proxy.ts";
import type { HttpClient } from "../../src/net/http-client.ts";
import { createHttp1Client } from "../../src/net/http1/client.ts";
import type { PoolOptions } from "../../src/net/pooled-client.ts";
import { createRequestClient } from "../../src/net/request.ts";

export interface ClientKind {
  readonly name: string;
  readonly make: (options: PoolOptions & { readonly ca?: string }) => HttpClient;
}

export const CLIENTS: readonly ClientKind[] = [
  { name: "the lean client", make: (options) => createHttp1Client(options) },
  {
    name: "the client on undici",
    make: ({ ca, ...options }) =>
      createRequestClient({ ...options, proxyFor: directly, certificates: { ca } }),
  },
];
