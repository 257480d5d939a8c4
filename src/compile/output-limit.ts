/**
 * How long an answer of a target may be where the configuration sets no `max_output_tokens`: what its model is known to
 * write at most, and what a budget reserves where no limit is set. Decides nothing about calls.
 */
import type { CredentialConfig, ProjectConfig } from "../config/model.ts";
import { outputTokensMax } from "../config/price-table.ts";
import type { ProviderPlugin } from "../plugin/contract.ts";
import { constraintsOf, fitSettings } from "../plugin/settings.ts";
import type { SettingConstraint } from "../provider-kit/index.ts";
import type { CompileContext } from "./context.ts";

interface TargetEntry {
  readonly provider: string;
  readonly model: string;
  readonly credential: string;
}

export interface OutputLimit {
  /** The most that the model writes; undefined: not known. */
  readonly known: number | undefined;
  /** What is reserved where no limit is set. */
  readonly assumed: number;
}

/** Reserved for an answer of an unknown model where no limit is set. */
const OUTPUT_TOKENS_ASSUMED = 32_768;

export function outputLimit(
  context: CompileContext,
  project: ProjectConfig,
  { provider, model, credential: name }: TargetEntry,
): OutputLimit {
  const plugin = context.registry.providers.get(provider);
  if (plugin === undefined) return { known: undefined, assumed: OUTPUT_TOKENS_ASSUMED };
  const credential = project.credentials.find((entry) => entry.name === name);
  // Checked against the plugin's own schema at load.
  const constraints = constraintsOf(plugin, optionsOf(context, plugin, credential) as never);
  const known = knownOutputMax(provider, model, constraints);
  return { known, assumed: known ?? plugin.outputTokensDefault ?? OUTPUT_TOKENS_ASSUMED };
}

/** By the bundled table and by the provider's own rules. */
export function knownOutputMax(
  provider: string,
  model: string,
  constraints: readonly SettingConstraint[],
): number | undefined {
  const maxOutputTokens = outputTokensMax(provider, model) ?? Number.POSITIVE_INFINITY;
  const wanted = { temperature: undefined, topP: undefined, maxOutputTokens };
  const { maxOutputTokens: most } = fitSettings(constraints, model, wanted).settings;
  return most !== undefined && Number.isFinite(most) ? most : undefined;
}

/** A provider's options for a credential: the gateway's, and the credential's own over them. */
export function optionsOf(
  { config }: Pick<CompileContext, "config">,
  { name }: ProviderPlugin<never>,
  credential: CredentialConfig | undefined,
): object {
  return { ...config.providers[name]?.options, ...credential?.options };
}
