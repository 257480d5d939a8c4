/** What endpoints and aliases share: the choice of provider, failover, budget, guardrails. */

import type { KnownPlugin } from "../plugins.ts";
import type { Spot } from "../read/tree.ts";
import { listed, nearestOf } from "../report/suggest.ts";
import type { FilledCallSettings } from "../schema/endpoint.ts";
import { type Check, each, isAbsent, reportUnknownPlugin, under } from "./context.ts";
import { checkModelSettings } from "./model-settings.ts";
import { checkGuardrails } from "./options.ts";
import { chosenTargets, type ProjectNames } from "./targets.ts";
import { checkUsd } from "./usd.ts";

export function checkCallSettings(
  check: Check,
  settings: FilledCallSettings,
  spot: Spot,
  names: ProjectNames,
): void {
  checkChoice(check, settings, spot, names);
  for (const [entry, entrySpot] of each(settings.failover, under(settings, "failover", spot))) {
    if (entry.credential === undefined) continue;
    if (!names.credentials.has(entry.credential)) {
      reportUnknownCredential(check, under(entry, "credential", entrySpot), entry.credential, names);
    }
  }
  checkRepeatedTargets(check, settings, spot, names);
  checkUsd(check, settings, "monthly_budget_usd", spot);
  checkUsd(check, settings, "estimated_cost_per_1k_tokens_usd", spot);
  if (settings.monthly_budget_usd !== null && isAbsent(check, settings, "estimated_cost_per_1k_tokens_usd")) {
    const message = "a monthly budget needs `estimated_cost_per_1k_tokens_usd` to compute spend";
    check.report("E0313", under(settings, "monthly_budget_usd", spot), message, {
      help: "add `estimated_cost_per_1k_tokens_usd` beside it",
    });
  }
  if (settings.temperature !== null && settings.top_p !== null) {
    const message = "temperature and top_p are both set: tune one of them";
    check.report("W0104", under(settings, "top_p", spot), message);
  }
  checkModelSettings(check, settings, spot, names);
  const streams = !("streaming_enabled" in settings) || settings.streaming_enabled !== false;
  checkGuardrails(check, settings.guardrails, under(settings, "guardrails", spot), streams);
}

/** A failover entry that was tried before fails as it did. */
function checkRepeatedTargets(
  check: Check,
  settings: FilledCallSettings,
  spot: Spot,
  names: ProjectNames,
): void {
  if (settings.failover.length === 0) return;
  const seen = new Map<string, number | undefined>();
  for (const { credential, model, entry } of chosenTargets(check, settings, names)) {
    if (credential?.name === undefined) continue;
    const identity = JSON.stringify([credential.name, model]);
    if (!seen.has(identity)) {
      seen.set(identity, entry);
      continue;
    }
    const item = entry === undefined ? undefined : settings.failover[entry];
    if (entry === undefined || item === undefined) continue;
    const first = seen.get(identity);
    const before = first === undefined ? "the primary" : `failover[${first}]`;
    const place = under(settings.failover, entry, under(settings, "failover", spot));
    const message = `failover[${entry}] is the same as ${before}: a call that failed there fails again`;
    check.report("W0113", place, message, { help: "name another credential or model, or remove the entry" });
  }
}

function checkChoice(check: Check, settings: FilledCallSettings, spot: Spot, names: ProjectNames): void {
  const template = settings.provider_template;
  if (template === null) {
    checkManualChoice(check, settings, spot, names);
    return;
  }
  for (const key of ["provider", "model", "credential"] as const) {
    if (settings[key] === null) continue;
    const message = `\`${key}\` beside \`provider_template: ${template}\`: the template fixes provider, model and credential`;
    check.report("E0310", under(settings, key, spot), message, {
      at: "key",
      help: "take out one of the two",
    });
    return;
  }
  if (names.templates.has(template) || !names.isWhole) return;
  const message = `unknown provider template \`${template}\``;
  check.report("E0304", under(settings, "provider_template", spot), message, () => ({
    ...nearestOf(template, [...names.templates.keys()], "the project has no provider templates"),
  }));
}

function checkManualChoice(
  check: Check,
  settings: FilledCallSettings,
  spot: Spot,
  names: ProjectNames,
): void {
  const { tree } = check;
  if (tree.isFaulty(settings, "provider_template")) return;
  const { provider, model, credential } = settings;
  const help = "give `provider`, `model` and `credential`, or a `provider_template`";
  if (provider === null && model === null && credential === null) {
    if (["provider", "model", "credential"].some((key) => tree.isFaulty(settings, key))) return;
    check.report("E0311", spot, "no provider is chosen", { help });
    return;
  }
  for (const key of ["provider", "model"] as const) {
    if (isAbsent(check, settings, key))
      check.report("E0311", under(settings, key, spot), `\`${key}\` is missing`, { help });
  }
  if (credential !== null) {
    checkCredential(check, under(settings, "credential", spot), { provider, credential }, names);
  }
  if (provider === null) return;
  const plugin = check.plugins.find("provider", provider);
  if (plugin === undefined) {
    reportUnknownPlugin(check, "provider", under(settings, "provider", spot), { name: provider });
  } else if (isAbsent(check, settings, "credential")) {
    checkBareAccess(check, under(settings, "provider", spot), { names, provider, plugin });
  }
}

/** Without a credential: a provider must need no key, and know where it is. */
function checkBareAccess(
  check: Check,
  spot: Spot,
  {
    names,
    provider,
    plugin,
  }: { readonly names: ProjectNames; readonly provider: string; readonly plugin: KnownPlugin },
): void {
  if (plugin.needsApiKey !== false) {
    const message = `provider \`${provider}\` needs a key, and no \`credential\` is given`;
    check.report("E0312", spot, message, () => {
      const known = credentialsOf(provider, names);
      if (known.length === 0) return { help: `add a credential of \`${provider}\` to the project` };
      return { help: `add \`credential:\` with one of: ${listed(known)}` };
    });
  } else if (plugin.hasBaseUrl === false && (check.config.providers[provider]?.base_url ?? null) === null) {
    const message = `provider \`${provider}\` has no address: give \`providers.${provider}.base_url\` or a credential`;
    check.report("E0317", spot, message);
  }
}

/** A credential must exist, and be one of the provider chosen. */
export function checkCredential(
  check: Check,
  spot: Spot,
  { provider, credential }: { readonly provider: string | null | undefined; readonly credential: string },
  names: ProjectNames,
): void {
  if (!names.credentials.has(credential)) {
    reportUnknownCredential(check, spot, credential, names);
    return;
  }
  const owner = names.credentials.get(credential)?.provider;
  const areKnown = [owner, provider].every(
    (key) => key != null && check.plugins.find("provider", key) !== undefined,
  );
  if (!areKnown || owner === provider) return; // An unknown provider is reported where it is named.
  const message = `credential \`${credential}\` belongs to provider \`${owner}\`, not to \`${provider}\``;
  check.report("E0302", spot, message, () => {
    const known = credentialsOf(provider, names);
    const [suggestion] = known;
    if (suggestion === undefined) return { help: `add a credential of \`${provider}\` to the project` };
    return known.length === 1
      ? { suggestion }
      : { suggestion, help: `credentials of \`${provider}\`: ${listed(known)}` };
  });
}

function credentialsOf(key: string | null | undefined, names: ProjectNames): readonly string[] {
  return [...names.credentials].filter(([, { provider }]) => provider === key).map(([name]) => name);
}

function reportUnknownCredential(check: Check, spot: Spot, name: string, names: ProjectNames): void {
  if (!names.isWhole) return;
  check.report("E0301", spot, `unknown credential \`${name}\``, () => {
    const known = [...names.credentials.keys()];
    return nearestOf(name, known, "the project has no credentials");
  });
}
