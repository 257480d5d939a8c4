/**
 * Of the faults that a choice between shapes (anyOf, oneOf) brings, keeps those of the shape that was meant. Without
 * this, one wrong value would be reported once for every shape it is not.
 */
import type { SchemaFault } from "../../base/json-schema.ts";

/** The faults without those of shapes that were not meant. Order is kept. */
export function meantFaults(faults: readonly SchemaFault[]): readonly SchemaFault[] {
  const dropped = new Set<SchemaFault>();
  const choices = faults.filter(({ keyword }) => keyword === "oneOf" || keyword === "anyOf");
  choices.sort((a, b) => a.schemaPath.length - b.schemaPath.length);
  for (const choice of choices) {
    if (dropped.has(choice) || choice.params["passingSchemas"] != null) continue;
    const branches = branchesOf(choice, faults);
    const meant = branches.filter((branch) => !branch.some((fault) => isOtherShape(fault, choice)));
    meant.sort((a, b) => a.length - b.length);
    const [best] = meant;
    if (best !== undefined) dropped.add(choice);
    for (const branch of branches) {
      if (branch !== best) for (const fault of branch) dropped.add(fault);
    }
  }
  return faults.filter((fault) => !dropped.has(fault) && fault.keyword !== "if");
}

function branchesOf(choice: SchemaFault, faults: readonly SchemaFault[]): SchemaFault[][] {
  const branches = new Map<string, SchemaFault[]>();
  const prefix = `${choice.schemaPath}/`;
  for (const fault of faults) {
    if (!fault.schemaPath.startsWith(prefix)) continue;
    const index = fault.schemaPath.slice(prefix.length).split("/", 1)[0] ?? "";
    const branch = branches.get(index) ?? [];
    branches.set(index, branch);
    branch.push(fault);
  }
  return [...branches.values()];
}

/** True when the fault shows that another shape was meant: another type, or another value of the key that distinguishes them. */
function isOtherShape(fault: SchemaFault, choice: SchemaFault): boolean {
  const depth = fault.path.length - choice.path.length;
  if (depth === 0) return fault.keyword === "type";
  return depth === 1 && (fault.keyword === "const" || fault.keyword === "enum");
}
