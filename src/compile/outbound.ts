/**
 * Everything that a compiled configuration opens connections with, in one object: the network's by default. A gateway
 * that must not reach any service is compiled with another one.
 */
import { type ProxyClient, type ProxyClientOptions, proxyClient } from "../net/proxy-client.ts";
import type { Provider, WireFormat } from "../provider-kit/index.ts";
import { type McpClient, type McpClientOptions, mcpClient } from "../upstream/mcp/client.ts";
import { type OAuthConnection, type OAuthOptions, oauthConnection } from "../upstream/oauth/oauth.ts";
import type { ClientLease, ProviderClients, ProviderTransport } from "../upstream/provider-clients.ts";

export interface Outbound {
  /** The client that requests of one provider go through. `format`: what is spoken over it. */
  providerClient(transport: ProviderTransport, baseUrl: string, format: WireFormat): Promise<ClientLease>;
  /** A format in the place of a provider that has none and makes its answers itself. Absent: it answers itself. */
  wireFormatOf?(provider: Provider): WireFormat;
  mcpClient(options: McpClientOptions): McpClient;
  proxyClient(options: ProxyClientOptions): ProxyClient;
  oauthConnection(options: OAuthOptions): OAuthConnection;
}

/** Opens no connection before a call needs it. */
export function networkOutbound(clients: Pick<ProviderClients, "acquire">): Outbound {
  return {
    providerClient: (transport, baseUrl) => clients.acquire(transport, baseUrl),
    mcpClient,
    proxyClient,
    oauthConnection,
  };
}
