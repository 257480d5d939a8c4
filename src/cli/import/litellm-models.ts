/** LiteLLM's `model_list`: each name becomes an alias, its deployments the targets in order. */
import type { DraftAlias, DraftTarget } from "./draft.ts";
import { slug } from "./draft.ts";
import { credentialFor, type Job, priceRemark, providerBaseUrl } from "./job.ts";
import { expanded, type ResolvedModel, resolveModel } from "./litellm-resolve.ts";
import { envReference, referenceIn, secretValue } from "./secrets.ts";
import type { SourceNode } from "./source.ts";
import { azureBaseUrl, type Upstream } from "./upstreams.ts";

export interface NamedCredential {
  readonly name: string;
  readonly values: SourceNode | undefined;
}

interface Deployment {
  readonly entry: SourceNode;
  readonly params: SourceNode | undefined;
  readonly name: string;
  readonly target: DraftTarget;
  readonly order: number;
  readonly weight: number;
}

const SERVED_MODES: ReadonlySet<string> = new Set(["chat", "completion", "embedding", "responses"]);
const LEFT_OUT = "Belongs to a model that is left out.";

export function convertModels(job: Job, credentials: ReadonlyMap<string, NamedCredential>): void {
  const deployments: Deployment[] = [];
  for (const entry of job.root.get("model_list")?.items ?? []) {
    deployments.push(...deploymentsOf(job, entry, credentials));
  }
  const groups = new Map<string, Deployment[]>();
  for (const one of deployments) {
    const group = groups.get(one.name);
    if (group === undefined) groups.set(one.name, [one]);
    else group.push(one);
  }
  for (const [name, group] of groups) convertGroup(job, name, group);
}

function convertGroup(job: Job, name: string, group: readonly Deployment[]): void {
  const { draft, findings } = job;
  const alias = draft.alias(name);
  const inOrder = group.toSorted((a, b) => a.order - b.order || b.weight - a.weight);
  for (const { entry, target } of inOrder) {
    draft.anchor(entry, alias.notes);
    const node = entry.get("model_name");
    if (!draft.addTarget(alias, target)) {
      const message =
        "The same target as another deployment of this name, which has nothing to fail over to.";
      findings.add(node, { level: "approximate", message });
    } else if (group.length > 1) {
      const place = inOrder.findIndex((one) => one.target === target);
      const where = place === 0 ? "asked first" : `failover entry ${place}`;
      const message = `One of ${group.length} deployments of this name: ${where}. Sluice asks targets in order and does not spread calls.`;
      findings.add(node, { level: "approximate", message });
    }
  }
  settings(job, alias, inOrder);
  rateLimit(job, alias, inOrder);
  for (const { params } of inOrder) {
    const [weight, order] = [params?.get("weight"), params?.get("order")];
    if (group.length === 1) for (const node of [weight, order]) findings.add(node, alone);
    const retries = params?.get("num_retries", "max_retries");
    if (retries?.number === 0)
      findings.add(retries, {
        level: "exact",
        target: null,
        message: "Sluice does not repeat calls either.",
      });
  }
}

const alone = { level: "exact", target: null, message: "The only deployment of this name." } as const;

/** Those of the primary: in Sluice settings belong to the alias. */
function settings({ findings }: Job, alias: DraftAlias, group: readonly Deployment[]): void {
  const keys = [
    { names: ["temperature"], max: 2, min: 0, set: (value: number) => void (alias.temperature = value) },
    { names: ["top_p"], max: 1, min: 0, set: (value: number) => void (alias.topP = value) },
    {
      names: ["max_tokens", "max_completion_tokens"],
      max: 200_000,
      min: 1,
      set: (value: number) => void (alias.maxOutputTokens = value),
    },
  ] as const;
  for (const { names, min, max, set } of keys) {
    const [first, ...others] = group.map(({ params }) => params?.get(...names));
    const value = first?.number;
    if (first !== undefined && value !== undefined && value >= min && value <= max) {
      set(value);
      findings.note(first);
    } else if (first !== undefined) {
      findings.add(first, {
        level: "unsupported",
        target: null,
        message: `Must be a number from ${min} to ${max}.`,
      });
    }
    for (const other of others) {
      if (other === undefined) continue;
      const isSame = other.number === value;
      const message = isSame ? "As for the first deployment." : "Settings are those of the first deployment.";
      findings.add(other, { level: isSame ? "exact" : "approximate", message });
    }
  }
}

function rateLimit({ findings }: Job, alias: DraftAlias, group: readonly Deployment[]): void {
  const nodes = group.map(({ params }) => params?.get("rpm"));
  const given = nodes.filter((node) => node?.number !== undefined);
  if (given.length === 0) return;
  if (given.length < group.length) {
    const message = "Other deployments of this name are unlimited, so the alias is unlimited too.";
    for (const node of given) findings.add(node, { level: "unsupported", target: null, message });
    return;
  }
  const sum = given.reduce((total, node) => total + Math.round(node?.number ?? 0), 0);
  if (sum < 1) return;
  alias.ratePerMinute = sum;
  for (const node of given) findings.note(node);
}

function deploymentsOf(
  job: Job,
  entry: SourceNode,
  credentials: ReadonlyMap<string, NamedCredential>,
): readonly Deployment[] {
  const { findings } = job;
  const params = entry.get("litellm_params");
  const name = entry.get("model_name")?.text;
  const text = params?.get("model")?.text;
  if (name === undefined || text === undefined) {
    leaveOut(job, entry, `${name ?? "a model without a name"} names no model`);
    return [];
  }
  if (![name, text].every((one) => job.secrets.isSafeName(one))) {
    const message = "Looks like it holds a secret, or is too long: add an alias by hand.";
    findings.add(entry.get("model_name"), { level: "manual", target: null, message });
    leaveOut(job, entry, "its name looks like a secret", "manual");
    return [];
  }
  const mode = entry.get("model_info")?.get("mode")?.text;
  if (mode !== undefined && !SERVED_MODES.has(mode)) {
    const message = `Sluice serves chat completions and embeddings, not ${slug(mode)}.`;
    findings.add(entry.get("model_info")?.get("mode"), { level: "unsupported", message });
    leaveOut(job, entry, message);
    return [];
  }
  const named = credentials.get(params?.get("litellm_credential_name")?.text ?? "");
  const found = resolveModel(text, params);
  if (found?.upstream.provider == null) {
    const message = found?.upstream.message ?? "LiteLLM cannot resolve a provider for this model.";
    findings.add(params?.get("model"), { level: "unsupported", target: null, message });
    leaveOut(job, entry, found === undefined ? message : `${found.upstream.label} needs a provider plugin`);
    return [];
  }
  return placed(job, { entry, name, params, ...found, named });
}

interface Placing extends ResolvedModel {
  readonly entry: SourceNode;
  readonly name: string;
  readonly params: SourceNode | undefined;
  readonly named: NamedCredential | undefined;
}

/** One deployment, or one for each model that a wildcard matches. */
function placed(job: Job, placing: Placing): readonly Deployment[] {
  const { entry, name, params, upstream, model } = placing;
  const { findings } = job;
  const names = expanded(placing);
  if (names.length === 0) {
    const message =
      "Aliases have no wildcards, and the file does not list the names that clients send: add an alias for each.";
    findings.add(entry.get("model_name"), { level: "manual", message });
    leaveOut(job, entry, "a wildcard whose names are not in the file", "manual");
    return [];
  }
  const credential = access(job, placing);
  if (credential === undefined) return [];
  if (names.length > 1 || name.includes("*") || model.includes("*")) {
    const message = `Aliases have no wildcards: ${names.length} aliases for the models of ${upstream.label} that Sluice knows. Remove unused ones and add missing ones.`;
    findings.add(entry.get("model_name"), { level: "manual", message });
  } else {
    findings.note(entry.get("model_name"));
  }
  reportModel(job, placing, names[0]?.model ?? model);
  const order = params?.get("order")?.number ?? Number.MAX_SAFE_INTEGER;
  const weight = params?.get("weight")?.number ?? 1;
  prices(job, placing);
  return names.map((one) => ({
    ...{ entry, params, order, weight },
    name: one.alias,
    target: { credential, model: one.model },
  }));
}

function reportModel(job: Job, { params, upstream, isGuess, model }: Placing, first: string): void {
  const node = params?.get("model");
  const { provider, label, level, message } = upstream;
  const remark = model.includes("*") ? "" : priceRemark(job, provider ?? "", first);
  if (isGuess) {
    const text = `Taken for a server that speaks the format of ${label}: the model has no prefix that LiteLLM knows.${remark}`;
    return job.findings.add(node, { level: "approximate", message: text });
  }
  const text = level === "exact" ? `Provider \`${provider}\`.` : message;
  const isExact = level === "exact" && remark === "";
  job.findings.add(node, { level: isExact ? "exact" : "approximate", message: `${text}${remark}` });
}

function access(job: Job, placing: Placing): DraftTarget["credential"] | undefined {
  const { entry, params, upstream, named } = placing;
  const { findings } = job;
  const values = named?.values;
  const wanted = params?.get("litellm_credential_name");
  if (wanted !== undefined && named === undefined) {
    const message =
      "No entry of `credential_list` has this name; credentials in LiteLLM's database are not in the file.";
    findings.add(wanted, { level: "manual", message });
  }
  const base = params?.get("api_base", "base_url") ?? values?.get("api_base");
  const baseUrl = baseUrlOf(job, upstream, base);
  if (baseUrl === undefined && upstream.baseUrl === null) {
    const message = `The source names no address for ${upstream.label}.`;
    findings.add(params?.get("model"), { level: "manual", target: null, message });
    leaveOut(job, entry, "the source names no address for it", "manual");
    return undefined;
  }
  return credentialFor(job, upstream, {
    key: params?.get("api_key") ?? values?.get("api_key"),
    baseUrl,
    options: optionsOf(job, upstream, params),
    ...(named !== undefined && { name: named.name }),
  });
}

function baseUrlOf(job: Job, upstream: Upstream, node: SourceNode | undefined): string | undefined {
  const { draft, findings } = job;
  const isAzure = upstream.name === "azure" || upstream.name === "azure-ai";
  if (node?.text === undefined) {
    if (!isAzure) return undefined;
    const name = upstream.name === "azure" ? "AZURE_API_BASE" : "AZURE_AI_API_BASE";
    draft.testEnv.set(name, "http://127.0.0.1:9");
    return `${envReference(name)}/openai/v1`;
  }
  const variable = `${upstream.name.toUpperCase().replace(/\W+/g, "_")}_API_BASE`;
  const url = draft.url(node, variable, findings);
  if (url === undefined) return undefined;
  if (isAzure && url.startsWith("$")) {
    const message = `${referenceIn(node.text) ?? variable} must be the resource alone, as in https://RESOURCE.openai.azure.com, without a slash at its end.`;
    findings.add(node, { level: "manual", message });
    return `${url}/openai/v1`;
  }
  if (isAzure) {
    const azure = azureBaseUrl(url);
    if (!findings.has(node)) findings.add(node, { level: "approximate", message: "The resource's v1 API." });
    return azure;
  }
  if (!findings.has(node)) findings.note(node);
  return url.startsWith("$") ? url : providerBaseUrl(upstream, url);
}

const EFFORTS: ReadonlySet<string> = new Set(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

function optionsOf(
  { findings, secrets }: Job,
  upstream: Upstream,
  params: SourceNode | undefined,
): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  const isOpenAi = upstream.name === "openai";
  const organization = params?.get("organization");
  if (isOpenAi && organization?.text !== undefined) {
    const name = referenceIn(organization.text);
    const isClean = secrets.isClean(organization.text);
    options["organization"] =
      name !== undefined
        ? envReference(name)
        : isClean
          ? organization.text
          : envReference("OPENAI_ORGANIZATION");
    if (name !== undefined || isClean) findings.note(organization);
    else findings.add(organization, { level: "manual", message: "Set OPENAI_ORGANIZATION to it." });
  }
  const effort = params?.get("reasoning_effort");
  if (isOpenAi && effort?.text !== undefined && EFFORTS.has(effort.text)) {
    options["reasoning_effort"] = effort.text;
    findings.note(effort);
  } else if (effort !== undefined) {
    findings.add(effort, {
      level: "unsupported",
      target: null,
      message: `Provider \`${upstream.provider}\` has no such option; clients may send it.`,
    });
  }
  const beta = params?.get("extra_headers", "headers")?.get("anthropic-beta");
  if (upstream.provider === "anthropic" && beta?.text !== undefined && secrets.isClean(beta.text)) {
    options["anthropic_beta"] = beta.text.split(",").map((one) => one.trim());
    findings.add(params?.get("extra_headers", "headers"), {
      level: "exact",
      message: "The option `anthropic_beta`.",
    });
  }
  return options;
}

const PER_MILLION = 1_000_000;

function prices({ draft, findings }: Job, { entry, params, upstream, model }: Placing): void {
  const places = [params, entry.get("model_info")];
  const find = (key: string) => places.map((place) => place?.get(key)).find((node) => node !== undefined);
  const [input, output] = [find("input_cost_per_token"), find("output_cost_per_token")];
  if ((input === undefined && output === undefined) || upstream.provider === null || model.includes("*"))
    return;
  const [cached, written] = [find("cache_read_input_token_cost"), find("cache_creation_input_token_cost")];
  const given = [input, output, cached, written].filter((node) => node !== undefined);
  const isMoney = (node: SourceNode) => node.number !== undefined && node.number >= 0 && node.number < 1;
  if (!given.every(isMoney)) {
    for (const node of given)
      findings.add(node, { level: "unsupported", target: null, message: "Not a price of a token in USD." });
    return;
  }
  const usd = (node: SourceNode | undefined) => Number(((node?.number ?? 0) * PER_MILLION).toFixed(9));
  const price = {
    provider: upstream.provider,
    model,
    ...{ input: usd(input), output: usd(output) },
    ...(cached?.number !== undefined && { cachedInput: usd(cached) }),
    ...(written?.number !== undefined && { cacheWrite: usd(written) }),
  };
  const key = `${price.provider}/${model}`;
  const known = draft.prices.get(key);
  if (known === undefined) draft.prices.set(key, price);
  const isSame = known === undefined || JSON.stringify(known) === JSON.stringify(price);
  const isWhole = input !== undefined && output !== undefined;
  for (const node of [input, output, cached, written]) {
    if (!isSame)
      findings.add(node, {
        level: "approximate",
        message: "Prices are those of a provider's model: the first of this model counts.",
      });
    else if (!isWhole)
      findings.add(node, {
        level: "approximate",
        message: "The other price is not in the file: it counts as 0.",
      });
    else findings.note(node);
  }
}

function leaveOut(
  job: Job,
  entry: SourceNode,
  reason: string,
  level: "unsupported" | "manual" = "unsupported",
): void {
  const { draft, findings, secrets } = job;
  const model = entry.get("model_name")?.text;
  const notes: string[] = [];
  draft.anchor(entry, notes);
  draft.leftOut.push({ model: secrets.scrub(model ?? ""), reason: secrets.scrub(reason), notes });
  const children = [...entry.children, ...(entry.get("litellm_params")?.children ?? [])];
  for (const node of children) {
    if (findings.has(node) || node.path.endsWith(".litellm_params") || node.path.endsWith(".model_info"))
      continue;
    const isKey = node.path.endsWith(".api_key") && secretValue(node.text ?? "").kind === "literal";
    const message = isKey ? `${LEFT_OUT} Its secret is hard-coded.` : LEFT_OUT;
    findings.add(node, { level: isKey ? "manual" : level, target: null, message });
  }
}
