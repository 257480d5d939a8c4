/** The models that an endpoint or alias may ask, for checks that look at each of them. Reports nothing. */
import type { FilledCallSettings } from "../schema/endpoint.ts";
import type { FilledCredential, FilledProject, FilledTemplate } from "../schema/project.ts";
import type { Check } from "./context.ts";

/** A project's things by name, and whether all of them are known. */
export interface ProjectNames {
  readonly project: FilledProject;
  readonly credentials: ReadonlyMap<string, FilledCredential>;
  readonly templates: ReadonlyMap<string, FilledTemplate>;
  /** False when a credential or template could not be read: a name not found may be its. */
  readonly isWhole: boolean;
}

export interface ChosenTarget {
  readonly provider: string;
  readonly model: string;
  readonly credential: FilledCredential | undefined;
  /** Place of a failover entry in its list; undefined: the primary. */
  readonly entry: number | undefined;
}

/** The primary, then the failover entries. Incomplete entries, and those with a missing reference, are skipped. */
export function chosenTargets(
  { tree }: Check,
  settings: FilledCallSettings,
  { credentials, templates }: ProjectNames,
): readonly ChosenTarget[] {
  const targets: ChosenTarget[] = [];
  const isGiven = (container: object): boolean => tree.reference(container, "model")?.isPlaceholder !== true;
  const choice =
    settings.provider_template === null ? settings : (templates.get(settings.provider_template) ?? settings);
  const { provider, model } = choice;
  if (typeof provider === "string" && typeof model === "string" && isGiven(choice)) {
    const credential = credentials.get(choice.credential ?? "");
    targets.push({ provider, model, credential, entry: undefined });
  }
  for (const [entry, target] of settings.failover.entries()) {
    const credential = credentials.get(target?.credential ?? "");
    if (credential?.provider === undefined || target.model === undefined || !isGiven(target)) continue;
    targets.push({ provider: credential.provider, model: target.model, credential, entry });
  }
  return targets;
}
