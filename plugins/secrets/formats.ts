/** Formats of API keys, tokens and private keys, and the checksums that distinguish GitHub's tokens from look-alikes. */
import type { Finding } from "../text/findings.ts";

export const SECRET_KINDS = [
  "openai",
  "anthropic",
  "aws",
  "github",
  "google",
  "slack",
  "stripe",
  "jwt",
  "private_key",
  "sluice",
] as const;

/** As the configuration names it. */
export type SecretKind = (typeof SECRET_KINDS)[number];

/** In `Request blocked: <kind> detected in input.` */
export const SECRET_LABELS: Readonly<Record<SecretKind, string>> = {
  openai: "OpenAI API key",
  anthropic: "Anthropic API key",
  aws: "AWS access key",
  github: "GitHub token",
  google: "Google API key",
  slack: "Slack token",
  stripe: "Stripe key",
  jwt: "JSON Web Token",
  private_key: "private key",
  sluice: "Sluice token",
};

interface Format {
  readonly kind: SecretKind;
  readonly form: RegExp;
  /** The secret is this group rather than the whole match. */
  readonly hasName?: boolean;
  isValid?(secret: string): boolean;
}

/** Fewer different characters are a placeholder: `sk-xxxxxxxx`. */
const DIFFERENT_CHARACTERS_MIN = 6;

const FORMATS: readonly Format[] = [
  { kind: "anthropic", form: /sk-ant-[a-z]{2,8}\d{0,2}-[\w-]{20,256}(?![\w-])/y },
  { kind: "openai", form: /sk-(?:proj|svcacct|admin|None)-[\w-]{20,256}(?![\w-])/y },
  { kind: "openai", form: /sk-[A-Za-z0-9]{32,64}(?![\w-])/y },
  { kind: "stripe", form: /(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,256}(?!\w)/y },
  { kind: "stripe", form: /whsec_[A-Za-z0-9+/]{24,128}={0,2}(?![\w+/])/y },
  { kind: "aws", form: /(?:AKIA|ASIA|ABIA|ACCA|AIDA|AROA)[A-Z2-7]{16}(?!\w)/y },
  {
    kind: "aws",
    form: /(?:aws_?)?secret_?access_?key["']?[ \t]{0,4}[:=]>?[ \t]{0,4}["']?([A-Za-z0-9/+]{40})(?![\w/+=])/iy,
    hasName: true,
  },
  { kind: "github", form: /gh[pousr]_[A-Za-z0-9]{36}(?!\w)/y, isValid: hasGitHubChecksum },
  { kind: "github", form: /github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}(?!\w)/y },
  { kind: "google", form: /AIza[\w-]{35}(?![\w-])/y },
  { kind: "google", form: /GOCSPX-[\w-]{28}(?![\w-])/y },
  { kind: "slack", form: /xox[abeoprs]-(?=[A-Za-z-]{0,32}\d)[A-Za-z0-9-]{15,256}(?![\w-])/y },
  { kind: "slack", form: /xapp-\d-[A-Z0-9]{6,20}-\d{6,20}-[a-f0-9]{40,80}(?![\w-])/y },
  {
    kind: "slack",
    form: /hooks\.slack\.com\/services\/T[A-Z0-9]{6,14}\/B[A-Z0-9]{6,14}\/[A-Za-z0-9]{20,30}(?!\w)/y,
  },
  { kind: "sluice", form: /gw_(?:live|test)_[\w-]{20,128}(?![\w-])/y },
  { kind: "jwt", form: /eyJ[\w-]{10,400}\.eyJ[\w-]{2,8192}(?:\.[\w-]{0,2048})?/y, isValid: hasJwtHeader },
];

/** What a secret may begin with, anywhere but inside a word. */
export const SECRET_BEGINNING =
  /(?:sk[-_]|rk_|whsec_|A[KSBCIR][IRD][AO][A-Z2-7]|aws_?secret|secret_?access|gh[pousr]_|github_pat_|AIza|GOCSPX-|xox[abeoprs]-|xapp-|hooks\.slack|gw_|eyJ|-----BEGIN )/gi;

/** The secret that begins at this place of the text; undefined: none does. */
export function secretAt(text: string, at: number): Finding<SecretKind> | undefined {
  if (text[at] === "-") return privateKeyAt(text, at);
  // The middle of a word or of a longer key.
  if (/[\w-]/.test(text[at - 1] ?? "")) return undefined;
  for (const { kind, form, hasName, isValid } of FORMATS) {
    form.lastIndex = at;
    const match = form.exec(text);
    if (match === null) continue;
    const secret = hasName === true ? (match[1] ?? "") : match[0];
    if (new Set(secret).size < DIFFERENT_CHARACTERS_MIN || isValid?.(secret) === false) continue;
    const end = at + match[0].length;
    return { name: kind, start: end - secret.length, end };
  }
  return undefined;
}

const PEM_BEGIN = /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y;
const PEM_END = /-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/;
/** Of a key whose last line is missing: lines of base64. */
const PEM_CUT = /[A-Za-z0-9+/=\r\n\\]{32,12288}/y;
/** Also as a JSON text has it, with `\n` written out. */
const PEM_BODY = /[A-Za-z0-9+/=\s\\:,-]{32,12288}/y;
const PEM_CHARACTERS_MAX = 12_288;

/** From its first line to its last, or as far as it looks like one when the last is missing. */
function privateKeyAt(text: string, at: number): Finding<SecretKind> | undefined {
  PEM_BEGIN.lastIndex = at;
  const begin = PEM_BEGIN.exec(text)?.[0];
  if (begin === undefined) return undefined;
  const from = at + begin.length;
  PEM_BODY.lastIndex = from;
  const body = PEM_BODY.exec(text)?.[0];
  if (body === undefined) return undefined;
  const end = PEM_END.exec(text.slice(from, from + Math.min(body.length, PEM_CHARACTERS_MAX) + 64));
  if (end !== null) return { name: "private_key", start: at, end: from + end.index + end[0].length };
  PEM_CUT.lastIndex = from;
  const cut = PEM_CUT.exec(text)?.[0].trimEnd();
  return cut === undefined ? undefined : { name: "private_key", start: at, end: from + cut.length };
}

/** CRC-32 of IEEE 802.3, of ASCII characters. */
function crc32(text: string): number {
  let crc = -1;
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The last six characters are the CRC-32 of the thirty before them, in base 62. */
function hasGitHubChecksum(token: string): boolean {
  let rest = crc32(token.slice(4, 34));
  let checksum = "";
  for (let place = 0; place < 6; place++) {
    checksum = (BASE62[rest % 62] ?? "") + checksum;
    rest = Math.floor(rest / 62);
  }
  return token.endsWith(checksum);
}

/** The first part is JSON that names an algorithm or a type. */
function hasJwtHeader(token: string): boolean {
  const header = Buffer.from(token.slice(0, token.indexOf(".")), "base64url").toString("utf8");
  return header.startsWith("{") && /"(?:alg|typ|enc|kid)"/.test(header);
}
