/** Compiles where an endpoint's calls go: its primary and failover entries, each with a provider ready to be asked. */

import { LRUCache } from "lru-cache";
import { withoutTrailingSlashes } from "../base/trailing-slashes.ts";
import type { CallSettings, CredentialConfig, EndpointConfig, ProjectConfig } from "../config/model.ts";
import type { ProviderPlugin } from "../plugin/contract.ts";
import type { Logger } from "../plugin/host.ts";
import type { MaybePromise, Target } from "../plugin/index.ts";
import { andThen } from "../plugin/index.ts";
import { adjustmentText, constraintsOf, fitSettings } from "../plugin/settings.ts";
import { guardedFormat, guardedProvider } from "../plugin-guard/provider.ts";
import type { Platform } from "../plugins-host/host.ts";
import { allOf } from "../plugins-host/instances.ts";
import type { Provider, SettingConstraint, WireFormat } from "../provider-kit/index.ts";
import type { CompileContext } from "./context.ts";
import { knownOutputMax, optionsOf } from "./output-limit.ts";

export interface TargetEntry {
  readonly provider: string;
  readonly model: string;
  readonly credential: string;
}

/** The primary, then the failover entries in their order; a failover entry's provider is its credential's. */
export function targetsOf(project: ProjectConfig, settings: CallSettings): readonly TargetEntry[] {
  const failover = settings.failover.map(({ credential, model }) => ({
    provider: project.credentials.find(({ name }) => name === credential)?.provider ?? settings.provider,
    model,
    credential,
  }));
  const { provider, model, credential } = settings;
  return [{ provider, model, credential }, ...failover];
}

export function compileTargets(
  context: CompileContext,
  project: ProjectConfig,
  endpoint: EndpointConfig,
): MaybePromise<readonly Target[]> {
  return allOf(targetsOf(project, endpoint).map((entry) => compileTarget(context, project, endpoint, entry)));
}

function compileTarget(
  context: CompileContext,
  project: ProjectConfig,
  endpoint: EndpointConfig,
  { provider: key, model, credential: name }: TargetEntry,
): MaybePromise<Target> {
  const plugin = context.registry.providers.get(key);
  if (plugin === undefined) throw new Error(`there is no provider '${key}'`);
  const credential = project.credentials.find((entry) => entry.name === name);
  // Checked against the plugin's own schema at load.
  const constraints = constraintsOf(plugin, optionsOf(context, plugin, credential) as never);
  const { platform } = context;
  const { log } = context.hostFor(plugin);
  const fit: Target["fit"] = (wanted) => fitted({ platform, log, plugin: plugin.name, constraints }, wanted);
  // Settings are the endpoint's, never a failover entry's.
  const settings = {
    model,
    temperature: endpoint.temperature ?? undefined,
    topP: endpoint.top_p ?? undefined,
    maxOutputTokens: endpoint.max_output_tokens ?? undefined,
    responseSchema: endpoint.output_schema ?? undefined,
  };
  return andThen(providerFor(context, plugin, credential), (client) => ({
    provider: key,
    label: plugin.label,
    model,
    credential: name,
    enabled: context.config.providers[key]?.enabled ?? true,
    active: credential?.is_active ?? true,
    client,
    settings: Object.freeze(fit(settings)),
    ...(constraints.length > 0 && { fit }),
    outputTokensMax: knownOutputMax(key, model, constraints),
  }));
}

interface Fitting {
  readonly platform: Platform;
  readonly log: Logger;
  readonly plugin: string;
  readonly constraints: readonly SettingConstraint[];
}

/** The settings that the model accepts; changes are logged. */
function fitted(
  { platform, log, plugin, constraints }: Fitting,
  wanted: Target["settings"],
): Target["settings"] {
  const { model } = wanted;
  const { settings, adjustments } = fitSettings(constraints, model, wanted);
  for (const adjustment of adjustments) {
    const { setting, wanted: value, sent } = adjustment;
    if (!isFirst(platform, `${plugin}\n${model}\n${setting}`)) continue;
    log.warn(
      { provider: plugin, model, setting, wanted: value, sent },
      adjustmentText(adjustment, `model ${model}`),
    );
  }
  return settings;
}

/** Adjustments already logged, so that neither ten thousand endpoints nor each reload log them again. */
const LOGGED_MAX = 10_000;
const told = new WeakMap<Platform, LRUCache<string, true>>();

function isFirst(platform: Platform, key: string): boolean {
  let known = told.get(platform);
  if (known === undefined) told.set(platform, (known = new LRUCache({ max: LOGGED_MAX })));
  if (known.get(key) !== undefined) return false;
  known.set(key, true);
  return true;
}

/** One client per provider and credential, shared by all endpoints and kept across reloads while both stay equal. */
function providerFor(
  context: CompileContext,
  plugin: ProviderPlugin<never>,
  credential: CredentialConfig | undefined,
): MaybePromise<Provider> {
  const settings = context.config.providers[plugin.name];
  const baseUrl = credential?.base_url ?? settings?.base_url ?? plugin.defaultBaseUrl ?? "";
  const options = optionsOf(context, plugin, credential);
  const timeoutMs = settings?.timeout_ms ?? 60_000;
  const firstByteTimeoutMs = settings?.first_byte_timeout_ms ?? 30_000;
  const { stream_idle_timeout_ms: idleMsMax } = context.config.server;
  const idleTimeoutMs = Math.min(settings?.stream_idle_timeout_ms ?? 60_000, idleMsMax);
  const connectionsMax = settings?.max_connections ?? 16_384;
  const { proxy = null, ca = null, client_cert = null, client_key = null, http2 = false } = settings ?? {};
  const transport = { proxy, ca, client_cert, client_key, http2 };
  const key = {
    name: credential?.name,
    apiKey: credential?.api_key,
    baseUrl,
    options,
    timeoutMs,
    firstByteTimeoutMs,
    idleTimeoutMs,
    connectionsMax,
    transport,
  };
  return context.lease.take<Provider>(plugin, key, {
    async make() {
      // Checked against the plugin's own schema at load.
      const made = await plugin.setup(options as never, context.hostFor(plugin));
      const { clock, log } = context.platform;
      const guard = { plugin: plugin.name, log };
      const wire = isWireFormat(made) ? made : context.outbound.wireFormatOf?.(made);
      if (wire === undefined) {
        // Only a Provider of its own has no format.
        const whole = made as Provider;
        return guardedProvider(whole, guard, { clock, timeoutMs, firstByteTimeoutMs, idleTimeoutMs });
      }
      const { wireProvider } = await import("../upstream/wire.ts");
      const spoken = {
        name: credential?.name ?? "",
        apiKey: credential?.api_key ?? "",
        baseUrl: withoutTrailingSlashes(baseUrl),
      };
      const format = guardedFormat(wire, guard);
      const { client, release } = await context.outbound.providerClient(transport, spoken.baseUrl, format);
      const provider = wireProvider(format, spoken, client, {
        timeoutMs,
        firstByteTimeoutMs,
        idleTimeoutMs,
        connectionsMax,
        traceparent: context.platform.traces?.traceparent,
        received: context.platform.received,
      });
      return guardedProvider({ ...provider, close: release }, guard);
    },
    close: (provider) => provider.close?.(),
  });
}

function isWireFormat(made: WireFormat | Provider): made is WireFormat {
  return "encode" in made;
}
