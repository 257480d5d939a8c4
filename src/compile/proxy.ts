/**
 * Compiles a project's proxy endpoints: the upstream checked, the headers to add laid out, limits and OAuth connection
 * set up. Opens no connection.
 */
import { uuidV5 } from "../base/ids.ts";
import type { OAuthConnectionConfig, ProjectConfig, ProxyEndpointConfig } from "../config/model.ts";
import type { AuditSeverity, EndpointRef, ProjectRef } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";
import { type OAuthConnection, type OAuthEvent, oauthConnection } from "../upstream/oauth.ts";
import { type ProxyClient, proxyClient, proxyFailure } from "../upstream/proxy-client.ts";
import type { CompileContext } from "./context.ts";
import {
  auditStep,
  builtIn,
  finishSteps,
  recordHooks,
  requestSteps,
  thirdParty,
  traceStep,
  withDecision,
} from "./endpoint.ts";
import type { FinishStep, RequestStep } from "./model.ts";

export type { OAuthCause, OAuthConnection } from "../upstream/oauth.ts";

/** How the proxy reaches upstreams: the same for all endpoints of a configuration. */
export type ProxyWay = Pick<ProxyClient, "open"> & { readonly failureOf: typeof proxyFailure };

export interface CompiledProxy {
  readonly ref: EndpointRef;
  readonly isActive: boolean;
  readonly allowedMethods: readonly string[];
  /** Why calls get 422, when the URL alone says that it may not be asked for. */
  readonly upstream: URL | string;
  /** Names and values in turn, put in the place of what the client sends under those names. */
  readonly headers: readonly string[];
  /** Longest call. */
  readonly timeoutMs: number;
  readonly way: ProxyWay;
  readonly oauth: OAuthConnection | undefined;
  /** Limits, the token's cap, and the project's own stages. */
  readonly request: readonly RequestStep[];
  readonly finish: readonly FinishStep[];
}

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
    const { slug, oauth_connection: named } = endpoint;
    const connection = project.oauth_connections.find(({ name }) => name === named);
    proxies.set(slug, {
      ref: Object.freeze({ uuid: uuidV5(project.uuid, `proxy/${slug}`), slug, name: slug }),
      isActive: endpoint.is_active,
      allowedMethods: endpoint.allowed_methods,
      upstream: client.check(endpoint.upstream_url),
      headers: Object.entries(endpoint.headers).flat(),
      timeoutMs: endpoint.timeout_ms,
      way,
      oauth: connection && oauthOf(context, connection, ref),
      ...(await chainOf(context, project, endpoint)),
    });
  }
  return proxies;
}

/** What of the chain makes sense for a body that nobody reads. */
async function chainOf(
  context: CompileContext,
  project: ProjectConfig,
  endpoint: ProxyEndpointConfig,
): Promise<Pick<CompiledProxy, "request" | "finish">> {
  const { slug, rate_limit_per_minute, rate_limit_per_hour } = endpoint;
  const subject = `${project.uuid}/proxy/${slug}`;
  const isLimited = rate_limit_per_minute !== null || rate_limit_per_hour !== null;
  const limits = { subject, rate_limit_per_minute, rate_limit_per_hour, usage_hard_limit_tokens: null };
  const own = await Promise.all([
    builtIn(context, "limit", isLimited ? limits : undefined),
    builtIn(context, "budget", { subject, tariffs: {} }),
    recordHooks(context),
    ...project.stages
      .filter((use) => context.registry.stages.get(use.use)?.stage !== "authenticate")
      .map((use) => thirdParty(context, use)),
  ]);
  const chain = own.filter((placed) => placed !== undefined).sort((a, b) => a.stage - b.stage);
  return {
    request: withDecision(requestSteps(chain)),
    finish: [...finishSteps(chain.toReversed()), ...auditStep(context), ...traceStep(context)],
  };
}

function clientOf({ config, lease }: CompileContext): ProxyClient {
  const { allow } = config.network;
  const client = lease.take<ProxyClient>(PROXY_CLIENTS, allow, {
    make: () => proxyClient({ allow }),
    close: (made) => made.close(),
  });
  if (isPromise(client)) throw new Error("a proxy client is made at once");
  return client;
}

/** Equal settings are one connection: its token outlives a reload. */
function oauthOf(
  { platform, lease }: CompileContext,
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
    make: () => oauthConnection({ settings, clock, fetch: http.fetch, changed }),
    close: () => {},
  });
  if (isPromise(connection)) throw new Error("an OAuth connection is made at once");
  return connection;
}
