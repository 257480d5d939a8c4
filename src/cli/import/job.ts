/** What every converter works on, and what they share: findings for one source, and the draft that becomes the configuration. */
import { withoutTrailingSlashes } from "../../base/trailing-slashes.ts";
import { findPrice, pricedModels } from "../../config/price-table.ts";
import type { Draft, DraftCredential } from "./draft.ts";
import { hostHint, variableHint, variableOf } from "./draft.ts";
import type { Findings } from "./findings.ts";
import { envReference, type Secrets } from "./secrets.ts";
import type { SourceNode } from "./source.ts";
import type { Upstream } from "./upstreams.ts";

export interface Job {
  readonly root: SourceNode;
  readonly draft: Draft;
  readonly findings: Findings;
  readonly secrets: Secrets;
}

/** What the source says of access to one upstream. */
export interface Access {
  readonly key?: SourceNode | undefined;
  /** The name of a variable that the product reads when the source gives no key. */
  readonly variable?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly options?: Readonly<Record<string, unknown>>;
  /** What tells several credentials of one upstream apart, the best first. */
  readonly hints?: readonly string[];
  /** A name that the source itself has for it. */
  readonly name?: string | undefined;
}

/** The credential for calls to an upstream: its key by reference, its address where it is not the provider's own. */
export function credentialFor({ draft, findings }: Job, upstream: Upstream, access: Access): DraftCredential {
  if (upstream.provider === null) throw new Error(`${upstream.name} has no provider`);
  const { key, options = {}, hints = [] } = access;
  const baseUrl = access.baseUrl ?? upstream.baseUrl ?? undefined;
  const isOwn = isOwnServer(upstream, access.baseUrl);
  const name = access.name ?? (isOwn ? hostHint(baseUrl) || "openai-like" : upstream.name);
  const variable =
    access.variable ?? (isOwn && upstream.name === "openai" ? variableNamed(name) : variableOf(upstream));
  const reference = draft.secret(key, variable, findings);
  const isOptional = upstream.isKeyOptional === true || isOwn;
  const fallback =
    upstream.provider === "ollama" ? undefined : envReference(variable, isOptional ? "none" : undefined);
  const apiKey = reference ?? fallback;
  const wanted = { provider: upstream.provider, apiKey, baseUrl, options };
  return draft.credential(wanted, name, [...hints, hostHint(access.baseUrl), variableHint(apiKey, name)]);
}

/** A self-hosted server that speaks OpenAI's format. */
export function isOwnServer(upstream: Upstream, baseUrl: string | undefined): boolean {
  if (baseUrl === undefined) return false;
  return upstream.name === "openai" && !/^https:\/\/[\w.-]*api\.openai\.com(?:\/|$)/.test(baseUrl);
}

export function variableNamed(name: string): string {
  const word = name
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .replace(/^_|_$/g, "");
  return `${/^\d/.test(word) ? "SERVER_" : ""}${word}_API_KEY`;
}

const METHOD_PATH = /\/(?:chat\/completions|completions|messages|embeddings|api\/(?:chat|generate))$/;

/** Addresses as Sluice's providers want them: without the path of a single method. */
export function providerBaseUrl(upstream: Upstream, url: string): string | undefined {
  const plain = withoutTrailingSlashes(url).replace(METHOD_PATH, "");
  if (upstream.provider === "anthropic" || upstream.provider === "cohere" || upstream.provider === "google")
    return sameAsOwn(upstream, plain.replace(/\/v\d(?:beta)?$/, ""));
  return sameAsOwn(upstream, plain);
}

const OWN_ADDRESSES: Readonly<Record<string, RegExp>> = {
  openai: /^https:\/\/api\.openai\.com(?:\/v1)?$/,
  anthropic: /^https:\/\/api\.anthropic\.com$/,
  google: /^https:\/\/generativelanguage\.googleapis\.com$/,
  mistral: /^https:\/\/api\.mistral\.ai\/v1$/,
  groq: /^https:\/\/api\.groq\.com\/openai\/v1$/,
  together: /^https:\/\/api\.together\.(?:ai|xyz)\/v1$/,
  ollama: /^http:\/\/localhost:11434$/,
  cohere: /^https:\/\/api\.cohere\.(?:com|ai)$/,
};

function sameAsOwn(upstream: Upstream, url: string): string | undefined {
  const own = upstream.level === "exact" ? OWN_ADDRESSES[upstream.name] : undefined;
  return own?.test(url) || url === upstream.baseUrl ? undefined : url;
}

/** The models of a provider that Sluice has prices of: what a wildcard is expanded to. */
export function knownModels(upstream: Upstream): readonly string[] {
  if (upstream.level !== "exact" || upstream.provider === null) return [];
  return pricedModels(upstream.provider).filter((model) => model !== "*" && model !== "");
}

/** ` No price is known…` for models whose calls would count as free. */
export function priceRemark({ draft }: Job, provider: string, model: string): string {
  if (draft.prices.has(`${provider}/${model}`) || provider === "ollama" || provider === "mock") return "";
  const isKnown = findPrice(provider, model, () => undefined) !== undefined;
  return isKnown ? "" : " No price is known for it: add it to `prices`, or its calls count as free.";
}

/** Pattern of one `*` and what it stood for in `text`. */
export function starMatch(pattern: string, text: string): string | undefined {
  const [before = "", after = ""] = pattern.split("*");
  const isMatch =
    text.length >= before.length + after.length && text.startsWith(before) && text.endsWith(after);
  return isMatch ? text.slice(before.length, text.length - after.length) : undefined;
}
