/** Judges an object that both sides have, key by key. */
import type { ObjectChange } from "./changes.ts";
import type { Draft, Sides } from "./draft.ts";
import { newHosts, newHostText } from "./fields/address.ts";
import { type KeyChange, type ObjectPair, sentence } from "./fields/field.ts";
import { fieldOf } from "./fields/fields.ts";
import type { Finding } from "./finding.ts";
import type { ConfigObject, ObjectRef } from "./objects.ts";
import { isAccepted, isActive, isCalled, type PreparedSide } from "./prepared-side.ts";

type Changed = ObjectChange & { readonly before: ConfigObject; readonly after: ConfigObject };

export function changedFindings(change: Changed, { from, to }: Sides): readonly Draft[] {
  const { before, after, fields, isMoved } = change;
  const pair: ObjectPair = { before, after, from, to };
  const idle = isIdle(before, from) && isIdle(after, to);
  const reaches = usersOf(before, after, { from, to });
  const drafts: Draft[] = [];
  for (const { key, before: was, after: is } of fields) {
    if (isMoved && key !== "moved_from" && isIdentity(before, after, key)) continue;
    const keyChange: KeyChange = { name: key, before: was, after: is, fromPath: [key], toPath: [key], pair };
    const found = [...fieldOf(after, key)(keyChange), ...optionHosts(keyChange)];
    for (const finding of idle ? found.slice(0, 1) : found) {
      const whole = { ...finding, action: "change" as const, was: before, is: after, reaches };
      const message = sentence({ ...finding, name: key }, "it is not in use");
      drafts.push(idle && finding.rule !== "P501" ? { ...whole, rule: "P501", message } : whole);
    }
  }
  return drafts;
}

/** Hosts that options of guardrails and stages name, beside what the lists themselves mean. */
function optionHosts({ pair, toPath }: KeyChange): readonly Finding[] {
  const [key] = toPath;
  if (key !== "guardrails" && key !== "stages") return [];
  const hosts = newHosts(pair).filter(({ path }) => path[0] === key);
  return hosts.map((host) => ({
    rule: "P203",
    message: `An option of \`${key}\` is changed: ${newHostText(host)}.`,
    before: undefined,
    after: host.host,
    fromPath: [key],
    toPath: host.path,
  }));
}

/** The key that objects are matched by: with `moved_from` its change is told there. */
function isIdentity({ ref: was }: ConfigObject, { ref: is }: ConfigObject, key: string): boolean {
  return was.name !== is.name && (key === "slug" || key === "alias" || key === "name");
}

/** Nothing that it says has an effect on any call. */
export function isIdle(object: ConfigObject, side: PreparedSide): boolean {
  const { ref, identity } = object;
  switch (ref.kind) {
    case "template":
    case "oauth_connection":
    case "price":
      return !side.users.has(identity);
    case "provider":
      return !side.users.has(identity) || object.value["enabled"] === false;
    case "credential":
      return !side.users.has(identity) || !isActive(object);
    case "token":
    case "control_token":
      return !isAccepted(object, side.nowMs);
    case "webhook":
    case "mcp_server":
      return !isActive(object);
    default:
      return isCalled(object) && !isActive(object);
  }
}

const NOBODY: readonly ObjectRef[] = [];

/** Those that it is felt in, on either side. */
function usersOf(before: ConfigObject, after: ConfigObject, { from, to }: Sides): readonly ObjectRef[] {
  const [now, old] = [to.users.get(after.identity), from.users.get(before.identity)];
  if (old === undefined) return now ?? NOBODY;
  const all = [...(now ?? []), ...old];
  const known = new Set<string>();
  return all.filter((ref) => {
    const text = refText(ref);
    return known.has(text) ? false : known.add(text);
  });
}

export const refText = ({ kind, project, name }: ObjectRef): string => `${kind} ${project ?? ""}/${name}`;
