/** A run in TAP, version 14: a line for each case, and for a failed one its details as YAML. */
import { stringify } from "yaml";
import { mutationsOf, type RunResults, summaryText, survivorText, uncoveredText } from "../results.ts";
import { placeText } from "./paths.ts";

export function renderTap(results: RunResults, cwd: string): string {
  const points: Point[] = results.cases.map(({ name, place, failures, trace }) => {
    const details = {
      at: placeText(cwd, place),
      failures: failures.map(({ path, place: at, expected, actual, message }) => ({
        ...{ path, at: placeText(cwd, at) },
        ...(message === undefined ? { expected: expected ?? null, actual: actual ?? null } : { message }),
      })),
      trace,
    };
    return { name, details: failures.length === 0 ? undefined : details };
  });
  for (const one of results.coverage?.uncovered ?? [])
    points.push(protection(uncoveredText(one), placeText(cwd, one.place)));
  for (const one of mutationsOf(results)?.survived ?? [])
    points.push(protection(survivorText(one), placeText(cwd, one.place)));
  const lines = points.map(({ name, details }, index) => {
    const head = `${details === undefined ? "ok" : "not ok"} ${index + 1} - ${described(name)}\n`;
    return details === undefined ? head : `${head}${block(details)}`;
  });
  return `TAP version 14\n1..${points.length}\n${lines.join("")}# ${summaryText(results)}\n`;
}

interface Details {
  readonly at: string;
  readonly failures: readonly object[];
  readonly trace: readonly string[];
}

interface Point {
  readonly name: string;
  readonly details: Details | undefined;
}

function protection(name: string, at: string): Point {
  return { name, details: { at, failures: [{ path: "", at, message: name }], trace: [] } };
}

/** A description is one line; `#` would begin a directive. */
function described(text: string): string {
  return text.replace(/\s+/g, " ").replaceAll("\\", "\\\\").replaceAll("#", "\\#");
}

function block(details: Details): string {
  const yaml = stringify(details, { lineWidth: 0 }).trimEnd().split("\n");
  return ["---", ...yaml, "..."].map((line) => `  ${line}\n`).join("");
}
