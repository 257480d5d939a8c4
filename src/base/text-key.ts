/** Keys for maps that know things by long texts: the texts themselves are not kept. */
import { hash } from "node:crypto";

const KEPT_CHARACTERS_MAX = 64;

/** The same for the same text: a short one as it is, a longer one by its SHA-256. */
export function textKey(text: string): string {
  return text.length <= KEPT_CHARACTERS_MAX ? text : hash("sha256", text, "base64");
}
