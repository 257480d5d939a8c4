/** Keys that say where the gateway connects to: a host that was not talked to before is a rule of its own. */

import { type Host, hostsOf } from "../hosts.ts";
import type { RuleId } from "../rules.ts";
import type { ObjectPair } from "./field.ts";
import { changeText, type Field, finding } from "./field.ts";

/** A new host is P203, and any other change is `rule`. */
export function address(rule: RuleId, effect?: string): Field {
  return (change) => {
    const { name, before, after, pair, toPath } = change;
    const key = String(toPath[0]);
    const [host] = newHosts(pair).filter((one) => responsibleKey(one, pair) === key);
    const text = changeText(name, before, after);
    if (host !== undefined) return [finding(change, "P203", `${text}: ${newHostText(host)}.`)];
    return [finding(change, rule, `${text}${effect === undefined ? "" : `: ${effect}`}.`)];
  };
}

export function newHosts({ after, from, to }: Pick<ObjectPair, "after" | "from" | "to">): readonly Host[] {
  return hostsOf(after, to).filter(({ host }) => !from.hosts.has(host));
}

export function newHostText({ host }: Host): string {
  return host.startsWith("unknown host ")
    ? `${host}, which the configuration did not name before`
    : `\`${host}\` is a host that the configuration did not talk to before`;
}

/** Of the keys that a host may come from, the first that differs. */
function responsibleKey({ keys }: Host, { before, after }: ObjectPair): string | undefined {
  return keys.find((key) => JSON.stringify(before.value[key]) !== JSON.stringify(after.value[key]));
}
