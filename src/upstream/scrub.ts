/** Removes secrets from texts of providers before they can reach a client or a log. */

export interface Scrub {
  /** A whole text, as long as it was. */
  text(text: string): string;
  /** Removes the ends of a key where only they are shown: for errors about the key itself. */
  keyFragments(text: string): string;
  /** A reason fit for an error message: one line, at most 300 characters. */
  reason(text: string): string;
}

const REASON_CHARACTERS_MAX = 300;
const MARK = "[redacted]";
/** What looks like a credential, of any vendor: a bearer token, or a key with a well-known prefix. */
const LOOKS_SECRET = /\bBearer\s+[^\s"'\\,;]{6,}|\b(?:(?:sk|gsk|xai)[-_]|AIza)[\w*.-]{8,}/gi;

/** `apiKey` "" for a provider without one. */
export function scrubber(apiKey: string): Scrub {
  // A key too short to be one would tear holes into ordinary words.
  const known = apiKey.length >= 6 ? [apiKey, JSON.stringify(apiKey).slice(1, -1)] : [];
  const text = (whole: string): string => {
    let clean = whole;
    for (const secret of known) clean = clean.replaceAll(secret, MARK);
    return clean.replace(LOOKS_SECRET, MARK);
  };
  const reason = (whole: string): string => {
    const clean = text(whole)
      .replace(/[\s\p{Cc}]+/gu, " ")
      .trim();
    return clean.length > REASON_CHARACTERS_MAX ? `${clean.slice(0, REASON_CHARACTERS_MAX - 1)}…` : clean;
  };
  const keyFragments = (whole: string): string =>
    whole.replace(FRAGMENT, (word) => {
      const masked = MASKED.test(word);
      const ends = word.split(/[*.…]+/).filter((end) => end !== "");
      return masked || ends.some((end) => isFragment(end, apiKey)) ? MARK : word;
    });
  return { text, reason, keyFragments };
}

/** A word, with the characters by which vendors replace the middle of a key. */
const FRAGMENT = /[\w*…-]+(?:\.{2,}[\w*…-]*|[\w*…-])*/g;
/** `sk-ab****yz`, `sk-…yz`, `ab...yz`: asterisks, or letters after an ellipsis. */
const MASKED = /\*{3,}|\w(?:…|\.{3})\w{3,}|^(?:…|\.{3})\w{3,}/;
const FRAGMENT_CHARACTERS_MIN = 4;
/** Beginnings of keys are alike (`sk-proj-`): only longer ones reveal something of the secret. */
const PREFIX_CHARACTERS_MIN = 10;

function isFragment(word: string, apiKey: string): boolean {
  if (apiKey.length < 2 * FRAGMENT_CHARACTERS_MIN || word.length < FRAGMENT_CHARACTERS_MIN) return false;
  return apiKey.endsWith(word) || (word.length >= PREFIX_CHARACTERS_MIN && apiKey.startsWith(word));
}
