/** Guardrail `secrets`: blocks text that contains API keys, tokens or private keys, or replaces them with `[SECRET]`. */
import { defineGuardrail, reject } from "sluice/plugin";
import { type Finding, kindsOption, modeOption, verdictOnFindings } from "../text/findings.ts";
import { SECRET_BEGINNING, SECRET_KINDS, SECRET_LABELS, type SecretKind, secretAt } from "./formats.ts";

/** Characters after which the kind of a secret is certain; the rest of it is held back with them. */
const WINDOW_CHARACTERS = 512;
const SLICE_CHARACTERS = 8192;
const MASK = "[SECRET]";

export default defineGuardrail({
  name: "secrets",
  description: "Blocks or masks API keys, access tokens and private keys, by their formats.",
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      mode: modeOption("put [SECRET] in its place."),
      kinds: kindsOption(SECRET_KINDS),
    },
  },
  examples: [{}, { mode: "mask", kinds: ["openai", "private_key"] }],
  strength: { mode: ["mask", "block"], kinds: "more" },
  setup({ mode, kinds }) {
    const wanted = new Set(kinds);
    return {
      window: WINDOW_CHARACTERS,
      slice: SLICE_CHARACTERS,
      judge(text, about) {
        return verdictOnFindings(findSecrets(text, wanted), {
          mode,
          refusal: ({ name }) => {
            const code = about.side === "input" ? "secret_blocked" : "answer_secret_blocked";
            return { error: reject(code, { kind: SECRET_LABELS[name] }), reason: name };
          },
          // A secret that touches the end of a piece is held back whole, at any length.
          mask: () => MASK,
        });
      },
    };
  },
});

/** All secrets of these kinds, ascending, not overlapping. */
function findSecrets(text: string, kinds: ReadonlySet<SecretKind>): readonly Finding<SecretKind>[] {
  const found: Finding<SecretKind>[] = [];
  SECRET_BEGINNING.lastIndex = 0;
  for (let sign = SECRET_BEGINNING.exec(text); sign !== null; sign = SECRET_BEGINNING.exec(text)) {
    const secret = secretAt(text, sign.index);
    if (secret === undefined) continue;
    if (kinds.has(secret.name)) found.push(secret);
    SECRET_BEGINNING.lastIndex = secret.end;
  }
  return found;
}
