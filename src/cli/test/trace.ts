/** What happened to the call of a failed case, stage by stage: what `sluice explain` prints. */
import { shortPath } from "../../config-tests/reports/paths.ts";
import type { World } from "../../config-tests/world.ts";
import { explainResult } from "../../offline/explain/explain.ts";
import type { OfflineResult } from "../../offline/result.ts";
import type { CliIo } from "../command.ts";
import { explanationText } from "../explain/text.ts";
import { columnsOf, styleOf } from "../terminal.ts";

/** Spaces before the lines under a failed case. */
export const TRACE_INDENT = 2;

/** `isStyled`: for text on a terminal; other formats have plain lines. */
export function tracer(
  io: CliIo,
  isStyled: boolean,
): (result: OfflineResult, world: World) => readonly string[] {
  const style = styleOf(isStyled ? io : { ...io, isTerminal: false }, "stdout");
  const columns = columnsOf(io) - TRACE_INDENT;
  return (result, { offline, registry, shown }) => {
    const written = {
      placeOf: (path: readonly (string | number)[]) => shown?.originOf(path)?.at,
      placeText: ({ file, line, column }: { file: string; line: number; column: number }) =>
        `${shortPath(io.cwd, file)}:${line}:${column}`,
      writtenAt: (path: readonly (string | number)[]) =>
        shown?.referenceOf(path) ?? valueAt(shown?.config, path),
    };
    const explanation = explainResult(result, { offline, registry, written });
    if (explanation !== undefined)
      return explanationText(explanation, { style, columns }).trimEnd().split("\n");
    const { refusedAt = "request", status, error } = result;
    return [`${refusedAt}: ${status} ${error?.message ?? ""}`.trimEnd()];
  };
}

function valueAt(root: unknown, path: readonly (string | number)[]): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}
