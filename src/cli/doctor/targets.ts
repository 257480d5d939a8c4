/** The addresses that a configuration has the gateway talk to, each once for each way of reaching it. */
import type { ResolvedConfig } from "../../config/model.ts";
import type { Loaded } from "../../gateway/load.ts";
import type { Certificates } from "../../net/sockets.ts";

export interface Target {
  /** What it is for, e.g. `provider openai`. */
  readonly name: string;
  readonly url: URL;
  /** True: calls fail without it. */
  readonly isProvider: boolean;
  /** Behind the SSRF guard, which `network.allow` opens. */
  readonly isGuarded: boolean;
  /** Of the provider's own; undefined: the environment's. */
  readonly proxy: string | undefined;
  readonly certificates: Certificates;
  readonly http2: boolean;
}

type Providers = Pick<Loaded["registry"], "providers">;

export function targetsOf(config: ResolvedConfig, registry: Providers): readonly Target[] {
  const found = new Map<string, Target>();
  for (const target of [...providerTargets(config, registry), ...receivers(config)]) {
    const { url, isGuarded, proxy, certificates, http2 } = target;
    const key = JSON.stringify([url.origin, isGuarded, proxy, certificates, http2]);
    if (!found.has(key)) found.set(key, target);
  }
  return [...found.values()];
}

function* providerTargets(config: ResolvedConfig, { providers }: Providers): Generator<Target> {
  for (const { credentials } of config.projects) {
    for (const { provider: name, base_url } of credentials) {
      const settings = config.providers[name];
      const base = base_url ?? settings?.base_url ?? providers.get(name)?.defaultBaseUrl ?? "";
      // A provider that asks nobody has an address of another scheme, or none.
      if (settings?.enabled === false || !isHttp(base)) continue;
      const { proxy, ca, client_cert: cert, client_key: key, http2 = false } = settings ?? {};
      yield {
        ...{ name: `provider ${name}`, url: new URL(base), isProvider: true, isGuarded: false, http2 },
        proxy: proxy ?? undefined,
        certificates: { ca: ca ?? undefined, cert: cert ?? undefined, key: key ?? undefined },
      };
    }
  }
}

function* receivers({ projects, telemetry }: ResolvedConfig): Generator<Target> {
  const named = function* (): Generator<readonly [name: string, url: string, isGuarded: boolean]> {
    for (const project of projects) {
      for (const { name, url } of project.webhooks) yield [`webhook ${name}`, url, true];
      for (const { slug, upstream_url } of project.proxy_endpoints)
        yield [`proxy ${slug}`, upstream_url, true];
      for (const { name, token_url } of project.oauth_connections) yield [`oauth ${name}`, token_url, true];
      for (const { name, url } of project.mcp_servers) yield [`mcp ${name}`, url, true];
    }
    if (telemetry.otlp.endpoint !== null) yield ["telemetry", telemetry.otlp.endpoint, false];
  };
  for (const [name, url, isGuarded] of named()) {
    if (!isHttp(url)) continue;
    const reached = { proxy: undefined, certificates: {}, http2: false };
    yield { name, url: new URL(url), isProvider: false, isGuarded, ...reached };
  }
}

function isHttp(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
