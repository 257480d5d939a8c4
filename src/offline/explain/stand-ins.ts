/**
 * Stand-ins for plugins that were not executed: guardrails and stages that let everything pass, and providers that speak
 * OpenAI's chat format, so that the rest of a stranger's configuration can be explained.
 */
import type { ResolvedConfig } from "../../config/model.ts";
import { defineGuardrail, definePlugin, defineProvider } from "../../plugin/index.ts";
import type { Registry } from "../../plugins-host/registry.ts";
import { openAiChat } from "../../provider-kit/index.ts";

/** Adds those that the registry lacks; returns the names of guardrails among them. */
export function standIns(config: ResolvedConfig, registry: Registry): ReadonlySet<string> {
  const guardrails = new Set<string>();
  const about = { description: "A plugin that was not executed.", schema: true, examples: [{}] };
  for (const project of config.projects) {
    const settings = [...project.endpoints, ...project.aliases];
    for (const { use } of settings.flatMap((one) => one.guardrails)) {
      if (registry.guardrails.has(use)) continue;
      guardrails.add(use);
      const plugin = defineGuardrail({ name: use, ...about, setup: () => ({ judge: () => undefined }) });
      registry.guardrails.set(use, plugin);
    }
    for (const { use } of [...project.stages, ...project.endpoints.flatMap(({ stages }) => stages)]) {
      if (registry.stages.has(use)) continue;
      registry.stages.set(use, definePlugin({ name: use, stage: "guard", ...about, setup: () => ({}) }));
    }
    const providers = [...project.credentials, ...settings].map(({ provider }) => provider);
    for (const name of providers) {
      if (registry.providers.has(name)) continue;
      const format = { label: name, defaultBaseUrl: "https://provider.invalid", needsApiKey: false };
      registry.providers.set(
        name,
        defineProvider({ name, ...about, ...format, setup: (_options, host) => openAiChat(host) }),
      );
    }
  }
  return guardrails;
}
