/** Guardrail `pii`: refuses text with personal data in it, or puts masks such as `[EMAIL]` in its place. */
import { defineGuardrail, reject } from "sluice/plugin";
import { kindsOption, modeOption, verdictOnFindings } from "../text/findings.ts";
import { KIND_WORDS, PII_KINDS } from "./kinds.ts";
import { isRegion } from "./phone-regions.ts";
import { findPii, piiSearch } from "./scan.ts";

/** Characters after a match in which it may yet grow: a separator and another group, ` ext. 12`. */
const GROWTH_CHARACTERS = 20;
/** Judged in at most 5 ms: a text of only numbers takes 0.3 us a character. */
const SLICE_CHARACTERS = 8192;
/** Characters before a match in which words may identify it. */
const CONTEXT_CHARACTERS = 64;

export default defineGuardrail({
  name: "pii",
  description:
    "Blocks or masks e-mail addresses, phone, card and social security numbers, IBANs and IP addresses.",
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      mode: modeOption("put [EMAIL], [PHONE], … in its place and go on."),
      kinds: kindsOption(PII_KINDS),
      regions: {
        type: "array",
        minItems: 1,
        maxItems: 60,
        uniqueItems: true,
        items: { type: "string", pattern: "^[A-Z]{2}$" },
        description:
          "Regions (ISO 3166-1, two letters) whose national telephone numbers are looked for, also without a word that announces them. Default: those of 61 regions, where words or their form announce them. International numbers are always found.",
      },
      restore: {
        type: "boolean",
        default: false,
        description:
          "Number the masks of the input, and where the answer says one, show the client what it stands for. Log, store and conversations keep the masks; those of earlier turns stay masks.",
      },
    },
  },
  examples: [
    {},
    { mode: "mask", kinds: ["email", "credit_card"] },
    { mode: "mask", restore: true },
    { regions: ["DE", "GB"] },
  ],
  validateOptions({ mode, restore, regions = [] }, { on }) {
    const unknown = regions.filter((region) => !isRegion(region));
    if (unknown.length > 0) {
      return [{ option: "regions", message: `${unknown.join(", ")}: not a region with a numbering plan` }];
    }
    if (!restore) return [];
    if (mode === "block") return [{ option: "restore", message: "`restore` needs `mode: mask`" }];
    return on.includes("input")
      ? []
      : [{ option: "restore", message: "`restore` is for masks of the input, and `on` has no `input`" }];
  },
  // Regions that are named are searched without words that announce a number: they differ from the default both ways.
  strength: { mode: ["mask", "block"], kinds: "more", regions: "more", restore: "less" },
  setup({ mode, kinds, restore, regions }) {
    const search = piiSearch(kinds, regions);
    const longest = Math.max(CONTEXT_CHARACTERS, ...kinds.map((kind) => KIND_WORDS[kind].charactersMax));
    return {
      window: longest + GROWTH_CHARACTERS,
      slice: SLICE_CHARACTERS,
      judge(text, about) {
        const found = findPii(text, search);
        // On a stream a match at the end may still grow; the window holds it back until it cannot.
        const settled = about.partial ? text.length - GROWTH_CHARACTERS : text.length;
        const certain = found.filter(({ end }) => end <= settled);
        return verdictOnFindings(certain, {
          mode,
          refusal: ({ name }) => {
            const code = about.side === "input" ? "pii_blocked" : "answer_pii_blocked";
            return { error: reject(code, { kind: KIND_WORDS[name].label }), reason: name };
          },
          mask: ({ name }) => KIND_WORDS[name].mask,
          restore,
        });
      },
    };
  },
});
