/** A starter file's text: a line for each key of a case. */
import { stringify } from "yaml";
import type { PlainMap } from "../../config/read/tree.ts";

export interface StarterHead {
  /** As the file names it; undefined: the nearest above is meant. */
  readonly config: string | undefined;
  readonly overlays: readonly string[];
}

const INTRODUCTION = `# Test cases of the configuration: what each call must do. Run them with: sluice test
# Editors complete and check this file: sluice schema --for test > gateway.test.schema.json
# yaml-language-server: $schema=./gateway.test.schema.json
`;

export function starterText(cases: readonly PlainMap[], { config, overlays }: StarterHead): string {
  const head = [
    ...(config === undefined ? [] : [`config: ${flow(config)}\n`]),
    ...(overlays.length === 0 ? [] : [`overlays: ${flow(overlays)}\n`]),
  ];
  const tests = cases.map((test) => {
    const [first, ...others] = Object.entries(test).map(([key, value]) => `${key}: ${flow(value)}`);
    return `  - ${first ?? ""}\n${others.map((line) => `    ${line}\n`).join("")}`;
  });
  return `${INTRODUCTION}${head.join("")}tests:\n${tests.join("\n")}`;
}

/** On one line, whatever its length. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value !== "object" || value === null) return scalar(value);
  const entries = Object.entries(value).map(([key, item]) => `${scalar(key)}: ${flow(item)}`);
  return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
}

/** Quoted where a flow collection asks for it. */
function scalar(value: unknown): string {
  const options = { collectionStyle: "flow", flowCollectionPadding: false, lineWidth: 0 } as const;
  return stringify([value], options).trimEnd().slice(1, -1);
}
