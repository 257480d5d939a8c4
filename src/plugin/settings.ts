/**
 * Brings an endpoint's settings to what a model takes, by the rules of its provider: what a model refuses is clamped or
 * left out, and each change is told. Pure: who asks decides whether to log it, warn of it or send it.
 */
import type { ProviderRequest } from "./chat.ts";
import type { ProviderPlugin } from "./contract.ts";
import type { SettingConstraint } from "./provider.ts";

/** The settings that models refuse. undefined: not set. */
export type ModelSettings = Pick<ProviderRequest, "temperature" | "topP" | "maxOutputTokens">;

/** One setting that is not sent as it was wanted. */
export interface Adjustment {
  /** As the YAML names it. */
  readonly setting: SettingConstraint["setting"];
  readonly wanted: number;
  /** undefined: it is left out. */
  readonly sent: number | undefined;
  readonly reason: string;
}

const FIELDS = {
  temperature: "temperature",
  top_p: "topP",
  max_output_tokens: "maxOutputTokens",
} as const satisfies Record<SettingConstraint["setting"], keyof ModelSettings>;

/**
 * All rules that match count, in their order; `beside` looks at what is wanted, not at what earlier rules left. One
 * adjustment a setting, with the reason of the rule that had the last word. The same object when nothing changes.
 */
export function fitSettings<T extends ModelSettings>(
  constraints: readonly SettingConstraint[],
  model: string,
  wanted: T,
): { readonly settings: T; readonly adjustments: readonly Adjustment[] } {
  let settings = wanted;
  const adjustments = new Map<SettingConstraint["setting"], Adjustment>();
  for (const { models, setting, range, conflictsWith, reason } of constraints) {
    const field = FIELDS[setting];
    const [asked, value] = [wanted[field], settings[field]];
    if (asked === undefined || value === undefined) continue;
    if (conflictsWith !== undefined && wanted[FIELDS[conflictsWith]] === undefined) continue;
    // `search`, since `test` remembers where it stopped in a pattern with the flag g or y.
    if (models !== undefined && model.search(models) === -1) continue;
    const sent = range === undefined ? undefined : Math.min(Math.max(value, range.min), range.max);
    if (sent === value) continue;
    settings = { ...settings, [field]: sent };
    adjustments.set(setting, { setting, wanted: asked, sent, reason });
  }
  return { settings, adjustments: [...adjustments.values()] };
}

/** A provider's rules for one credential's options. Throws what the plugin's own function throws. */
export function constraintsOf<C>(
  { constraints }: ProviderPlugin<C>,
  options: C,
): readonly SettingConstraint[] {
  return (typeof constraints === "function" ? constraints(options) : constraints) ?? [];
}

/** `temperature 1.4 is sent as 1 to model X: <because>`; `whom` says to which model. */
export function adjustmentText({ setting, wanted, sent, reason }: Adjustment, whom: string): string {
  return `${setting} ${wanted} is ${sent === undefined ? "not sent" : `sent as ${sent}`} to ${whom}: ${reason}`;
}
