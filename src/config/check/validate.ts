/**
 * Validates a tree against a schema: reports every fault once, and removes faulty values from the tree, so that what comes
 * after sees only values of the right shape and reports no mistake a second time.
 */
import { createHash } from "node:crypto";
import type { JsonPath, SchemaFault, SchemaRefusal } from "../../base/json-schema.ts";
import { linearPattern } from "../../base/linear-pattern.ts";
import type { JsonSchema } from "../../plugin/chat.ts";
import { isPlainMap, type Key, type Spot, type Tree } from "../read/tree.ts";
import type { Reporter } from "../report/diagnostic.ts";
import { explain } from "../report/explain.ts";
import { meantFaults } from "../report/meant.ts";
import { type Author, rulesOf } from "../schema/rules.ts";

export interface Validation {
  readonly tree: Tree;
  readonly reporter: Reporter;
  /** False: a part could not be read, so that missing values may be there. */
  readonly isWhole: boolean;
  /** Other known keys, for suggestions. */
  readonly alsoKnown?: ReadonlySet<string>;
  /** Who wrote the schema. Default: the gateway. */
  readonly author?: Author;
}

/**
 * Validates `root`, the map or list at `parent`, and repairs it in place. Returns a refusal when the schema itself
 * cannot be used.
 */
export function validateTree(
  root: object,
  schema: JsonSchema,
  parent: Spot | undefined,
  validation: Validation,
): SchemaRefusal | undefined {
  const rules = rulesOf(schema, validation.author);
  if (!rules.ok) return rules;
  let faults = rules.faultsOf(root);
  if (faults.length > 0 && adapt(faults, root, validation.tree)) faults = rules.faultsOf(root);
  const repairs: (() => void)[] = [];
  const explained = new Set<string>();
  for (const fault of meantFaults(faults)) {
    const place = spotAt(root, fault.path, parent);
    if (place === undefined) continue;
    const inner = fault.params["additionalProperty"] ?? fault.params["missingProperty"] ?? "";
    const identity = JSON.stringify([fault.path, inner]);
    if (explained.has(identity)) continue;
    explained.add(identity);
    const repair = judge(fault, place, validation);
    if (repair !== undefined) repairs.push(repair);
  }
  for (const repair of repairs) repair();
  return undefined;
}

interface Place {
  readonly spot: Spot;
  readonly value: unknown;
}

/** Reports a fault unless it proves to be none; returns a function that removes it from the tree. */
function judge(fault: SchemaFault, { spot, value }: Place, validation: Validation): (() => void) | undefined {
  const { tree, isWhole } = validation;
  const { missingProperty, additionalProperty } = fault.params;
  if (typeof missingProperty === "string" && isPlainMap(value)) {
    const known = tree.isFaulty(value, missingProperty);
    if (!known && isWhole) explain(fault, spot, value, validation);
    return () => tree.markFault(value, missingProperty);
  }
  if (typeof additionalProperty === "string" && isPlainMap(value)) {
    explain(fault, spot, value, validation);
    return () => remove(value, additionalProperty);
  }
  if (tree.isFaulty(spot.container, spot.key)) return undefined;
  // An empty section, a key with nothing after it, is a section left out.
  const isSection = typeof spot.key === "string" && fault.keyword === "type" && takesContainer(fault);
  if (value === null && isSection) return () => remove(spot.container, spot.key);
  explain(fault, spot, value, validation);
  return () => {
    tree.markFault(spot.container, spot.key);
    remove(spot.container, spot.key);
  };
}

function takesContainer({ params, schema }: SchemaFault): boolean {
  const type = params["type"] ?? schema["type"];
  return (Array.isArray(type) ? type : [type]).every((name) => name === "array" || name === "object");
}

/**
 * Turns texts that came from references into the numbers and booleans that their keys take, and stand-ins into values
 * that pass. True when anything changed.
 */
function adapt(faults: readonly SchemaFault[], root: object, tree: Tree): boolean {
  let changed = false;
  for (const fault of faults) {
    const place = spotAt(root, fault.path, undefined);
    if (place === undefined || typeof place.value !== "string") continue;
    const { container, key } = place.spot;
    const reference = tree.reference(container, key);
    if (reference === undefined) continue;
    const value = reference.isPlaceholder
      ? standIn(fault.schema, reference.text)
      : literal(place.value, fault.schema);
    if (value === undefined) continue;
    put(container, key, value);
    changed = true;
  }
  return changed;
}

function literal(text: string, schema: SchemaFault["schema"]): unknown {
  const types: readonly unknown[] = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]];
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  const isNumeric = types.includes("number") || types.includes("integer");
  if (isNumeric && !types.includes("string") && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  return types.includes("null") && text === "" ? null : undefined;
}

/** A valid value for a key, for a reference that counts as given. */
function standIn(schema: SchemaFault["schema"], reference: string): unknown {
  const { enum: values, minimum, type } = schema;
  if (Array.isArray(values)) return values[0];
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (types.includes("boolean")) return false;
  if (types.includes("number") || types.includes("integer")) return typeof minimum === "number" ? minimum : 1;
  if (!types.includes("string")) return types.includes("array") ? [] : {};
  const digest = createHash("sha256").update(reference).digest("hex");
  const uuid = digest.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, "$1-$2-$3-$4-$5");
  const candidates = [`sha256:${digest}`, uuid, "https://placeholder.invalid", "placeholder", "2999-01-01"];
  const { pattern } = schema;
  if (typeof pattern !== "string") return candidates[0];
  const { test } = linearPattern(pattern);
  return candidates.find((candidate) => test(candidate));
}

/** The spot and value at a path, or undefined when it is not there any more. */
export function spotAt(root: object, path: JsonPath, parent: Spot | undefined): Place | undefined {
  if (path.length === 0)
    return parent === undefined
      ? { spot: { container: root, key: "", parent }, value: root }
      : { spot: parent, value: root };
  let container: unknown = root;
  let spot = parent;
  for (const segment of path) {
    if (typeof container !== "object" || container === null) return undefined;
    const key: Key = Array.isArray(container) ? Number(segment) : String(segment);
    spot = { container, key, parent: spot };
    container = Reflect.get(container, key);
  }
  return spot === undefined ? undefined : { spot, value: container };
}

/** A list keeps its other items where they are. */
function remove(container: object, key: Key): void {
  if (Array.isArray(container)) put(container, key, null);
  else Reflect.deleteProperty(container, key);
}

function put(container: object, key: Key, value: unknown): void {
  Reflect.set(container, key, value);
}
