/** Guardrail `secrets`: blocks text with API keys, tokens or private keys in it, or replaces them with `[SECRET]`. */
import { block, defineGuardrail, reject, replace } from "sluice/plugin";
import {
  SECRET_BEGINNING,
  SECRET_KINDS,
  SECRET_LABELS,
  type SecretFinding,
  type SecretKind,
  secretAt,
} from "./formats.ts";

interface Options {
  readonly mode?: "block" | "mask";
  readonly kinds?: readonly SecretKind[];
}

/** Characters after which the kind of a secret is certain; the rest of the secret is held back with them. */
const WINDOW_CHARACTERS = 512;
const SLICE_CHARACTERS = 8192;
const MASK = "[SECRET]";

export default defineGuardrail<Options>({
  name: "secrets",
  description: "Blocks or masks API keys, access tokens and private keys, by their formats.",
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      mode: {
        enum: ["block", "mask"],
        default: "block",
        description: "block: refuse the call. mask: put [SECRET] in its place.",
      },
      kinds: {
        type: "array",
        minItems: 1,
        uniqueItems: true,
        items: { enum: SECRET_KINDS },
        default: SECRET_KINDS,
        description: "What to look for.",
      },
    },
  },
  examples: [{}, { mode: "mask", kinds: ["openai", "private_key"] }],
  setup({ mode = "block", kinds = SECRET_KINDS }) {
    const wanted = new Set(kinds);
    return {
      window: WINDOW_CHARACTERS,
      slice: SLICE_CHARACTERS,
      judge(text, about) {
        const found = findSecrets(text, wanted);
        const [first] = found;
        if (first === undefined) return undefined;
        if (mode === "block") {
          const code = about.side === "input" ? "secret_blocked" : "answer_secret_blocked";
          return block(reject(code, { kind: SECRET_LABELS[first.kind] }), first.kind);
        }
        // One that touches the end of a piece is held back whole, however long it grows.
        return replace(
          found.map(({ start, end }) => ({ start, end, text: MASK })),
          [...new Set(found.map(({ kind }) => kind))].join(", "),
        );
      },
    };
  },
});

/** All secrets of these kinds, ascending, not overlapping. */
function findSecrets(text: string, kinds: ReadonlySet<SecretKind>): readonly SecretFinding[] {
  const found: SecretFinding[] = [];
  SECRET_BEGINNING.lastIndex = 0;
  for (let sign = SECRET_BEGINNING.exec(text); sign !== null; sign = SECRET_BEGINNING.exec(text)) {
    const secret = secretAt(text, sign.index);
    if (secret === undefined) continue;
    if (kinds.has(secret.kind)) found.push(secret);
    SECRET_BEGINNING.lastIndex = secret.end;
  }
  return found;
}
