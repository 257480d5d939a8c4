/** Who is affected, as a running gateway knows it: calls, tokens and spend, changes made at run time, drift. */
import { objectName, type PlanDocument } from "../../plan/document.ts";
import { printable, type Style, table, wrap } from "../terminal.ts";

interface UsageOptions {
  readonly style: Style;
  readonly columns: number;
}

/** "" where there is nothing to say. */
export function usageText(document: PlanDocument, options: UsageOptions): string {
  return [callsText(document, options), overridesText(document, options), driftText(document, options)]
    .filter((block) => block !== "")
    .join("\n\n");
}

const number = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const usd = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 4 });

function callsText({ usage }: PlanDocument, { style }: UsageOptions): string {
  if (usage === undefined || usage.objects.length === 0) return "";
  const head = ["", "calls", "tokens in", "tokens out", `USD in ${usage.month}`].map(style.dim);
  const rows = usage.objects.map(
    ({ object, calls, prompt_tokens: input, completion_tokens: output, spend_usd: spend }) => [
      printable(objectName(object)),
      ...[calls, input, output].map((value) => number.format(value)),
      usd.format(spend),
    ],
  );
  const title = `${style.bold("who is affected")} ${style.dim(`(calls and tokens since ${usage.since})`)}`;
  return `${title}\n${table([head, ...rows], { indent: 2, right: [1, 2, 3, 4] })}`;
}

function overridesText({ overrides }: PlanDocument, { style, columns }: UsageOptions): string {
  if (overrides.length === 0) return "";
  const rows = overrides.map(({ object, change, actor, set_at: at, ends }) => [
    printable(objectName(object)),
    printable(`${change} by ${actor}, ${at.slice(0, 16).replace("T", " ")}`),
    ends ? style.yellow("ends with this plan") : "stays",
  ]);
  return `${style.bold("changed at run time")}\n${table(rows, { indent: 2, max: columns })}`;
}

function driftText({ drift, from }: PlanDocument, { style, columns }: UsageOptions): string {
  if (drift.length === 0) return "";
  const rows = drift.map(({ object, change, keys }) => [
    printable(objectName(object)),
    change,
    printable(keys.join(", ")),
  ]);
  const title = `${style.bold("drift")} ${style.dim(`(the gateway runs another configuration than ${printable(from.side)})`)}`;
  return `${wrap(title, columns)}\n${table(rows, { indent: 2, max: columns })}`;
}
