/** A run as GitHub's workflow commands: each failure becomes an annotation at its line of the pull request. */

import type { SourcePlace } from "../../config/model.ts";
import { githubProperty, githubText } from "../../config/report/render.ts";
import {
  failureText,
  mutationsOf,
  type RunResults,
  summaryText,
  survivorText,
  uncoveredText,
} from "../results.ts";
import { shortPath } from "./paths.ts";

export function renderGithubReport(results: RunResults, cwd: string): string {
  const command = (
    level: "error" | "warning",
    { file, line, column }: SourcePlace,
    title: string,
    message: string,
  ) =>
    `::${level} file=${githubProperty(shortPath(cwd, file))},line=${line},col=${column},title=${githubProperty(title)}::${githubText(message)}`;
  const lines = results.cases.flatMap(({ name, failures }) =>
    failures.map((failure) => command("error", failure.place, name, failureText(failure))),
  );
  for (const one of results.coverage?.uncovered ?? [])
    lines.push(command("warning", one.place, "uncovered protection", uncoveredText(one)));
  for (const one of mutationsOf(results)?.survived ?? [])
    lines.push(command("error", one.place, "untested protection", survivorText(one)));
  return [...lines, summaryText(results)].map((line) => `${line}\n`).join("");
}
