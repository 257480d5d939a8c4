/**
 * Keeps secrets of a source out of everything that is written or printed: finds hard-coded secrets, and removes
 * them and everything that looks like one from texts such as comments.
 */
import { withoutTrailingSlashes } from "../../base/trailing-slashes.ts";
import type { SourceNode } from "./source.ts";

/** How a value of the source was given. */
export type SecretValue =
  | { readonly kind: "reference"; readonly name: string }
  | { readonly kind: "literal"; readonly text: string }
  /** A placeholder for servers without authentication. */
  | { readonly kind: "dummy"; readonly text: string };

/** `os.environ/KEY`, `env.KEY`, `env:KEY`, `process.env.KEY` and `$KEY`. */
const BARE_REFERENCE = /^(?:os\.environ\/|env[.:]|process\.env\.|\$)([A-Za-z_][A-Za-z0-9_]*)$/;
/** `${KEY}`, also as Sluice escapes it, `${env:KEY}`, and the placeholders of templates. */
const BRACED_REFERENCE = /^\$?\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$/;
const TEMPLATE_REFERENCE = /^\{\{ ?(?:env\.)?([A-Za-z_][A-Za-z0-9_]*) ?\}\}$/;
const ANGLED_REFERENCE = /^<([A-Z_][A-Z0-9_]*)>$/;
const REFERENCES = [BARE_REFERENCE, BRACED_REFERENCE, TEMPLATE_REFERENCE, ANGLED_REFERENCE];

const DUMMY =
  /^(?:none|null|empty|dummy|fake|fake[-_]?(?:api[-_]?)?key|not[-_]?(?:needed|required|used)|no[-_]?key(?:[-_]?required)?|placeholder|ollama|local|lm-studio|n\/a|na|x+|sk-no-key-required|sk-dummy|sk-fake)$/i;

/** The name of the variable that the text refers to, in any of the usual spellings. */
export function referenceIn(text: string): string | undefined {
  for (const form of REFERENCES) {
    const name = form.exec(text.trim())?.[1];
    if (name !== undefined) return name;
  }
  return undefined;
}

export function secretValue(text: string): SecretValue {
  const name = referenceIn(text);
  if (name !== undefined) return { kind: "reference", name };
  return DUMMY.test(text.trim()) ? { kind: "dummy", text: text.trim() } : { kind: "literal", text };
}

/** As Sluice refers to a variable. */
export function envReference(name: string, fallback?: string): string {
  return fallback === undefined ? `\${env:${name}}` : `\${env:${name}:-${fallback}}`;
}

const SENSITIVE_KEY =
  /(?:^|[_-])(?:key|secret|password|passwd|token|authorization|credentials?|cookie|salt|license|dsn)(?:[_-]?id)?$|api[-_]?key|apikey|access[-_]?key|database_?url|connection_?string|webhook_?url|virtual_?key|service_account|^(?:auth_)?value$/i;
/** Names of settings that only sound like a secret. */
const HARMLESS_KEY = /^(?:max_)?tokens?$|_per_token$|litellm_credential_name|credential_name|header_name$/i;

export const REMOVED = "<removed>";

export class Secrets {
  /** Longest first, so that no rest of one remains. */
  #literals: readonly string[] = [];

  constructor(root?: SourceNode) {
    if (root === undefined) return;
    const found = new Set<string>();
    collect(root, { key: "", isSensitive: false }, found);
    this.#literals = [...found].sort((a, b) => b.length - a.length);
  }

  /** The text without the secrets of the file, and without what looks like one. */
  readonly scrub = (text: string): string => this.#cleaned(text, false);

  /** For comments, which may hold lines of former configurations. */
  scrubComment(text: string): string {
    return this.#cleaned(text, true);
  }

  isClean(text: string): boolean {
    return this.scrub(text) === text;
  }

  /** Names of models, which a short secret such as `local` may be a part of by chance. */
  isSafeName(text: string): boolean {
    const isLong = (literal: string) => literal.length >= 8 && /\d/.test(literal);
    return (
      text.length <= NAME_CHARACTERS_MAX &&
      !this.#literals.some((literal) => isLong(literal) && text.includes(literal)) &&
      withoutTokens(text, false) === text
    );
  }

  #cleaned(text: string, isComment: boolean): string {
    let clean = text;
    for (const literal of this.#literals) clean = clean.replaceAll(literal, REMOVED);
    return withoutTokens(clean, isComment);
  }
}

const SEPARATORS = /([\s"'`,;<>(){}[\]|=:/@]+)/;

/** Words at odd places of the split text are separators. `isComment`: also words behind the name of a secret. */
function withoutTokens(text: string, isComment: boolean): string {
  const parts = text.split(SEPARATORS);
  for (let index = 0; index < parts.length; index += 2) {
    const word = parts[index] ?? "";
    if (word === "") continue;
    const neighbors = {
      before: parts[index - 2] ?? "",
      left: parts[index - 1] ?? "",
      right: parts[index + 1] ?? "",
    };
    const isUser = isUserOfUrl(parts, index);
    if (isUser || isToken(word) || isBearer(word, neighbors) || (isComment && isAssigned(word, neighbors)))
      parts[index] = REMOVED_MARK;
  }
  return parts.join("").replaceAll(REMOVED_MARK, REMOVED);
}

/** Not to be taken for a word and its separators. */
const REMOVED_MARK = "\u0001";

const KEY_FORM = /^sk[-_][A-Za-z0-9]/;
const PREFIXED =
  /^(?:pk|rk|gsk|xai|csk|fw|nvapi|r8|hf|pplx|tvly|vcp|lsv2|glpat|gh[posur]|github_pat|xox[abpors]|ya29)[-_.]/;
const UNPREFIXED = /^(?:AKIA|ASIA|AIza|eyJ)[A-Za-z0-9._-]+$/;

/** By the formats of vendors, and long words of letters and digits in no order that people write. */
function isToken(word: string): boolean {
  if (KEY_FORM.test(word)) return word.length >= 7;
  if (PREFIXED.test(word)) return word.length >= 16 && /\d/.test(word);
  if (UNPREFIXED.test(word)) return word.length >= 14;
  return word.split(/[-_.]/).some(isUnordered);
}

function isUnordered(word: string): boolean {
  return word.length >= 24 && /^[A-Za-z0-9+]+$/.test(word) && /[A-Za-z]/.test(word) && digitsIn(word) >= 4;
}

function digitsIn(word: string): number {
  return word.replace(/\D/g, "").length;
}

interface Neighbors {
  readonly before: string;
  readonly left: string;
  readonly right: string;
}

function isBearer(word: string, { before, left }: Neighbors): boolean {
  const isScheme = /^(?:bearer|basic)$/i.test(before) && left.trim() === "";
  return isScheme && (word.length >= 12 || (word.length >= 4 && /\d/.test(word)));
}

/** References may stay. */
function isAssigned(word: string, { before, left, right }: Neighbors): boolean {
  const sign = left.replace(/[\s"'`]/g, "");
  if ((sign !== ":" && sign !== "=") || word.length < 4 || /^(?:os\.environ$|env\.|\$)/.test(word))
    return false;
  return (
    SENSITIVE_KEY.test(before) && !HARMLESS_KEY.test(before) && !(word === "env" && right.startsWith(":"))
  );
}

/** `//user@`, and both words of `//user:password@`. */
function isUserOfUrl(parts: readonly string[], index: number): boolean {
  const [left = "", right = ""] = [parts[index - 1], parts[index + 1]];
  const isBehindSlashes = left.endsWith("//");
  const isBeforeAt = right.startsWith("@");
  if (isBehindSlashes && isBeforeAt) return true;
  if (isBehindSlashes) return right === ":" && (parts[index + 3] ?? "").startsWith("@");
  return isBeforeAt && left === ":" && (parts[index - 3] ?? "").endsWith("//");
}

/** Shorter values are taken for words. */
const LITERAL_CHARACTERS_MIN = 5;
/** Of aliases and models in a configuration. */
const NAME_CHARACTERS_MAX = 119;

interface Owner {
  readonly key: string;
  readonly isSensitive: boolean;
}

function secretsOfUrl(text: string): readonly string[] {
  const { username, password, searchParams } = new URL(text);
  return [username, password, ...searchParams.values()].filter(
    (part) => part.length >= LITERAL_CHARACTERS_MIN,
  );
}

/** Headers and variables that say nothing secret. */
const HARMLESS_NAME =
  /^(?:anthropic-(?:beta|version)|content-type|accept|user-agent|http-referer|x-title|openai-(?:beta|organization|project))$/i;
const PLAIN_WORDS = /^[A-Za-z][A-Za-z ._/-]{0,30}$/;

/** Maps whose values are secrets whatever their keys are called. */
const SECRET_MAPS = /^(?:environment_variables|headers|extra_headers|credential_values|credentials|envs?)$/i;

function collect(node: SourceNode, owner: Owner, found: Set<string>): void {
  const { scalar } = node;
  if (scalar !== undefined) {
    const text = String(scalar ?? "").trim();
    if (!owner.isSensitive || typeof scalar === "boolean" || text.length < LITERAL_CHARACTERS_MIN) return;
    if (secretValue(text).kind !== "literal") return;
    for (const part of /^https?:\/\//.test(text) && URL.canParse(text) ? secretsOfUrl(text) : [text])
      found.add(part);
    return;
  }
  for (const item of node.isList ? node.items : []) collect(item, owner, found);
  for (const [key, child] of node.entries) {
    const isNamed = SENSITIVE_KEY.test(key) && !HARMLESS_KEY.test(key);
    const isInMap = owner.isSensitive && SECRET_MAPS.test(owner.key) && !HARMLESS_NAME.test(key);
    const isPlain = typeof child.scalar === "string" && PLAIN_WORDS.test(child.scalar);
    const isSensitive = isNamed || SECRET_MAPS.test(key) || (isInMap && !isPlain);
    collect(child, { key, isSensitive }, found);
  }
}

export interface CleanUrl {
  readonly url: string;
  /** What had to be taken out; undefined: nothing. */
  readonly removed: string | undefined;
}

/** Parts of paths that no person chose: ids that are as good as a password. */
function isRandom(segment: string): boolean {
  return segment.length >= 28 && /^[\w-]+$/.test(segment) && /\d/.test(segment) && /[A-Za-z]/.test(segment);
}

/** The address without user, password, query and fragment; undefined when it is not a valid address or its path contains a secret. */
export function cleanUrl(text: string, secrets: Secrets): CleanUrl | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol)) return undefined;
  const removed = [
    ...(url.username !== "" || url.password !== "" ? ["user and password"] : []),
    ...(url.search !== "" ? ["query"] : []),
    ...(url.hash !== "" ? ["fragment"] : []),
  ];
  if (url.pathname.split("/").some(isRandom)) return undefined;
  const clean = `${url.protocol}//${url.host}${withoutTrailingSlashes(url.pathname)}`;
  if (!secrets.isClean(clean)) return undefined;
  return { url: clean, removed: removed.length === 0 ? undefined : removed.join(" and ") };
}
