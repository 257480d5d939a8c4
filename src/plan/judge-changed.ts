/** Judges an object that both sides have, key by key. */
import type { ObjectChange } from "./changes.ts";
import type { Draft, Sides } from "./draft.ts";
import { type ObjectPair, sentence } from "./fields/field.ts";
import { fieldOf } from "./fields/fields.ts";
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
    const keyChange = { name: key, before: was, after: is, fromPath: [key], toPath: [key], pair };
    for (const found of fieldOf(after, key)(keyChange)) {
      const whole = { ...found, action: "change" as const, was: before, is: after, reaches };
      const message = sentence({ ...found, name: key }, "it is not in use");
      drafts.push(idle && found.rule !== "P501" ? { ...whole, rule: "P501", message } : whole);
      if (idle) break;
    }
  }
  return drafts;
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

/** Those that it is felt in, on either side. */
function usersOf(before: ConfigObject, after: ConfigObject, { from, to }: Sides): readonly ObjectRef[] {
  const all = [...(to.users.get(after.identity) ?? []), ...(from.users.get(before.identity) ?? [])];
  const known = new Set<string>();
  return all.filter((ref) => {
    const text = refText(ref);
    return known.has(text) ? false : known.add(text);
  });
}

export const refText = ({ kind, project, name }: ObjectRef): string => `${kind} ${project ?? ""}/${name}`;
