/** Judges objects that only one side has. */
import type { Draft, Sides } from "./draft.ts";
import { newHostText } from "./fields/address.ts";
import { hostsOf } from "./hosts.ts";
import { isIdle } from "./judge-changed.ts";
import { priceDirection } from "./money.ts";
import type { ConfigObject, ObjectKind, ObjectRef } from "./objects.ts";
import { isActive, isCalled } from "./prepared-side.ts";
import type { Risk, RuleId } from "./rules.ts";

/** How kinds are called in sentences. */
export const KIND_NAMES: Readonly<Record<ObjectKind, string>> = {
  gateway: "Section",
  provider: "Provider",
  price: "Price of",
  plugin: "Plugin",
  control_token: "Control-plane token",
  project: "Project",
  endpoint_defaults: "Endpoint defaults of",
  credential: "Credential",
  template: "Provider template",
  token: "Token",
  endpoint: "Endpoint",
  alias: "Alias",
  proxy_endpoint: "Proxy endpoint",
  oauth_connection: "OAuth connection",
  mcp_server: "MCP server",
  webhook: "Webhook",
};

export const nameText = ({ kind, name }: ObjectRef): string => `${KIND_NAMES[kind]} \`${name}\``;

export function addedFindings(object: ConfigObject, sides: Sides): readonly Draft[] {
  const { ref } = object;
  if (ref.kind === "price" && !isIdle(object, sides.to)) return priceFindings(object, "add", sides);
  const isToken = ref.kind === "token" || ref.kind === "control_token";
  const idle = isIdle(object, sides.to);
  const rule: RuleId = isToken && !idle ? "P202" : ref.kind === "plugin" ? "P401" : "P502";
  const effect = ADDED[rule === "P502" && isToken ? "inactive" : ref.kind];
  const message = `${nameText(ref)} is added${effect === undefined ? "" : `: ${effect}`}.`;
  const known = new Set<string>();
  const hosts = hostsOf(object, sides.to).filter(({ host }) => {
    if (sides.from.hosts.has(host) || known.has(host)) return false;
    known.add(host);
    return true;
  });
  return [
    draft(object, "add", { rule, message }),
    ...hosts.map((host): Draft => {
      const found = draft(object, "add", {
        rule: "P203",
        message: `${nameText(ref)} is added: ${newHostText(host)}.`,
      });
      return { ...found, after: host.host, toPath: host.path };
    }),
  ];
}

const ADDED: Readonly<Record<string, string>> = {
  token: "its bearer is admitted",
  control_token: "its bearer may administer the gateway",
  plugin: "its code runs in the gateway",
  inactive: "it is inactive or expired",
};

const REMOVED: Partial<Record<ObjectKind, readonly [rule: RuleId, effect: string, whenIdle: RuleId]>> = {
  project: ["P101", "its clients get 404", "P101"],
  endpoint: ["P101", "its calls get 404", "P101"],
  alias: ["P101", "calls that name it get 404", "P101"],
  proxy_endpoint: ["P101", "its calls get 404", "P101"],
  token: ["P104", "its bearer gets 401", "P104"],
  control_token: ["P104", "its bearer gets 401", "P104"],
  mcp_server: ["P106", "its tools are no longer offered", "P106"],
  webhook: ["P202", "its receiver is told nothing", "P501"],
  plugin: ["P401", "its code no longer runs", "P401"],
};

export function removedFindings(object: ConfigObject, sides: Sides): readonly Draft[] {
  const { ref, projectUuid } = object;
  // One that went with its project is told by the project.
  if (ref.kind !== "project" && projectUuid !== null && !sides.to.byIdentity.has(`project/${projectUuid}`))
    return [];
  if (ref.kind === "price" && !isIdle(object, sides.from)) return priceFindings(object, "remove", sides);
  const [rule, effect, whenIdle] = REMOVED[ref.kind] ?? ["P501", "it was not in use", "P501"];
  const callers = ref.kind === "project" ? activeCalls(projectUuid, sides) : [];
  const idle = ref.kind === "project" ? callers.length === 0 : isIdle(object, sides.from);
  const text = idle ? (isActive(object) ? "it was not in use" : "it was inactive") : effect;
  const message = `${nameText(ref)} is removed: ${text}.`;
  const found = draft(object, "remove", idle ? { rule: whenIdle, message, risk: "safe" } : { rule, message });
  return [{ ...found, reaches: callers }];
}

/** Against the price that holds where the configuration has none. */
function priceFindings(
  object: ConfigObject,
  action: "add" | "remove",
  { from, to }: Sides,
): readonly Draft[] {
  const { ref, value, identity } = object;
  const model = { provider: String(value["provider"]), model: String(value["model"]) };
  const { stricter, weaker } = priceDirection(from, to, model);
  const reaches = (action === "add" ? to : from).users.get(identity) ?? [];
  const told = (rule: RuleId, effect: string): Draft => {
    const message = `${nameText(ref)} is ${action === "add" ? "added" : "removed"}: ${effect}.`;
    return { ...draft(object, action, { rule, message }), reaches };
  };
  const findings = [
    ...(stricter ? [told("P401", "calls count for more, and budgets end sooner")] : []),
    ...(weaker ? [told("P301", "calls count for less, and budgets last longer")] : []),
  ];
  return findings.length > 0
    ? findings
    : [told(action === "add" ? "P502" : "P501", "it is the price that held before")];
}

function activeCalls(projectUuid: string | null, { from }: Sides): readonly ObjectRef[] {
  return from.objects
    .filter((object) => object.projectUuid === projectUuid && isCalled(object) && isActive(object))
    .map(({ ref }) => ref);
}

interface Whole {
  readonly rule: RuleId;
  readonly message: string;
  readonly risk?: Risk;
}

function draft(object: ConfigObject, action: "add" | "remove", whole: Whole): Draft {
  const isAdded = action === "add";
  return {
    ...{ ...whole, action, fromPath: [], toPath: [], reaches: [] },
    before: isAdded ? undefined : object.value,
    after: isAdded ? object.value : undefined,
    was: isAdded ? undefined : object,
    is: isAdded ? object : undefined,
  };
}
