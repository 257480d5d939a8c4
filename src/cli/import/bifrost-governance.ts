/** Bifrost's virtual keys, budgets, MCP clients, plugins and client settings. */
import { type Draft, type DraftAlias, HEADER_NAME, slug } from "./draft.ts";
import type { Job } from "./job.ts";
import { envReference, referenceIn } from "./secrets.ts";
import type { SourceNode } from "./source.ts";

export function convertGovernance(job: Job): void {
  const { root, draft } = job;
  const governance = root.get("governance");
  const keys = governance?.get("virtual_keys")?.items ?? [];
  for (const key of keys) virtualKey(job, key);
  if (keys.length === 0) draft.token("clients");
  unusedBudgets(job);
  bareNames(job, keys);
  for (const server of root.get("mcp")?.get("client_configs")?.items ?? []) mcpServer(job, server);
  for (const plugin of root.get("plugins")?.items ?? []) convertPlugin(job, plugin);
  clientSettings(job, root.get("client"));
}

function virtualKey(job: Job, key: SourceNode): void {
  const { draft, findings } = job;
  const id = slug(key.get("name")?.text ?? key.get("id")?.text ?? "") || `key-${draft.tokens.length + 1}`;
  const token = draft.token(freeId(draft, job.secrets.isClean(id) ? id : `key-${draft.tokens.length + 1}`));
  draft.anchor(key, token.notes);
  if (key.get("is_active")?.scalar === false) token.isActive = false;
  const expiry = key.get("expires_at");
  if (expiry?.text !== undefined) {
    if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(expiry.text))
      token.expiresAt = expiry.text;
    else findings.add(expiry, { level: "manual", message: "Not an ISO 8601 moment: set `expires_at`." });
  }
  const budgets = budgetsOf(job, key);
  const reference = key.get("budget_id", "budgets");
  const usable = budgets
    .map((node) => ({ node, ...capOf(job, node) }))
    .filter(({ usd }) => usd !== undefined);
  const caps = usable.map(({ usd = 0 }) => usd);
  if (caps.length > 0) {
    token.capUsd = Number(Math.min(...caps).toFixed(9));
    findings.add(reference, { level: "exact", message: "A monthly cap." });
  } else if (reference !== undefined) {
    const level = budgets.length === 0 ? "no effect" : "manual";
    const message =
      budgets.length === 0
        ? "No budget has this id."
        : "Budgets of Sluice are per calendar month: set `monthly_budget_usd_cap`.";
    findings.add(reference, { level, message });
  }
}

function freeId({ tokens }: Draft, id: string): string {
  let free = id;
  for (let count = 2; tokens.some((token) => token.id === free); count++) free = `${id}-${count}`;
  return free;
}

/** By reference, by owner, or written inside the key. */
function budgetsOf({ root }: Job, key: SourceNode): readonly SourceNode[] {
  const all = root.get("governance")?.get("budgets")?.items ?? [];
  const id = key.get("id")?.text;
  const wanted = key.get("budget_id")?.text;
  const own = all.filter(
    (budget) =>
      (wanted !== undefined && budget.get("id")?.text === wanted) ||
      (id !== undefined && budget.get("virtual_key_id")?.text === id),
  );
  return [...own, ...(key.get("budgets")?.items.filter((item) => item.isMap) ?? [])];
}

function capOf({ findings }: Job, budget: SourceNode): { readonly usd: number | undefined } {
  const [limit, period] = [budget.get("max_limit"), budget.get("reset_duration")];
  const usd = limit?.number;
  const length = period?.text ?? "";
  if (usd === undefined || usd < 0 || !/^(?:1M|1mo|30d|31d|4w)$/.test(length)) {
    const message =
      "Budgets of Sluice are per calendar month: set `monthly_budget_usd_cap` of the token to what a month may cost.";
    for (const node of [limit, period]) findings.add(node, { level: "manual", message });
    return { usd: undefined };
  }
  findings.note(limit, "exact");
  if (length.endsWith("M") || length === "1mo") findings.note(period, "exact");
  else
    findings.add(period, {
      level: "approximate",
      message: "Calendar months (UTC) instead of rolling periods.",
    });
  return { usd };
}

function unusedBudgets({ root, findings }: Job): void {
  for (const budget of root.get("governance")?.get("budgets")?.items ?? []) {
    for (const node of [budget.get("max_limit"), budget.get("reset_duration")]) {
      if (node === undefined || findings.has(node)) continue;
      findings.add(node, {
        level: "manual",
        message: "No virtual key refers to it: budgets are those of tokens and aliases.",
      });
    }
  }
}

/** Clients of virtual keys may name a model without its provider: the heaviest provider is asked first. */
function bareNames(job: Job, keys: readonly SourceNode[]): void {
  const { draft } = job;
  const configs = keys.flatMap((key) => key.get("provider_configs")?.items ?? []);
  const heaviest = new Map<string, number>();
  for (const config of configs) {
    const [provider, weight] = [config.get("provider")?.text, config.get("weight")?.number ?? 0];
    if (provider !== undefined) heaviest.set(provider, Math.max(weight, heaviest.get(provider) ?? 0));
    report(job, config, provider);
  }
  const order = [...heaviest].toSorted((a, b) => b[1] - a[1]).map(([provider]) => provider);
  const own = new Map<string, readonly DraftAlias["targets"][number][]>();
  for (const [name, alias] of draft.aliases) own.set(name, [...alias.targets]);
  for (const provider of order) {
    for (const [name, targets] of own) {
      if (!name.startsWith(`${provider}/`)) continue;
      const alias = draft.alias(name.slice(provider.length + 1));
      for (const target of targets) draft.addTarget(alias, target);
    }
  }
}

function report({ root, findings }: Job, config: SourceNode, provider: string | undefined): void {
  const node = config.get("provider");
  const isKnown = provider !== undefined && root.get("providers")?.get(provider) !== undefined;
  if (!isKnown) {
    findings.add(node, { level: "no effect", target: null, message: "No provider has this name." });
    return;
  }
  const models = config.get("allowed_models");
  const keys = config.get("key_ids", "keys");
  const restricts = (list: SourceNode | undefined) =>
    list !== undefined && !list.items.some(({ text }) => text === "*");
  if (restricts(models) || restricts(keys)) return;
  findings.add(node, { level: "exact", target: "projects[].aliases[]", message: "Aliases of the project." });
  for (const list of [models, keys])
    findings.add(list, { level: "exact", target: null, message: "All of them." });
}

function mcpServer(job: Job, node: SourceNode): void {
  const { draft, findings } = job;
  const [name, type] = [node.get("name"), node.get("connection_type")];
  const url = node.get("connection_string");
  const address = url?.isMap ? (url.get("env_var") ?? url.get("value")) : url;
  if (type?.text !== "http" || address?.text === undefined) {
    for (const one of [name, type, url])
      findings.add(one, {
        level: "unsupported",
        target: null,
        message: "MCP servers are reached by Streamable HTTP only.",
      });
    for (const header of node.get("headers")?.children ?? [])
      findings.add(header, {
        level: "unsupported",
        target: null,
        message: "Belongs to a server that is left out.",
      });
    return;
  }
  const prefix = `MCP_${slug(name?.text ?? "server").replaceAll("-", "_")}`.toUpperCase();
  const written = draft.url(address, `${prefix}_URL`, findings);
  if (written === undefined) return;
  if (!findings.has(address)) findings.note(address);
  const headers: Record<string, string> = {};
  for (const [key, value] of node.get("headers")?.entries ?? []) {
    if (!HEADER_NAME.test(key)) {
      findings.add(value, { level: "manual", message: "Not the name of a header." });
      continue;
    }
    const secret = value.isMap ? (value.get("env_var") ?? value.get("value")) : value;
    const variable = `${prefix}_${key.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}`;
    const scheme = /^(Bearer|Basic)\s+(\S+)$/i.exec(secret?.text ?? "");
    const name = referenceIn(scheme?.[2] ?? "");
    if (scheme !== null && name !== undefined) {
      headers[key] = `${scheme[1]} ${envReference(name)}`;
      findings.note(value, "exact");
      continue;
    }
    const reference = draft.secret(secret, variable, findings);
    if (reference !== undefined) headers[key] = reference;
  }
  const notes: string[] = [];
  draft.anchor(node, notes);
  draft.mcpServers.push({
    name: slug(name?.text ?? "") || `server-${draft.mcpServers.length + 1}`,
    url: written,
    headers,
    notes,
  });
}

const BUILT_IN: Readonly<Record<string, string>> = {
  governance: "Tokens, budgets and limits are always checked.",
  logging: "Every call is a JSON line on stdout.",
  telemetry: "Metrics are always at `/metrics` of the admin listener.",
  prometheus: "Metrics are always at `/metrics` of the admin listener.",
};

function convertPlugin(job: Job, node: SourceNode): void {
  const { draft, findings } = job;
  const name = node.get("name")?.text ?? "";
  if (node.get("enabled")?.scalar === false) {
    return findings.add(node, { level: "exact", target: null, message: "Switched off." });
  }
  const builtIn = Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name] : undefined;
  if (builtIn !== undefined) return findings.add(node, { level: "exact", target: null, message: builtIn });
  if (name === "otel") {
    const url = node.get("config")?.get("collector_url", "endpoint");
    const isHttp = node.get("config")?.get("protocol")?.text !== "grpc";
    const text = referenceIn(url?.text ?? "") === undefined ? url?.text : undefined;
    if (url !== undefined && isHttp && text !== undefined && /^https?:/.test(text)) {
      const address = draft.url(url, "OTLP_ENDPOINT", findings)?.replace(/\/v1\/traces$/, "");
      draft.telemetry["otlp"] = { endpoint: address };
      return findings.add(node, {
        level: "approximate",
        target: "telemetry.otlp.endpoint",
        message:
          "Traces go to the same collector by OTLP over HTTP; headers are set under `telemetry.otlp.headers`.",
      });
    }
    return findings.add(node, {
      level: "manual",
      target: "telemetry.otlp.endpoint",
      message: "Traces go by OTLP over HTTP: set `telemetry.otlp.endpoint` to the collector.",
    });
  }
  if (/semantic_?cache/.test(name)) {
    return findings.add(node, {
      level: "unsupported",
      target: null,
      message: "Sluice has no cache of answers.",
    });
  }
  if (name === "mocker") {
    return findings.add(node, {
      level: "manual",
      target: "projects[].aliases[].provider",
      message: "Provider `mock` answers from a template.",
    });
  }
  findings.add(node, {
    level: "manual",
    target: "plugins[]",
    message: "Write a stage plugin (`sluice init plugin NAME --kind stage`).",
  });
}

function clientSettings({ draft, findings }: Job, client: SourceNode | undefined): void {
  const limit = client?.get("max_request_body_size_mb");
  if (limit?.number !== undefined && limit.number > 0) {
    draft.server["max_body_bytes"] = Math.min(1_073_741_824, Math.round(limit.number * 1024 * 1024));
    findings.note(limit);
  }
  if (client?.get("enable_logging")?.scalar === false)
    findings.add(client.get("enable_logging"), {
      level: "approximate",
      message: "Calls are logged without texts; `log.level: warn` leaves them out.",
    });
  const content = client?.get("disable_content_logging");
  if (content?.scalar === false && client?.get("enable_logging")?.scalar !== false)
    findings.add(content, {
      level: "manual",
      message: "Set `log.content: redacted` or `full` if texts are to be logged.",
    });
  for (const key of ["enforce_governance_header", "enforce_auth_on_inference"]) {
    const node = client?.get(key);
    if (node?.scalar === false)
      findings.add(node, {
        level: "manual",
        message: "Every call needs a token in Sluice: give one to each client.",
      });
  }
}
