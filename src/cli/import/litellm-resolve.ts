/** How LiteLLM reads the name of a model: its provider by prefix or by name, and the models that its wildcards match. */
import { knownModels, starMatch } from "./job.ts";
import type { SourceNode } from "./source.ts";
import { findUpstream, type Upstream } from "./upstreams.ts";

export interface ResolvedModel {
  readonly upstream: Upstream;
  /** As the provider names it. */
  readonly model: string;
  /** LiteLLM knows no such prefix: the address in the source is taken for a server of OpenAI's format. */
  readonly isGuess: boolean;
}

/** Names by which LiteLLM knows a provider without a prefix. */
const BARE: readonly (readonly [form: RegExp, upstream: string])[] = [
  [/^(?:gpt-|chatgpt-|o\d(?:-|$)|ft:|text-embedding-|codex-|\*$)/, "openai"],
  [/^claude-/, "anthropic"],
  [/^gemini-/, "vertex_ai"],
  [/^command-/, "cohere"],
];

export function resolveModel(text: string, params: SourceNode | undefined): ResolvedModel | undefined {
  const given = params?.get("custom_llm_provider")?.text;
  const slash = text.indexOf("/");
  const prefix = slash < 0 ? "" : text.slice(0, slash);
  const byPrefix = findUpstream("litellm", given ?? prefix);
  if (byPrefix !== undefined) {
    const isPrefixed = prefix !== "" && (given === undefined || prefix === given);
    return { upstream: byPrefix, model: isPrefixed ? text.slice(slash + 1) : text, isGuess: false };
  }
  const bare = slash < 0 ? BARE.find(([form]) => form.test(text))?.[1] : undefined;
  const upstream = bare === undefined ? undefined : findUpstream("litellm", bare);
  if (upstream !== undefined) return { upstream, model: text, isGuess: false };
  const openai = findUpstream("litellm", "openai");
  if (openai === undefined || params?.get("api_base", "base_url") === undefined) return undefined;
  return { upstream: openai, model: text, isGuess: true };
}

/** The names that a wildcard matches, with their models; without a wildcard the name itself. */
export function expanded({
  name,
  model,
  upstream,
}: Pick<ResolvedModel, "upstream" | "model"> & { readonly name: string }): readonly {
  readonly alias: string;
  readonly model: string;
}[] {
  if (!name.includes("*") && !model.includes("*")) return [{ alias: name, model }];
  if (!model.includes("*")) return name === "*" ? [{ alias: "default", model }] : [];
  if (!name.includes("*")) return [];
  return knownModels(upstream).flatMap((known) => {
    const star = starMatch(model, known);
    return star === undefined ? [] : [{ alias: name.replace("*", star), model: known }];
  });
}
