/** Which protections the cases show at work, in all the ways that their kind has. */
import { slugOf } from "../config/slug.ts";
import { type Protection, WAYS, type Way } from "../offline/protections.ts";
import type { Coverage, Uncovered } from "./results.ts";

const MISSING: Readonly<Record<Way, string>> = {
  acts: "a case it acts on",
  passes: "a case it lets pass",
  refuses: "a case it refuses",
  accepts: "a case it accepts",
  "takes over": "a case in which it takes over",
  "is called": "a case that calls it",
};

/** Protections of several configurations may be the same object of one: equal ids are one. */
export function coverageOf(
  protections: readonly Protection[],
  shown: ReadonlyMap<string, ReadonlySet<Way>>,
): Coverage {
  const all = [...new Map(protections.map((protection) => [protection.id, protection])).values()];
  const uncovered = all.flatMap((protection): readonly Uncovered[] => {
    const ways = shown.get(protection.id);
    const missing = WAYS[protection.kind].filter((way) => ways?.has(way) !== true);
    if (missing.length === 0) return [];
    return [
      { protection: nameOf(protection), place: protection.at, missing: missing.map((way) => MISSING[way]) },
    ];
  });
  const covered = all.length - uncovered.length;
  const percent = all.length === 0 ? 100 : Math.floor((1000 * covered) / all.length) / 10;
  return { covered, all: all.length, percent, uncovered };
}

/** `pii on support/triage`. */
export function nameOf({ label, owner, kind }: Protection): string {
  const project = slugOf(owner.projectName) || owner.project;
  if (owner.kind === "token") return `${label} on ${project}`;
  if (kind === "alias") return `alias ${project}/${owner.name}`;
  return `${label} on ${project}/${owner.name}`;
}
