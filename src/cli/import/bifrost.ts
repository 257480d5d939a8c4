/** Bifrost's `config.json`: an alias `provider/model` for each model that a key may ask, and a token for each virtual key. */
import { withoutTrailingSlashes } from "../../base/trailing-slashes.ts";
import { convertGovernance } from "./bifrost-governance.ts";
import { type DraftCredential, slug } from "./draft.ts";
import { credentialFor, type Job, knownModels, priceRemark, providerBaseUrl } from "./job.ts";
import type { SourceNode } from "./source.ts";
import { azureBaseUrl, findUpstream, type Upstream } from "./upstreams.ts";

export function convertBifrost(job: Job): void {
  const { root } = job;
  const opensEmptyLists = root.get("version")?.number === 1;
  for (const [name, node] of root.get("providers")?.entries ?? []) {
    convertProvider(job, { name, node, opensEmptyLists });
  }
  convertGovernance(job);
}

interface ProviderEntry {
  readonly name: string;
  readonly node: SourceNode;
  /** An empty list of models allows all, as it did in older versions. */
  readonly opensEmptyLists: boolean;
}

interface Asked {
  readonly name: string;
  /** At the provider. */
  readonly model: string;
  readonly weight: number;
  readonly credential: DraftCredential;
}

/** What may precede the model in the name of an alias. */
const PROVIDER_NAME = /^[\w.@-]{1,80}$/;
const LEFT_OUT = "Belongs to a provider that is left out.";

function convertProvider(job: Job, entry: ProviderEntry): void {
  const { draft, findings } = job;
  const { name, node } = entry;
  const custom = node.get("custom_provider_config");
  const base = custom?.get("base_provider_type");
  const upstream = PROVIDER_NAME.test(name) ? findUpstream("bifrost", base?.text ?? name) : undefined;
  if (upstream?.provider == null) return leaveOut(job, entry, upstream);
  findings.add(base, { level: "exact", message: `Provider \`${upstream.provider}\`.` });
  const asked = keysOf(node).flatMap((key) => modelsOf(job, entry, { key, upstream }));
  const byName = new Map<string, Asked[]>();
  for (const one of asked) byName.set(one.name, [...(byName.get(one.name) ?? []), one]);
  for (const [model, targets] of byName) {
    const alias = draft.alias(`${name}/${model}`);
    draft.anchor(node, alias.notes);
    for (const { credential, model: id } of targets.toSorted((a, b) => b.weight - a.weight)) {
      draft.addTarget(alias, { credential, model: id });
    }
  }
  weights(job, node);
  network(job, entry, upstream);
}

/** Providers without keys are asked without one. */
function keysOf(node: SourceNode): readonly (SourceNode | undefined)[] {
  const keys = node.get("keys")?.items ?? [];
  return keys.length === 0 ? [undefined] : keys;
}

interface KeyOfProvider {
  readonly key: SourceNode | undefined;
  readonly upstream: Upstream;
}

function modelsOf(job: Job, entry: ProviderEntry, { key, upstream }: KeyOfProvider): readonly Asked[] {
  const { findings } = job;
  if (key?.get("enabled")?.scalar === false) {
    for (const child of key.children)
      findings.add(child, { level: "exact", target: null, message: "The key is switched off." });
    return [];
  }
  const names = namesOf(job, entry, { key, upstream });
  if (names.length === 0) {
    findings.add(key?.get("value"), { level: "exact", target: null, message: "No alias uses the key." });
    return [];
  }
  const credential = credentialOf(job, entry, { key, upstream });
  if (credential === undefined) return [];
  const ids = idsOf(job, key);
  const weight = key?.get("weight")?.number ?? 1;
  const single = key?.get("vllm_key_config")?.get("model_name")?.text;
  return names.map((name) => ({ name, model: single ?? ids.get(name) ?? name, weight, credential }));
}

function namesOf(
  job: Job,
  { name, opensEmptyLists }: ProviderEntry,
  { key, upstream }: KeyOfProvider,
): readonly string[] {
  const { findings, secrets } = job;
  const node = key?.get("models");
  const listed = node?.items.flatMap((item) => item.text ?? []) ?? [];
  const isOpen = listed.includes("*") || node === undefined || (listed.length === 0 && opensEmptyLists);
  const renamed = [...idsOf(job, key).keys()];
  if (!isOpen) {
    const names = listed.filter((model) => secrets.isSafeName(model));
    const unpriced = names.filter((model) => priceRemark(job, upstream.provider ?? "", model) !== "");
    const remark =
      unpriced.length === 0
        ? ""
        : ` No price is known for ${unpriced.join(", ")}: add it to \`prices\`, or calls count as free.`;
    const aside = listed.length - names.length;
    if (aside > 0) {
      const message = `${aside} of the names look like secrets or are too long: add their aliases by hand.`;
      findings.add(node, { level: "manual", message });
    } else if (node !== undefined && names.length > 0) {
      const level = remark === "" ? "exact" : "approximate";
      findings.add(node, { level, message: `An alias \`${name}/…\` for each.${remark}` });
    } else findings.add(node, { level: "exact", target: null, message: "The key may ask no model." });
    return names;
  }
  const blocked = new Set(key?.get("blacklisted_models")?.items.map((item) => item.text) ?? []);
  const single = key?.get("vllm_key_config")?.get("model_name")?.text;
  const known = single === undefined ? [...new Set([...renamed, ...knownModels(upstream)])] : [single];
  const names = known.filter((model) => !blocked.has(model));
  const message =
    names.length === 0
      ? "The key may ask any model, and aliases have no wildcards: add an alias for each model that clients name."
      : `The key may ask any model, and aliases have no wildcards: those of ${upstream.label} that are known have one (${names.length}). Add those that are missing.`;
  findings.add(node ?? key, { level: "manual", target: "projects[].aliases[]", message });
  if (names.length === 0)
    job.draft.leftOut.push({ model: `${name}/*`, reason: "any model; none is listed", notes: [] });
  return names;
}

/** What models are called at the provider. */
function idsOf({ findings }: Job, key: SourceNode | undefined): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  const maps = [
    key?.get("azure_key_config")?.get("deployments"),
    key?.get("deployments"),
    key?.get("aliases"),
  ];
  for (const map of maps) {
    for (const [name, node] of map?.entries ?? []) {
      const id = node.text ?? node.get("model_id")?.text;
      if (id === undefined) continue;
      ids.set(name, id);
      const hasMore = node.isMap && node.entries.some(([one]) => one !== "model_id" && one !== "description");
      findings.note(node, hasMore ? "approximate" : "exact");
    }
  }
  return ids;
}

function credentialOf(
  job: Job,
  { name, node }: ProviderEntry,
  { key, upstream }: KeyOfProvider,
): DraftCredential | undefined {
  const { draft, findings } = job;
  const value = key?.get("value");
  const secret = value?.isMap ? (value.get("env_var") ?? value.get("value")) : value;
  const base =
    key?.get("azure_key_config")?.get("endpoint") ??
    key?.get("vllm_key_config", "ollama_key_config", "sgl_key_config")?.get("url") ??
    node.get("network_config")?.get("base_url");
  const endpoint = base?.isMap ? (base.get("env_var") ?? base.get("value")) : base;
  const baseUrl = baseUrlOf(job, upstream, endpoint);
  if (baseUrl === undefined && upstream.baseUrl === null) {
    const message = `The source names no address for ${upstream.label}: add a credential with \`base_url\`.`;
    findings.add(key ?? node, { level: "manual", target: "projects[].credentials[].base_url", message });
    draft.leftOut.push({ model: `${name}/*`, reason: "the source names no address for it", notes: [] });
    return undefined;
  }
  const given = slug(key?.get("name", "id")?.text ?? "");
  if (key !== undefined) for (const child of [key.get("name"), key.get("id")]) findings.note(child);
  const isNamed = given !== "" && job.secrets.isClean(given);
  // Variables that are named alone are references of Bifrost's object form.
  const [, reference] =
    (secret?.path.endsWith(".env_var") && /^(?:env\.)?([A-Za-z_]\w*)$/.exec(secret.text ?? "")) || [];
  if (reference !== undefined) findings.note(value, "exact");
  const credential = credentialFor(job, upstream, {
    ...(reference === undefined ? { key: secret } : { variable: reference }),
    baseUrl,
    name: isNamed ? given : slug(name),
    hints: [slug(name)],
  });
  draft.anchor(key, credential.notes);
  return credential;
}

function baseUrlOf(job: Job, upstream: Upstream, node: SourceNode | undefined): string | undefined {
  const { draft, findings } = job;
  if (node?.text === undefined) return undefined;
  const url = draft.url(node, `${upstream.name.toUpperCase().replace(/\W+/g, "_")}_BASE_URL`, findings);
  if (url === undefined) return undefined;
  if (upstream.name === "azure") {
    if (!url.startsWith("$")) {
      if (!findings.has(node)) findings.note(node);
      return azureBaseUrl(url);
    }
    const message =
      "The variable must hold the resource alone, as in https://RESOURCE.openai.azure.com, without a slash at its end.";
    findings.add(node, { level: "manual", message });
    return `${url}/openai/v1`;
  }
  if (!findings.has(node)) findings.note(node);
  return url.startsWith("$") ? url : withVersion(upstream, url);
}

/** Bifrost's addresses end before the version; those of OpenAI's format here behind it. */
function withVersion(upstream: Upstream, url: string): string | undefined {
  const speaksOpenAi =
    upstream.provider === "openai" || upstream.provider === "mistral" || upstream.provider === "groq";
  const isBare = speaksOpenAi && !/\/v\d+(?:\/|$)/.test(url);
  return providerBaseUrl(upstream, isBare ? `${withoutTrailingSlashes(url)}/v1` : url);
}

function weights({ findings }: Job, node: SourceNode): void {
  const keys = node.get("keys")?.items ?? [];
  for (const key of keys) {
    const weight = key.get("weight");
    if (weight === undefined || findings.has(weight)) continue;
    if (keys.length === 1) findings.add(weight, { level: "exact", target: null, message: "The only key." });
    else findings.note(weight);
  }
}

function leaveOut(job: Job, { name, node }: ProviderEntry, upstream: Upstream | undefined): void {
  const { draft, findings } = job;
  const message = upstream?.message ?? "Not a provider that Bifrost knows without `custom_provider_config`.";
  findings.add(node, { level: "unsupported", target: null, message });
  for (const key of node.get("keys")?.items ?? []) {
    findings.add(key, { level: "unsupported", target: null, message: LEFT_OUT });
    for (const model of key.get("models")?.items.flatMap((item) => item.text ?? []) ?? []) {
      const reason =
        upstream === undefined ? "its provider is not known" : `${upstream.label} needs a provider plugin`;
      if (draft.leftOut.every((one) => one.model !== `${name}/${model}`))
        draft.leftOut.push({ model: `${name}/${model}`, reason, notes: [] });
    }
  }
}

/** Timeouts and connections belong to providers of Sluice, which several of the source may share. */
function network(job: Job, { name, node }: ProviderEntry, upstream: Upstream): void {
  const { draft, findings } = job;
  const settings = node.get("network_config");
  const provider = upstream.provider ?? "";
  const isShared = upstream.level !== "exact" || slug(name) !== upstream.name;
  const level = isShared ? "approximate" : "exact";
  const remark = isShared ? `Holds for all credentials of provider \`${provider}\`.` : undefined;
  const seconds = [
    ["default_request_timeout_in_seconds", "timeout_ms"],
    ["stream_idle_timeout_in_seconds", "stream_idle_timeout_ms"],
  ] as const;
  const done = (child: SourceNode | undefined): void => {
    if (remark === undefined) findings.note(child);
    else if (child !== undefined) findings.add(child, { level, message: remark });
  };
  for (const [key, setting] of seconds) {
    const child = settings?.get(key);
    if (child?.number === undefined || child.number <= 0) continue;
    draft.timeout(draft.provider(provider), setting, child.number);
    done(child);
  }
  const connections = settings?.get("max_conns_per_host");
  if (connections?.number !== undefined && connections.number >= 1) {
    draft.provider(provider)["max_connections"] = Math.min(65_535, Math.round(connections.number));
    done(connections);
  }
  const http2 = settings?.get("enforce_http2");
  if (http2?.scalar === true) {
    draft.provider(provider)["http2"] = true;
    findings.note(http2);
  }
  retries(job, name, settings);
  proxy(job, node.get("proxy_config"), provider);
}

function retries({ draft, findings }: Job, name: string, settings: SourceNode | undefined): void {
  const aliases = [...draft.aliases.values()].filter(({ alias }) => alias.startsWith(`${name}/`));
  const hasFailover = aliases.length > 0 && aliases.every(({ targets }) => targets.length > 1);
  const count = settings?.get("max_retries");
  const keys = [
    "max_retries",
    "retry_backoff_initial",
    "retry_backoff_max",
    "retry_backoff_initial_ms",
    "retry_backoff_max_ms",
  ];
  for (const child of keys.map((key) => settings?.get(key))) {
    if (child === undefined) continue;
    if (count === undefined || count.isOff)
      findings.add(child, { level: "exact", target: null, message: "Sluice does not repeat calls either." });
    else findings.note(child, hasFailover ? "approximate" : "unsupported");
  }
}

function proxy(job: Job, node: SourceNode | undefined, provider: string): void {
  const { draft, findings } = job;
  const [type, url] = [node?.get("type"), node?.get("url")];
  if (type?.text === "none" || type?.text === "environment") {
    const message = type.text === "none" ? "No proxy." : "From HTTPS_PROXY, HTTP_PROXY and NO_PROXY.";
    findings.add(type, { level: "exact", target: null, message });
    findings.add(url, { level: "exact", target: null, message });
    return;
  }
  if (url?.text === undefined) return;
  if (type?.text === "socks5") {
    for (const child of [type, url])
      findings.add(child, { level: "unsupported", target: null, message: "Forward proxies speak HTTP." });
    return;
  }
  const address = draft.url(url, "HTTPS_PROXY_URL", findings);
  if (address === undefined) return;
  draft.provider(provider)["proxy"] = address;
  if (!findings.has(url)) findings.note(url);
  findings.note(type);
}
