/** Guardrail `patterns`: blocks or masks what regular expressions of the configuration find. */
import { defineGuardrail, reject } from "sluice/plugin";
import { modeOption, verdictOnFindings } from "../text/findings.ts";
import {
  CASE_SENSITIVE_OPTION,
  PATTERN_CHARACTERS,
  patternErrors,
  patternMatches,
  patternsOption,
} from "../text/named-patterns.ts";

/** Judged in at most 5 ms. */
const SLICE_CHARACTERS = 1024;

export default defineGuardrail({
  name: "patterns",
  description: "Blocks or masks what regular expressions find.",
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["patterns"],
    properties: {
      patterns: { ...patternsOption("A match of up to 1,024 characters is found."), minProperties: 1 },
      mode: modeOption("put the replacement in its place."),
      replacement: {
        type: "string",
        maxLength: 200,
        description:
          "Text in place of a match in mask mode. Default: the pattern's name, as in [TICKET_NUMBER].",
      },
      case_sensitive: CASE_SENSITIVE_OPTION,
    },
  },
  examples: [
    { patterns: { "ticket number": "\\bTICKET-\\d{4,8}\\b" }, mode: "mask" },
    { patterns: { "employee id": "\\bE\\d{6}\\b" }, mode: "mask", replacement: "[ID]" },
  ],
  validateOptions({ patterns, mode, replacement }) {
    const unused = replacement !== undefined && mode === "block";
    const misplaced = unused ? [{ option: "replacement", message: "`replacement` needs `mode: mask`" }] : [];
    return [...misplaced, ...patternErrors(patterns)];
  },
  strength: { patterns: "more", mode: ["mask", "block"], replacement: "neutral", case_sensitive: "less" },
  setup({ patterns, mode, replacement, case_sensitive }) {
    const matchesIn = patternMatches(patterns, !case_sensitive, mode === "block" ? 1 : undefined);
    return {
      window: PATTERN_CHARACTERS + 1,
      slice: SLICE_CHARACTERS,
      judge(text, about) {
        const begins = (about.offset ?? 0) === 0;
        return verdictOnFindings(matchesIn({ text, begins, ends: !about.partial }), {
          mode,
          refusal: ({ name }) => {
            const code = about.side === "input" ? "pattern_blocked" : "answer_pattern_blocked";
            return { error: reject(code, { name }), reason: `pattern '${name}'` };
          },
          mask: ({ name }) => replacement ?? maskOf(name),
        });
      },
    };
  },
});

/** `ticket number`: `[TICKET_NUMBER]`. */
function maskOf(name: string): string {
  return `[${name.toUpperCase().replace(/[^\p{L}\p{N}]{1,100}/gu, "_")}]`;
}
