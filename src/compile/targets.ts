/** Compiles where an endpoint's calls go: its primary and failover entries, each with a provider ready to be asked. */
import type { CredentialConfig, EndpointConfig, ProjectConfig } from "../config/model.ts";
import type { Provider, ProviderPlugin, Target, WireFormat } from "../plugin/index.ts";
import type { CompileContext } from "./context.ts";
import { type TargetEntry, targetsOf } from "./parts.ts";

export async function compileTargets(
  context: CompileContext,
  project: ProjectConfig,
  endpoint: EndpointConfig,
): Promise<readonly Target[]> {
  const targets: Target[] = [];
  for (const entry of targetsOf(project, endpoint)) {
    targets.push(await compileTarget(context, project, endpoint, entry));
  }
  return targets;
}

async function compileTarget(
  context: CompileContext,
  project: ProjectConfig,
  endpoint: EndpointConfig,
  { provider: key, model, credential: name }: TargetEntry,
): Promise<Target> {
  const plugin = context.registry.providers.get(key);
  if (plugin === undefined) throw new Error(`there is no provider '${key}'`);
  const credential = project.credentials.find((entry) => entry.name === name);
  return {
    provider: key,
    label: plugin.label,
    model,
    credential: name,
    enabled: context.config.providers[key]?.enabled ?? true,
    active: credential?.is_active ?? true,
    client: await providerFor(context, plugin, credential),
    // Settings come from the endpoint, never from a failover entry (specification, failover rules).
    settings: Object.freeze({
      model,
      temperature: endpoint.temperature ?? undefined,
      topP: endpoint.top_p ?? undefined,
      maxOutputTokens: endpoint.max_output_tokens,
      responseSchema: endpoint.output_schema ?? undefined,
    }),
  };
}

/** One client per provider and credential, shared by all endpoints and kept across reloads while both stay equal. */
async function providerFor(
  context: CompileContext,
  plugin: ProviderPlugin<never>,
  credential: CredentialConfig | undefined,
): Promise<Provider> {
  const settings = context.config.providers[plugin.name];
  const baseUrl = credential?.base_url ?? settings?.base_url ?? plugin.defaultBaseUrl ?? "";
  const options = { ...settings?.options, ...credential?.options };
  const timeoutMs = settings?.timeout_ms ?? 60_000;
  const firstByteTimeoutMs = settings?.first_byte_timeout_ms ?? 30_000;
  const key = {
    name: credential?.name,
    apiKey: credential?.api_key,
    baseUrl,
    options,
    timeoutMs,
    firstByteTimeoutMs,
  };
  return context.lease.take<Provider>(
    plugin,
    key,
    async () => {
      // Checked against the plugin's own schema at load.
      const made = await plugin.setup(options as never, context.hostFor(plugin));
      if (!isWireFormat(made)) return made;
      const { wireProvider } = await import("../upstream/wire.ts");
      const spoken = {
        name: credential?.name ?? "",
        apiKey: credential?.api_key ?? "",
        baseUrl: baseUrl.replace(/\/+$/, ""),
      };
      return wireProvider(made, spoken, await context.upstream(), { timeoutMs, firstByteTimeoutMs });
    },
    (provider) => provider.close?.(),
  );
}

function isWireFormat(made: WireFormat | Provider): made is WireFormat {
  return "encode" in made;
}
