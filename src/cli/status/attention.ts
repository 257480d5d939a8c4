/** What an operator should look at, from the overview of a gateway: the gravest first. */
import type { Diagnostic } from "../../config/report/diagnostic.ts";
import { renderText } from "../../config/report/render.ts";
import type { Overview } from "../../gateway/overview.ts";
import { printable } from "../terminal.ts";
import { agoText, counted, rateText, usdText } from "../units.ts";

export interface Attention {
  readonly level: "error" | "warning";
  readonly message: string;
  /** Lines as they are: code frames. */
  readonly detail?: string;
}

/** Of one kind; the rest is counted. */
const LISTED_MAX = 5;
/** Of all calls, from which on errors need attention. */
const ERROR_SHARE = 0.05;

/** How code frames are drawn. */
export interface FrameStyle {
  readonly isColored: boolean;
  /** Files below it are named from there. */
  readonly cwd: string;
}

export function attentionOf(seen: Overview, frames: FrameStyle): readonly Attention[] {
  const found = [
    ...healthOf(seen),
    ...reloadOf(seen, frames),
    ...loadOf(seen),
    ...listed(seen.circuits, seen.circuits.length, ["circuit", "circuits"], circuitText),
    ...listed(seen.budgets, seen.budgets_total, ["budget above 80 %", "budgets above 80 %"], budgetText),
    ...configOf(seen),
  ];
  return [
    ...found.filter(({ level }) => level === "error"),
    ...found.filter(({ level }) => level === "warning"),
  ];
}

function healthOf({ ready, draining, store }: Overview): readonly Attention[] {
  const found: Attention[] = [];
  if (draining)
    found.push({ level: "error", message: "the gateway is shutting down; new calls are refused" });
  else if (!ready)
    found.push({ level: "error", message: "the gateway is not ready: load balancers send it no calls" });
  if (!store.ok)
    found.push({ level: "error", message: `state store ${store.driver}: ${printable(store.detail)}` });
  return found;
}

function reloadOf(
  { last_reload: last, config, at }: Overview,
  { isColored, cwd }: FrameStyle,
): readonly Attention[] {
  if (last.ok) return [];
  const when = agoText(Date.parse(last.at), Date.parse(at));
  const diagnostics: Diagnostic[] = last.errors.map((one) => ({
    ...one,
    // Any code is printed as it is; one of a newer gateway is not known here.
    code: one.code as Diagnostic["code"],
    severity: "error",
    message: printable(one.message),
  }));
  return [
    {
      level: "error",
      message: `the reload ${when} was rejected; generation ${config.generation} stays in effect`,
      detail: renderText(diagnostics, isColored, cwd, { errors: last.omitted.errors, warnings: 0 }),
    },
  ];
}

function loadOf({ calls, traffic }: Overview): readonly Attention[] {
  const found: Attention[] = [];
  if (calls.shedding) found.push({ level: "error", message: "overloaded: new calls are answered 503" });
  const { calls_per_second: all, errors_per_second: errors } = traffic;
  if (errors > 0 && errors >= all * ERROR_SHARE) {
    const share = Math.round((errors / all) * 100);
    found.push({
      level: "warning",
      message: `${share} % of calls fail (${rateText(errors)}/s answered 5xx)`,
    });
  }
  return found;
}

function configOf({ config, overrides_known: areKnown }: Overview): readonly Attention[] {
  const found: Attention[] = [];
  const { needs_restart: sections } = config;
  if (sections.length > 0)
    found.push({ level: "warning", message: `a restart is needed for changes of ${sections.join(", ")}` });
  if (!areKnown)
    found.push({ level: "warning", message: "the state store does not say which overrides there are" });
  return found;
}

function circuitText({ provider, model, credential }: Overview["circuits"][number]): Attention {
  return {
    level: "warning",
    message: `circuit open: ${printable(`${provider}/${model}`)} (credential ${printable(credential)})`,
  };
}

function budgetText(budget: Overview["budgets"][number]): Attention {
  const { of, project, name, used_percent: percent, cap_usd: cap, reserved_usd: reserved } = budget;
  const what = `${of === "token" ? "token " : ""}${printable(`${project.name}/${name}`)}`;
  const open = reserved > 0 ? `, ${usdText(reserved)} of it reserved` : "";
  const message = `budget of ${what}: ${Math.floor(percent)} % of ${usdText(cap)} used${open}`;
  return { level: percent >= 100 ? "error" : "warning", message };
}

function listed<T>(
  items: readonly T[],
  total: number,
  [one, several]: readonly [one: string, several: string],
  show: (item: T) => Attention,
): readonly Attention[] {
  const shown = items.slice(0, LISTED_MAX).map(show);
  const more = total - shown.length;
  if (more <= 0) return shown;
  return [...shown, { level: "warning", message: counted(more, `more ${one}`, `more ${several}`) }];
}
