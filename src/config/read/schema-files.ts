/** `{$ref: ./schemas/order.json}`: a JSON Schema in a separate file, which replaces the reference. */
import { dirname, resolve } from "node:path";
import { load, type PartReader } from "./merge.ts";
import { OUTSIDE_HELP } from "./root.ts";
import { Source } from "./source.ts";
import { isPlainMap, type PlainMap, type Spot } from "./tree.ts";

const SCHEMA_KEYS = ["input_schema", "output_schema"];

/** Reads every schema file that endpoints and their defaults name, in place. */
export function attachSchemaFiles(root: PlainMap, reader: PartReader): void {
  const { projects } = root;
  if (!Array.isArray(projects)) return;
  for (const [index, project] of projects.entries()) {
    if (!isPlainMap(project)) continue;
    const spot: Spot = {
      container: projects,
      key: index,
      parent: { container: root, key: "projects", parent: undefined },
    };
    attach(
      project["endpoint_defaults"],
      { container: project, key: "endpoint_defaults", parent: spot },
      reader,
    );
    const { endpoints } = project;
    if (!Array.isArray(endpoints)) continue;
    const parent: Spot = { container: project, key: "endpoints", parent: spot };
    for (const [key, endpoint] of endpoints.entries())
      attach(endpoint, { container: endpoints, key, parent }, reader);
  }
}

function attach(endpoint: unknown, parent: Spot, reader: PartReader): void {
  if (!isPlainMap(endpoint)) return;
  for (const key of SCHEMA_KEYS) {
    const schema = endpoint[key];
    const path = isPlainMap(schema) ? filePath(schema) : undefined;
    if (!isPlainMap(schema) || path === undefined) continue;
    const spot: Spot = { container: schema, key: "$ref", parent: { container: endpoint, key, parent } };
    const read = readSchema(path, spot, reader);
    if (read !== undefined) {
      endpoint[key] = read.schema;
    } else {
      delete endpoint[key];
      reader.tree.markFault(endpoint, key);
    }
  }
}

/** `#/…` points into the schema itself and an address leads nowhere: the schema's compiler judges both. */
function filePath(schema: PlainMap): string | undefined {
  const { $ref: reference } = schema;
  if (typeof reference !== "string" || Object.keys(schema).length > 1) return undefined;
  return reference.startsWith("#") || /^[a-z][a-z0-9+.-]+:/i.test(reference) ? undefined : reference;
}

function readSchema(path: string, spot: Spot, reader: PartReader): { readonly schema: unknown } | undefined {
  const { tree, sources, reporter } = reader;
  const owner = tree.valueRange(spot)?.source;
  if (owner === undefined || tree.reference(spot.container, spot.key)?.isPlaceholder === true)
    return undefined;
  if (!reader.allowed.allowsFile(owner, path, spot, sources.root)) {
    const message = `this file may not refer to \`${path}\`: its include allows ${reader.allowed.describe(owner)}`;
    reporter.report("E0205", spot, message, { help: "extend `secrets.allow` of the include" });
    return undefined;
  }
  const absolute = resolve(dirname(owner.path), path);
  const source = sources.read(absolute);
  if (source instanceof Source) {
    const file = load(absolute, { ...reader, state: { isWhole: true } });
    return file === undefined ? undefined : { schema: file.plain() };
  }
  const code = source.isOutside ? "E0011" : "E0202";
  const help = source.isOutside ? OUTSIDE_HELP : "paths are relative to this file";
  reporter.report(code, spot, `schema file \`${path}\` ${source.unreadable}`, { help });
  return undefined;
}
