/** Guardrail `patterns`: blocks or masks what regular expressions of the configuration find. */
import { block, defineGuardrail, type Edit, reject, replace } from "sluice/plugin";
import { PATTERN_CHARACTERS, patternFault, patternMatches } from "../text/keyword-patterns.ts";

interface Options {
  readonly patterns: Readonly<Record<string, string>>;
  readonly mode?: "block" | "mask";
  readonly replacement?: string;
  readonly case_sensitive?: boolean;
}

/** Judged in at most 5 ms. */
const SLICE_CHARACTERS = 1024;

export default defineGuardrail<Options>({
  name: "patterns",
  description: "Blocks or masks what regular expressions find.",
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["patterns"],
    properties: {
      patterns: {
        type: "object",
        minProperties: 1,
        maxProperties: 100,
        propertyNames: { minLength: 1, maxLength: 100 },
        additionalProperties: { type: "string", minLength: 1, maxLength: 500 },
        description:
          "Regular expressions by the name that messages show, in RE2's syntax: no look-around, no back-references. A match of up to 1,024 characters is found.",
      },
      mode: {
        enum: ["block", "mask"],
        default: "block",
        description: "block: refuse the call. mask: put the replacement in its place.",
      },
      replacement: {
        type: "string",
        maxLength: 200,
        description:
          "Text in place of a match in mask mode. Default: the pattern's name, as in [TICKET_NUMBER].",
      },
      case_sensitive: {
        type: "boolean",
        default: false,
        description: "Tell capital letters from small ones.",
      },
    },
  },
  examples: [
    { patterns: { "ticket number": "\\bTICKET-\\d{4,8}\\b" }, mode: "mask" },
    { patterns: { "employee id": "\\bE\\d{6}\\b" }, mode: "mask", replacement: "[ID]" },
  ],
  faults({ patterns, mode = "block", replacement }) {
    const unused = replacement !== undefined && mode === "block";
    const misplaced = unused ? [{ option: "replacement", message: "`replacement` needs `mode: mask`" }] : [];
    const broken = Object.entries(patterns).flatMap(([name, source]) => {
      const fault = patternFault(source);
      return fault === undefined ? [] : [{ option: "patterns", message: `pattern \`${name}\`: ${fault}` }];
    });
    return [...misplaced, ...broken];
  },
  setup({ patterns, mode = "block", replacement, case_sensitive = false }) {
    const matchesIn = patternMatches(patterns, !case_sensitive, mode === "block" ? 1 : undefined);
    return {
      window: PATTERN_CHARACTERS + 1,
      slice: SLICE_CHARACTERS,
      judge(text, about) {
        const begins = (about.offset ?? 0) === 0;
        const found = matchesIn({ text, begins, ends: !about.partial });
        const [first] = found;
        if (first === undefined) return undefined;
        if (mode === "block") {
          const code = about.side === "input" ? "pattern_blocked" : "answer_pattern_blocked";
          return block(reject(code, { name: first.name }), `pattern '${first.name}'`);
        }
        const edits: Edit[] = found.map(({ name, start, end }) => {
          return { start, end, text: replacement ?? maskOf(name) };
        });
        return replace(edits, [...new Set(found.map(({ name }) => name))].join(", "));
      },
    };
  },
});

/** `ticket number`: `[TICKET_NUMBER]`. */
function maskOf(name: string): string {
  return `[${name.toUpperCase().replace(/[^\p{L}\p{N}]{1,100}/gu, "_")}]`;
}
