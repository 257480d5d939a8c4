/** Who is affected by a plan, as a running gateway knows it. */
import { isJsonObject } from "../../base/json.ts";
import type { PluginLoader } from "../../config/load.ts";
import { applyOverrides } from "../../config/overrides.ts";
import { type UsageAnswer, usageSchema } from "../../gateway/overview.ts";
import { changesBetween } from "../../plan/changes.ts";
import type { DocumentInput, ObjectUsage, PlanDrift, PlanOverride } from "../../plan/document.ts";
import { failure } from "../../plan/git/git.ts";
import { type ConfigObject, type ObjectKind, type ObjectRef, objectsOf } from "../../plan/objects.ts";
import type { PlanChange } from "../../plan/plan.ts";
import type { Side, WholeSide } from "../../plan/side.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { CliIo } from "../command.ts";
import { conforms } from "../conforms.ts";
import { askRunning, loadRunning } from "./running.ts";

export interface RunningUsage {
  /** Of a call: means over those that are known. */
  tokensOf(object: ObjectRef): { readonly input: number; readonly output: number } | undefined;
  reportOf(changes: readonly PlanChange[]): Pick<DocumentInput, "usage" | "overrides" | "drift">;
}

interface PlanSides {
  readonly from: Side;
  readonly to: WholeSide;
}

export async function usageOf(
  url: string,
  sides: PlanSides,
  io: CliIo,
  loadPlugins: PluginLoader,
): Promise<RunningUsage> {
  const { body, address } = await askRunning(url, "/admin/v1/usage", io, loadPlugins);
  const fault = conforms(body, usageSchema);
  if (fault !== undefined)
    throw failure(`${address} answers in a form that this version does not know: ${fault}`);
  const answer = body as unknown as UsageAnswer; // As the schema says.
  const objects = new ObjectIndex(sides);
  const drift =
    answer.hash === sides.from.hash
      ? []
      : driftOf(sides.from, (await loadRunning(url, io, loadPlugins)).side);
  return {
    tokensOf(object) {
      const known = objects.usageOf(object, answer);
      if (known === undefined || known.calls === 0) return undefined;
      return { input: known.prompt_tokens / known.calls, output: known.completion_tokens / known.calls };
    },
    reportOf: (changes) => ({
      usage: { since: answer.since, month: answer.month, objects: affected(changes, objects, answer) },
      overrides: overridesOf(answer, sides, objects),
      drift,
    }),
  };
}

/** What the gateway calls an endpoint: aliases and proxy endpoints too. */
const CALLED: readonly ObjectKind[] = ["endpoint", "alias", "proxy_endpoint"];

/** Objects of both sides by the names that the gateway has for them. */
class ObjectIndex {
  readonly #byName = new Map<string, ConfigObject>();
  readonly #uuids = new Map<string, string>();

  constructor({ from, to }: PlanSides) {
    // Objects of `to` are added last and win.
    for (const object of [...objectsOf(from), ...objectsOf(to)]) {
      const { ref, projectUuid } = object;
      if (projectUuid === null || ref.project === null) continue;
      this.#uuids.set(ref.project, projectUuid);
      this.#byName.set(`${kindOf(ref.kind)}\0${projectUuid}\0${ref.name}`, object);
    }
  }

  refOf(kind: "endpoint" | "token", uuid: string, name: string): ObjectRef {
    const known = this.#byName.get(`${kind}\0${uuid}\0${name}`);
    return known?.ref ?? { kind, project: uuid, name };
  }

  usageOf(
    { kind, project, name }: ObjectRef,
    { objects }: UsageAnswer,
  ): UsageAnswer["objects"][number] | undefined {
    const uuid = project === null ? undefined : this.#uuids.get(project);
    return objects.find((one) => one.kind === kindOf(kind) && one.project === uuid && one.name === name);
  }
}

const kindOf = (kind: ObjectKind): string => (CALLED.includes(kind) ? "endpoint" : kind);

/** Every object that a change above safe is of or reaches, the most called first. */
function affected(
  changes: readonly PlanChange[],
  objects: ObjectIndex,
  answer: UsageAnswer,
): readonly ObjectUsage[] {
  const refs = new Map<string, ObjectRef>();
  for (const { risk, object, reaches } of changes) {
    if (risk === "safe") continue;
    for (const ref of [object, ...reaches]) refs.set(JSON.stringify(ref), ref);
  }
  const found: ObjectUsage[] = [];
  for (const object of refs.values()) {
    const known = objects.usageOf(object, answer);
    if (known === undefined) continue;
    const { calls, prompt_tokens, completion_tokens, spend_usd } = known;
    found.push({ object, calls, prompt_tokens, completion_tokens, spend_usd });
  }
  return found.sort((a, b) => b.calls - a.calls);
}

/** Those that stand, and whether the new configuration ends each. */
function overridesOf(
  { overrides }: UsageAnswer,
  { to }: PlanSides,
  objects: ObjectIndex,
): readonly PlanOverride[] {
  const standing = overrides.map(({ key, value, replaced, actor, set_at: at }) => ({
    ...{ key, actor, setAtMs: Date.parse(at) },
    // What was parsed from JSON is JSON.
    value: value as JsonValue,
    replaced: replaced as JsonValue,
  }));
  const ended = new Set(applyOverrides(to.config, standing).stale);
  return overrides.map(({ key, kind, project, name, value, replaced, actor, set_at }) => ({
    kind,
    object: objects.refOf(kind === "endpoint" ? "endpoint" : "token", project, name),
    change: changeText(kind, isJsonObject(value) && value["is_active"] === true, replaced),
    ...{ actor, set_at, ends: ended.has(key) },
  }));
}

function changeText(kind: string, isOn: boolean, replaced: unknown): string {
  if (kind === "revoked") return "revoked";
  if (kind === "token") return replaced === null ? "created" : "rotated";
  return isOn ? "switched on" : "switched off";
}

const KEYS_MAX = 20;

function driftOf(from: Side, running: Side): readonly PlanDrift[] {
  return changesBetween(from, running).map(({ ref, before, after, fields }) => ({
    object: ref,
    change: before === undefined ? "added" : after === undefined ? "removed" : "changed",
    keys: fields.slice(0, KEYS_MAX).map(({ key }) => key),
  }));
}
