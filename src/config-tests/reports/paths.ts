/** Paths of reports: relative to the working directory where they are below it. */
import { relative } from "node:path";
import type { SourcePlace } from "../../config/model.ts";

export function shortPath(cwd: string, file: string): string {
  const path = relative(cwd, file);
  return path === "" || path.startsWith("..") ? file : path;
}

/** `file:line:column`. */
export function placeText(cwd: string, { file, line, column }: SourcePlace): string {
  return `${shortPath(cwd, file)}:${line}:${column}`;
}
