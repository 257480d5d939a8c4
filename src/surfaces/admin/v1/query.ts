/** Query parameters of the admin API: read and checked by the schemas that describe them. */
import { type GatewayError, isGatewayError, reject } from "../../../plugin/index.ts";

/** What a parameter holds, and how it is checked. */
export interface Parameter {
  readonly type: "string" | "integer";
  readonly description: string;
  readonly enum?: readonly string[];
  readonly format?: "date-time";
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}

export type Parameters = Readonly<Record<string, Parameter>>;

/** The values of those that were given or have a default. */
export type QueryOf<P extends Parameters> = {
  readonly [K in keyof P]?: P[K] extends { readonly type: "integer" } ? number : string;
};

const TEXT_CHARACTERS_MAX = 500;

export function queryOf(
  url: string,
  parameters: Parameters,
): Readonly<Record<string, string | number>> | GatewayError {
  const mark = url.indexOf("?");
  const given = new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1));
  const values: Record<string, string | number> = {};
  for (const [name, { default: value }] of Object.entries(parameters))
    if (value !== undefined) values[name] = value;
  for (const [name, text] of given) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (parameter === undefined) {
      const expected = `one of ${Object.keys(parameters).join(", ") || "no parameters"}`;
      return reject("invalid_field", { field: name.slice(0, 100), expected });
    }
    if (text === "") continue;
    const value = checkedValue(name, text, parameter);
    if (isGatewayError(value)) return value;
    values[name] = value;
  }
  return values;
}

function checkedValue(field: string, text: string, parameter: Parameter): string | number | GatewayError {
  const { type, enum: choices, format, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = parameter;
  if (type === "integer") {
    const value = Number(text);
    if (/^\d{1,16}$/.test(text) && value >= minimum && value <= maximum) return value;
    return reject("invalid_field", { field, expected: `an integer from ${minimum} to ${maximum}` });
  }
  if (choices !== undefined && !choices.includes(text))
    return reject("invalid_field", { field, expected: `one of ${choices.join(", ")}` });
  if (format === "date-time" && !isMoment(text))
    return reject("invalid_field", { field, expected: "a date and time such as 2026-11-22T10:00:00Z" });
  if (text.length > TEXT_CHARACTERS_MAX)
    return reject("invalid_field", {
      field,
      expected: `a text of at most ${TEXT_CHARACTERS_MAX} characters`,
    });
  return text;
}

function isMoment(text: string): boolean {
  return (
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/.test(text) &&
    !Number.isNaN(Date.parse(text))
  );
}

export const limit = {
  type: "integer",
  description: "Entries of the page.",
  ...{ minimum: 1, maximum: 1000, default: 100 },
} as const;

export const cursor = { type: "string", description: "`next` of the page before." } as const;
export const projectUuid = { type: "string", description: "UUID of a project." } as const;
