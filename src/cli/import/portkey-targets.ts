/** The targets of a Portkey config as a flat list in the order in which Sluice asks them, and what each of them calls. */
import { type DraftCredential, variableOf } from "./draft.ts";
import { credentialFor, type Job, priceRemark, providerBaseUrl } from "./job.ts";
import { envReference, referenceIn } from "./secrets.ts";
import type { SourceNode } from "./source.ts";
import { azureBaseUrl, findUpstream, UPSTREAMS, type Upstream } from "./upstreams.ts";

export interface Leaf {
  readonly own: SourceNode;
  readonly name: string | undefined;
  readonly upstream: Upstream | undefined;
  /** A key of the target, else of what is around it. */
  get(...names: readonly string[]): SourceNode | undefined;
  param(...names: readonly string[]): SourceNode | undefined;
}

const DEPTH_MAX = 8;

export function leavesOf(job: Job, config: SourceNode): readonly Leaf[] {
  return flattened(job, [config], 0);
}

/** Nested configs are flattened in order; of those that share calls the heaviest comes first. */
function flattened(job: Job, chain: readonly SourceNode[], depth: number): readonly Leaf[] {
  const [node] = chain;
  if (node === undefined) return [];
  const targets = node.get("targets")?.items ?? [];
  if (targets.length === 0 || depth > DEPTH_MAX) return [leafOf(chain)];
  const isShared = node.get("strategy")?.get("mode")?.text === "loadbalance";
  const weightOf = (target: SourceNode) => target.get("weight")?.number ?? 1;
  const ordered = isShared ? targets.toSorted((a, b) => weightOf(b) - weightOf(a)) : targets;
  for (const target of targets) {
    const weight = target.get("weight");
    if (!isShared)
      job.findings.add(weight, {
        level: "exact",
        target: null,
        message: "Weights count for `loadbalance` only.",
      });
    if (depth > 0 || target.get("targets") !== undefined) nestedStrategy(job, target);
  }
  return ordered.flatMap((target) => flattened(job, [target, ...chain], depth + 1));
}

function nestedStrategy({ findings }: Job, target: SourceNode): void {
  const mode = target.get("strategy")?.get("mode");
  if (mode === undefined) return;
  const message = "Nested targets are flattened into one failover list.";
  findings.add(mode, { level: "approximate", message });
}

function leafOf(chain: readonly SourceNode[]): Leaf {
  const [own] = chain;
  const find = (names: readonly string[]): SourceNode | undefined => {
    for (const node of chain) {
      const found = node.get(...names.flatMap((name) => [name, camel(name)]));
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const param = (...names: readonly string[]): SourceNode | undefined => {
    for (const node of chain) {
      const found = node.get("override_params", "overrideParams")?.get(...names);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  if (own === undefined) throw new Error("a target needs a node");
  const text = find(["provider"])?.text ?? find(["virtual_key"])?.text;
  const modelText = param("model")?.text;
  const slugged = text ?? (modelText?.startsWith("@") ? modelText : undefined);
  return {
    own,
    name: own.get("name")?.text,
    upstream: upstreamOf(slugged),
    get: (...names) => find(names),
    param,
  };
}

function camel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** By its name; of names that people chose (`@openai-prod`, virtual keys) by the provider that they contain. */
function upstreamOf(text: string | undefined): Upstream | undefined {
  if (text === undefined) return undefined;
  const plain = text.replace(/^@/, "").split("/")[0]?.toLowerCase() ?? "";
  const exact = findUpstream("portkey", plain);
  if (exact !== undefined) return exact;
  const names = UPSTREAMS.flatMap((upstream) =>
    (upstream.names.portkey ?? []).map((name) => ({ name, upstream })),
  );
  const words = `-${plain.replace(/[^a-z0-9]+/g, "-")}-`;
  const candidates = names.filter(({ name }) => words.includes(`-${name}-`));
  return candidates.toSorted((a, b) => b.name.length - a.name.length)[0]?.upstream ?? guessed(words);
}

const WORDS: readonly (readonly [word: string, portkey: string])[] = [
  ["azure", "azure-openai"],
  ["gemini", "google"],
  ["claude", "anthropic"],
  ["gpt", "openai"],
  ["mistral", "mistral-ai"],
  ["together", "together-ai"],
  ["vertex", "vertex-ai"],
  ["aws", "bedrock"],
  ["xai", "x-ai"],
  ["fireworks", "fireworks-ai"],
  ["perplexity", "perplexity-ai"],
];

function guessed(words: string): Upstream | undefined {
  const name = WORDS.find(([word]) => words.includes(`-${word}-`))?.[1];
  return name === undefined ? undefined : findUpstream("portkey", name);
}

interface Target {
  readonly credential: DraftCredential | undefined;
  readonly model: string | undefined;
  readonly upstreamName: string;
}

export function leafTarget(job: Job, leaf: Leaf): Target {
  const { findings } = job;
  const { upstream } = leaf;
  const node = leaf.get("provider") ?? leaf.get("virtual_key");
  if (upstream?.provider == null) {
    const message =
      upstream?.message ?? "The provider cannot be told from it: add a credential and a target by hand.";
    findings.add(node ?? leaf.own, {
      level: upstream === undefined ? "manual" : "unsupported",
      target: null,
      message,
    });
    const left = "Belongs to a target that is left out.";
    for (const child of leaf.own.children) {
      if (!findings.has(child) && child.scalar !== undefined)
        findings.add(child, { level: "unsupported", target: null, message: left });
    }
    for (const child of leaf.own.get("override_params", "overrideParams")?.children ?? [])
      findings.add(child, { level: "unsupported", target: null, message: left });
    return { credential: undefined, model: undefined, upstreamName: upstream?.name ?? "" };
  }
  const credential = accessOf(job, leaf, upstream);
  const model = modelOf(job, leaf, upstream);
  if (model !== undefined && !job.secrets.isSafeName(model)) {
    const message = "Looks like it holds a secret, or is too long: add a target by hand.";
    findings.add(leaf.param("model") ?? leaf.get("deployment_id", "azure_deployment_name"), {
      level: "manual",
      target: null,
      message,
    });
    return { credential: undefined, model: undefined, upstreamName: upstream.name };
  }
  return { credential, model, upstreamName: upstream.name };
}

function accessOf(job: Job, leaf: Leaf, upstream: Upstream): DraftCredential | undefined {
  const { draft, findings } = job;
  const [provider, virtual, key] = [leaf.get("provider"), leaf.get("virtual_key"), leaf.get("api_key")];
  const slugged = provider?.text?.startsWith("@") ? provider : undefined;
  const baseUrl = baseUrlOf(job, leaf, upstream);
  if (baseUrl === undefined && upstream.baseUrl === null) {
    const message = `The config names no address for ${upstream.label}: add a credential with \`base_url\`.`;
    findings.add(provider ?? virtual, { level: "manual", message });
    return undefined;
  }
  let variable: string | undefined;
  const vault = virtual ?? slugged;
  if (key === undefined && vault?.text !== undefined) {
    const name = referenceIn(vault.text);
    variable = name ?? draft.variableFor(vault.text, variableOf(upstream));
    const message = `The key is in Portkey's vault: set ${variable} to a key of ${upstream.label}.`;
    findings.add(vault, { level: "manual", target: "projects[].credentials[].api_key", message });
  }
  if (provider !== undefined && !findings.has(provider)) {
    const isPlain = upstream.level === "exact";
    const message = isPlain ? `Provider \`${upstream.provider}\`.` : upstream.message;
    findings.add(provider, { level: isPlain ? "exact" : "approximate", message });
  }
  return credentialFor(job, upstream, { key, variable, baseUrl, options: optionsOf(job, leaf, upstream) });
}

function baseUrlOf(job: Job, leaf: Leaf, upstream: Upstream): string | undefined {
  const { draft, findings } = job;
  const resource = leaf.get("resource_name", "azure_resource_name");
  if (upstream.name === "azure" && resource?.text !== undefined) {
    const name = referenceIn(resource.text);
    findings.note(resource);
    const host = name === undefined ? resource.text.replace(/[^A-Za-z0-9-]/g, "") : envReference(name);
    if (name !== undefined) draft.testEnv.set(name, "resource");
    return `https://${host}.openai.azure.com/openai/v1`;
  }
  const node = leaf.get("custom_host", "azure_foundry_url");
  if (node === undefined) return undefined;
  const url = draft.url(node, `${upstream.name.toUpperCase().replace(/\W+/g, "_")}_BASE_URL`, findings);
  if (url === undefined) return undefined;
  if (!findings.has(node)) findings.note(node);
  if (url.startsWith("$")) return url;
  return upstream.name.startsWith("azure") ? azureBaseUrl(url) : providerBaseUrl(upstream, url);
}

function modelOf(job: Job, leaf: Leaf, upstream: Upstream): string | undefined {
  const { findings } = job;
  const deployment = leaf.get("deployment_id", "azure_deployment_name");
  const given = leaf.param("model");
  if (upstream.name === "azure" && deployment?.text !== undefined) {
    findings.note(deployment);
    if (given !== undefined)
      findings.add(given, { level: "approximate", message: "The deployment names the model." });
    return deployment.text;
  }
  if (given?.text === undefined) return undefined;
  const model = given.text.startsWith("@") ? given.text.slice(given.text.indexOf("/") + 1) : given.text;
  const remark = priceRemark(job, upstream.provider ?? "", model);
  const level = remark === "" ? "exact" : "approximate";
  findings.add(given, { level, message: `The model of the target.${remark}` });
  return model;
}

function optionsOf(
  { draft, findings, secrets }: Job,
  leaf: Leaf,
  upstream: Upstream,
): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  const texts = [
    { provider: "openai", key: "openai_organization", option: "organization" },
    { provider: "openai", key: "openai_project", option: "project" },
    { provider: "anthropic", key: "anthropic_version", option: "anthropic_version" },
  ];
  for (const { provider, key, option } of texts) {
    const node = leaf.get(key);
    if (node?.text === undefined || upstream.name !== provider) continue;
    const name = referenceIn(node.text);
    const isClean = secrets.isClean(node.text);
    options[option] = name === undefined && isClean ? node.text : envReference(name ?? key.toUpperCase());
    if (name !== undefined || isClean) findings.note(node);
    else findings.add(node, { level: "manual", message: `Set ${key.toUpperCase()} to it.` });
  }
  const beta = leaf.get("anthropic_beta");
  if (beta?.text !== undefined && upstream.name === "anthropic" && secrets.isClean(beta.text)) {
    options["anthropic_beta"] = beta.text.split(",").map((one) => one.trim());
    findings.note(beta);
  }
  const timeout = leaf.get("request_timeout");
  if (timeout?.number !== undefined && timeout.number > 0 && upstream.provider !== null) {
    draft.timeout(draft.provider(upstream.provider), "timeout_ms", timeout.number / 1000);
    findings.note(timeout);
  }
  return options;
}
