/** Settings that a model refuses: the gateway will leave them out or clamp them, so they are reported at load. */
import { type Adjustment, adjustmentText, fitSettings } from "../../plugin/settings.ts";
import type { Spot } from "../read/tree.ts";
import type { FilledCallSettings } from "../schema/endpoint.ts";
import { type Check, under } from "./context.ts";
import { type ChosenTarget, chosenTargets, type ProjectNames } from "./targets.ts";

/** Warns at the setting, once for each model that refuses it. */
export function checkModelSettings(
  check: Check,
  settings: FilledCallSettings,
  spot: Spot,
  names: ProjectNames,
): void {
  for (const target of chosenTargets(check, settings, names)) {
    const whose = target.entry === undefined ? "model" : `failover[${target.entry}].model`;
    for (const adjustment of adjustmentsFor(check, target, settings)) {
      const message = adjustmentText(adjustment, `${whose} \`${target.model}\``);
      check.report("W0109", under(settings, adjustment.setting, spot), message);
    }
  }
}

function adjustmentsFor(
  check: Check,
  { provider, model, credential }: ChosenTarget,
  { temperature, top_p, max_output_tokens: maxOutputTokens }: FilledCallSettings,
): readonly Adjustment[] {
  const plugin = check.plugins.find("provider", provider);
  if (plugin?.constraints === undefined) return [];
  const wanted = {
    temperature: temperature ?? undefined,
    topP: top_p ?? undefined,
    maxOutputTokens: maxOutputTokens ?? undefined,
  };
  const options = { ...check.config.providers[provider]?.options, ...credential?.options };
  try {
    return fitSettings(plugin.constraints(options), model, wanted).adjustments;
  } catch {
    return []; // Options that are faulty are reported where they stand.
  }
}
