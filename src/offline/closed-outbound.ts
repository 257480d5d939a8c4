/** What a configuration of an offline run opens in place of connections: scripts for providers and proxied upstreams. */
import type { Outbound } from "../compile/outbound.ts";
import type { ProxyClientOptions } from "../net/proxy-client.ts";
import type { Provider, WireFormat } from "../provider-kit/index.ts";
import { openAiChat } from "../provider-kit/index.ts";
import type { McpClientOptions } from "../upstream/mcp/client.ts";
import { dialectOf } from "./dialects.ts";
import { NETWORK_CLOSED } from "./platform.ts";
import { ScriptedClient, type ScriptPlayer } from "./scripted-client.ts";
import { scriptedProxyClient, type UpstreamPlayer } from "./upstream.ts";

export interface ClosedOutboundOptions {
  /** The case that is running. */
  readonly player: () => ScriptPlayer;
  readonly upstream: UpstreamPlayer;
  readonly uuid: () => string;
  /** Notes a use of the network that is refused. */
  readonly refused: (what: string) => void;
}

/** What OAuth connections hand out. No authorization server is asked. */
const ACCESS_TOKEN = "offline-access-token";

export function closedOutbound({ player, upstream, uuid, refused }: ClosedOutboundOptions): Outbound {
  return {
    providerClient: async (_transport, _baseUrl, format) => ({
      client: new ScriptedClient(player, dialectOf(format)),
      release: () => undefined,
    }),
    wireFormatOf: (provider) => withFormat(provider, uuid),
    proxyClient: (options: ProxyClientOptions) => scriptedProxyClient(options, upstream),
    oauthConnection: () => ({ token: () => ACCESS_TOKEN, refused: () => undefined }),
    mcpClient: ({ name }: McpClientOptions) => ({
      tools() {
        refused(`the tools of MCP server '${name}'`);
        return [];
      },
      call() {
        refused(`a tool of MCP server '${name}'`);
        return Promise.resolve({ failed: NETWORK_CLOSED });
      },
      close: () => undefined,
    }),
  };
}

/** A provider that makes its answers itself, `mock` for one, speaks OpenAI's chat format here, so that it can be scripted. */
function withFormat(provider: Provider, uuid: () => string): WireFormat {
  const format = openAiChat({ random: { uuid, fraction: () => 0 } }, { embeddings: {} });
  return {
    ...format,
    ...(provider.unsupported !== undefined && { unsupported: provider.unsupported.bind(provider) }),
    ...(provider.dropped !== undefined && { dropped: provider.dropped.bind(provider) }),
  };
}
