/** Checks that a Portkey config holds itself, as guardrails. Ids refer to guardrails that only Portkey's account has. */
import { type DraftGuardrail, KEYWORD_CHARACTERS_MAX } from "./draft.ts";
import type { Job } from "./job.ts";
import type { SourceNode } from "./source.ts";

type Settings = DraftGuardrail["settings"];

const HOOKS: readonly (readonly [key: string, on: "input" | "output"])[] = [
  ["input_guardrails", "input"],
  ["inputGuardrails", "input"],
  ["before_request_hooks", "input"],
  ["beforeRequestHooks", "input"],
  ["output_guardrails", "output"],
  ["outputGuardrails", "output"],
  ["after_request_hooks", "output"],
  ["afterRequestHooks", "output"],
];

export function portkeyGuardrails(job: Job, nodes: readonly SourceNode[]): readonly DraftGuardrail[] {
  const found: Settings[] = [];
  const seen = new Set<SourceNode>();
  for (const [place, node] of nodes.entries()) {
    for (const [key, on] of HOOKS) {
      for (const item of node.get(key)?.items ?? []) {
        if (seen.has(item)) continue;
        seen.add(item);
        const made = checksOf(job, item).map((check) =>
          on === "output" ? { ...check, on: ["output"] } : check,
        );
        for (const one of made) if (!found.some((known) => same(known, one))) found.push(one);
        report(job, item, { made: made.length, isOfTarget: place > 0 && nodes.length > 2 });
      }
    }
  }
  return found.map((settings) => ({ settings, notes: [] }));
}

function same(a: Settings, b: Settings): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function report(
  { findings }: Job,
  item: SourceNode,
  { made, isOfTarget }: { readonly made: number; readonly isOfTarget: boolean },
): void {
  const checks = checkNodes(item).length;
  if (item.text !== undefined) {
    return findings.add(item, {
      level: "manual",
      message: "Names a guardrail that is kept at Portkey: add one to the alias.",
    });
  }
  if (made === 0 || made < checks) {
    return findings.add(item, {
      level: "manual",
      message:
        "Sluice has no counterpart for each of its checks: use guardrail `webhook`, or write a plugin.",
    });
  }
  const message = isOfTarget
    ? "A guardrail of the alias, for all of its targets."
    : "A guardrail of the alias.";
  findings.add(item, { level: "approximate", message });
}

/** `{"default.contains": {…}, "deny": true}`, or `{type: guardrail, checks: [{id, parameters}]}`. */
function checkNodes(item: SourceNode): readonly (readonly [id: string, parameters: SourceNode])[] {
  const listed = item.get("checks")?.items ?? [];
  if (listed.length > 0) {
    return listed.flatMap((check) => {
      const parameters = check.get("parameters");
      const id = check.get("id")?.text;
      return id === undefined || parameters === undefined ? [] : [[id, parameters] as const];
    });
  }
  return item.entries.filter(([key]) => key.includes("."));
}

function checksOf({ secrets }: Job, item: SourceNode): readonly Settings[] {
  const isShadow = item.get("deny")?.scalar === false;
  return checkNodes(item).flatMap(([id, parameters]) => {
    const made = guardrailOf(id, parameters);
    if (made === undefined || !secrets.isClean(JSON.stringify(made))) return [];
    return [isShadow ? { ...made, shadow: true } : made];
  });
}

function guardrailOf(id: string, parameters: SourceNode): Settings | undefined {
  const check = id.replace(/^(?:default|portkey)\./, "");
  if (check === "contains") {
    const keywords = parameters.get("words")?.items.flatMap((word) => word.text ?? []) ?? [];
    const isBlocklist = parameters.get("operator")?.text === "none";
    const isShort = keywords.every((keyword) => keyword.length <= KEYWORD_CHARACTERS_MAX);
    return isBlocklist && isShort && keywords.length > 0 ? { use: "keyword_blocklist", keywords } : undefined;
  }
  if (check === "characterCount") {
    const max = parameters.get("maxCharacters", "max_characters")?.number;
    return max !== undefined && max >= 1 ? { use: "content_length", max: Math.round(max) } : undefined;
  }
  if (check === "pii" || check === "detectPII") {
    const isMask = parameters.get("redact")?.scalar === true;
    return { use: "pii", mode: isMask ? "mask" : "block" };
  }
  return check === "promptInjection" || check === "gibberish.promptInjection"
    ? { use: "prompt_injection" }
    : undefined;
}
