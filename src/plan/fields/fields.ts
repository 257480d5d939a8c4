/** All tables of keys, by the kind of object. A test holds them to the configuration's schema. */
import type { ConfigObject } from "../objects.ts";
import { ENDPOINT_FIELDS } from "./endpoint-fields.ts";
import { type Field, type Fields, unknownKey } from "./field.ts";
import { GATEWAY_FIELDS, SECTION_FIELDS } from "./gateway-fields.ts";
import { PROJECT_FIELDS } from "./project-fields.ts";

const FIELDS = { ...GATEWAY_FIELDS, ...PROJECT_FIELDS, ...ENDPOINT_FIELDS };

export function fieldsOf({ ref: { kind, name } }: Pick<ConfigObject, "ref">): Fields {
  if (kind === "gateway") return SECTION_FIELDS[name] ?? {};
  // What the values of a project's `endpoint_defaults` mean is what they mean to its endpoints.
  return FIELDS[kind === "endpoint_defaults" ? "endpoint" : kind];
}

export function fieldOf(object: Pick<ConfigObject, "ref">, key: string): Field {
  const fields = fieldsOf(object);
  return (Object.hasOwn(fields, key) ? fields[key] : undefined) ?? unknownKey;
}
