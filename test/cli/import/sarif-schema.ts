/**
 * The part of SARIF 2.1.0 (OASIS) that `sluice import` writes, as a schema of our own: required properties, allowed values and
 * nothing beyond them. Stricter than the standard's, which allows more properties.
 */
import type { JsonSchema } from "../../../src/plugin/chat.ts";

const text = { type: "string", minLength: 1 } as const;
const message = object({ text }, ["text"]);
const position = { type: "integer", minimum: 1 } as const;

function object(properties: object, required: readonly string[]): Exclude<JsonSchema, boolean> {
  return { type: "object", properties, required: [...required], additionalProperties: false };
}

const rule = object(
  {
    id: text,
    shortDescription: message,
    fullDescription: message,
    helpUri: { type: "string", format: "uri" },
  },
  ["id"],
);

const location = object(
  {
    physicalLocation: object(
      {
        artifactLocation: object({ uri: { type: "string", format: "uri-reference" } }, ["uri"]),
        region: object({ startLine: position, startColumn: position }, ["startLine"]),
      },
      ["artifactLocation"],
    ),
  },
  ["physicalLocation"],
);

const result: JsonSchema = {
  ...object(
    {
      ruleId: text,
      kind: { enum: ["notApplicable", "pass", "fail", "review", "open", "informational"] },
      level: { enum: ["none", "note", "warning", "error"] },
      message,
      locations: { type: "array", items: location },
    },
    ["message"],
  ),
  // SARIF 3.27.9 and 3.27.10: results that are not failures have no level.
  if: { properties: { kind: { const: "fail" } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { properties: { level: { not: { const: "none" } } } },
  else: { properties: { level: { const: "none" } } },
};

export const SARIF_SCHEMA: JsonSchema = object(
  {
    $schema: { type: "string", format: "uri" },
    version: { const: "2.1.0" },
    runs: {
      type: "array",
      items: object(
        {
          tool: object(
            {
              driver: object(
                {
                  name: text,
                  version: text,
                  semanticVersion: text,
                  rules: { type: "array", items: rule, uniqueItems: true },
                },
                ["name"],
              ),
            },
            ["driver"],
          ),
          results: { type: "array", items: result },
        },
        ["tool"],
      ),
    },
  },
  ["version", "runs"],
);
