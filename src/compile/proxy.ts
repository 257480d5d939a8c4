/**
 * Compiles a project's proxy endpoints: the upstream checked, the headers to add laid out, limits and OAuth connection
 * set up. Opens no connection.
 */
import { uuidV5 } from "../base/ids.ts";
import type { OAuthConnectionConfig, ProjectConfig } from "../config/model.ts";
import { type ProxyClient, proxyFailure } from "../net/proxy-client.ts";
import type { ProjectRef } from "../plugin/exchange.ts";
import { isPromise } from "../plugin/index.ts";
import type { AuditSeverity } from "../plugin/store.ts";
import type { OAuthConnection, OAuthEvent } from "../upstream/oauth/oauth.ts";
import type { CompileContext } from "./context.ts";
import { passthroughChain } from "./endpoint.ts";
import type { CompiledProxy } from "./model.ts";
import { setNamed } from "./names.ts";

/** What clients and connections of equal settings share, over generations too. */
const PROXY_CLIENTS = Object.freeze({ name: "proxy_endpoints" });
const OAUTH_CONNECTIONS = Object.freeze({ name: "oauth_connections" });

/** By slug. */
export async function compileProxies(
  context: CompileContext,
  project: ProjectConfig,
  ref: ProjectRef,
): Promise<ReadonlyMap<string, CompiledProxy>> {
  const proxies = new Map<string, CompiledProxy>();
  if (project.proxy_endpoints.length === 0) return proxies;
  const client = clientOf(context);
  const way = { open: client.open, failureOf: proxyFailure };
  for (const endpoint of project.proxy_endpoints) {
    const { slug, oauth_connection: named, rate_limit_per_minute, rate_limit_per_hour } = endpoint;
    const subject = `${project.uuid}/proxy/${slug}`;
    const isLimited = rate_limit_per_minute !== null || rate_limit_per_hour !== null;
    const limits = { subject, rate_limit_per_minute, rate_limit_per_hour, usage_hard_limit_tokens: null };
    const connection = project.oauth_connections.find(({ name }) => name === named);
    setNamed(proxies, slug, endpoint, {
      ref: Object.freeze({ uuid: uuidV5(project.uuid, `proxy/${slug}`), slug, name: slug }),
      isActive: endpoint.is_active,
      allowedMethods: endpoint.allowed_methods,
      upstream: client.check(endpoint.upstream_url),
      headers: Object.entries(endpoint.headers).flat(),
      timeoutMs: endpoint.timeout_ms,
      way,
      oauth: connection && oauthOf(context, connection, ref),
      ...(await passthroughChain(context, project, subject, isLimited ? limits : undefined)),
    });
    if (context.slices.isUsedUp) await context.slices.yielded();
  }
  return proxies;
}

function clientOf({ config, lease, outbound, platform: { clock } }: CompileContext): ProxyClient {
  const { allow } = config.network;
  const client = lease.take<ProxyClient>(PROXY_CLIENTS, allow, {
    make: () => outbound.proxyClient({ allow, clock }),
    close: (made) => made.close(),
  });
  if (isPromise(client)) throw new Error("a proxy client is made at once");
  return client;
}

/** Equal settings are one connection: its token outlives a reload. */
function oauthOf(
  { platform, lease, outbound }: CompileContext,
  settings: OAuthConnectionConfig,
  project: ProjectRef,
): OAuthConnection {
  const { clock, http, log, audit } = platform;
  const { name } = settings;
  const changed = ({ event, detail, cause }: OAuthEvent): void => {
    const severity: AuditSeverity = event === "connected" ? "info" : "warn";
    if (event === "refresh_failed")
      log.warn({ project: project.uuid, connection: name, detail }, "OAuth failed");
    void audit?.record({
      ...{ event: `oauth_connection.${event}`, severity, project, target: name, ...cause },
      metadata: event === "connected" ? {} : { detail },
    });
  };
  const known = { ...settings, project };
  const connection = lease.take<OAuthConnection>(OAUTH_CONNECTIONS, known, {
    make: () => outbound.oauthConnection({ settings, clock, fetch: http.fetch, changed }),
    close: () => {},
  });
  if (isPromise(connection)) throw new Error("an OAuth connection is made at once");
  return connection;
}
