/** What a change of a list of guardrails means. */
import { type Field, unknownKey } from "./field.ts";

export const guardrailList: Field = unknownKey;
