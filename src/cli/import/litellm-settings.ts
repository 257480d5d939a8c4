/** LiteLLM's `litellm_settings`, `router_settings` and `general_settings`: failover, timeouts, budgets, state and log. */
import type { DraftAlias } from "./draft.ts";
import type { Verdict } from "./findings.ts";
import { type Job, starMatch } from "./job.ts";
import type { Level } from "./mapping.ts";
import { envReference, referenceIn } from "./secrets.ts";
import type { SourceNode } from "./source.ts";

export function convertSettings(job: Job): void {
  const { root } = job;
  const sections = [root.get("router_settings"), root.get("litellm_settings")];
  modelGroupAliases(job);
  // What is written under router_settings wins, so it comes first.
  const own = ownTargets(job);
  for (const section of sections) fallbacks(job, section, own);
  for (const section of sections) {
    defaultFallbacks(job, section?.get("default_fallbacks"), own);
    timeouts(job, section);
    retries(job, section?.get("num_retries"));
    verbosity(job, section?.get("set_verbose"));
  }
  modelTimeouts(job);
  modelRetries(job);
  strategy(job);
  budget(job);
  redis(job);
  bodyLimit(job);
  callbacks(job);
}

type OwnTargets = ReadonlyMap<string, readonly DraftAlias["targets"][number][]>;

/** Targets as they are before failover entries of other models are added: those of the name itself. */
function ownTargets({ draft }: Job): OwnTargets {
  return new Map([...draft.aliases].map(([name, { targets }]) => [name, [...targets]]));
}

/** Why a name has no alias. */
function absence({ root, draft }: Job, name: string): Verdict {
  const wildcards = (root.get("model_list")?.items ?? []).flatMap((entry) => {
    const pattern = entry.get("model_name")?.text ?? "";
    return pattern.includes("*") ? [pattern] : [];
  });
  const isElsewhere =
    root.get("include") !== undefined ||
    root.get("general_settings")?.get("store_model_in_db")?.scalar === true;
  const shown = `\`${name}\``;
  if (draft.leftOut.some(({ model }) => model === name)) {
    return { level: "unsupported", message: `${shown} is left out.` };
  }
  if (wildcards.some((pattern) => starMatch(pattern, name) !== undefined)) {
    return {
      level: "manual",
      message: `${shown} is matched by a wildcard of the source: add an alias for it.`,
    };
  }
  if (isElsewhere) {
    const message = `${shown} is not in this file: it may be in an included file or in LiteLLM's database.`;
    return { level: "manual", message };
  }
  return { level: "no effect", message: `No model is called ${shown}.` };
}

function modelGroupAliases(job: Job): void {
  const { root, draft, findings } = job;
  for (const [name, node] of root.get("router_settings")?.get("model_group_alias")?.entries ?? []) {
    const group = node.text ?? node.get("model")?.text ?? "";
    const original = draft.aliases.get(group);
    if (original === undefined) {
      findings.add(node, { ...absence(job, group), target: null });
      continue;
    }
    const isHidden = node.get("hidden")?.scalar === true;
    const message = isHidden
      ? "An alias with the same targets; Sluice lists all aliases."
      : "An alias with the same targets.";
    findings.add(node, { level: isHidden ? "approximate" : "exact", message });
    const { targets, notes: _, alias: __, ...settings } = original;
    const made = Object.assign(draft.alias(name), settings);
    for (const target of targets) draft.addTarget(made, target);
    draft.anchor(node, made.notes);
  }
}

function fallbacks(job: Job, section: SourceNode | undefined, own: OwnTargets): void {
  const { draft, findings } = job;
  for (const entry of section?.get("fallbacks")?.items ?? []) {
    for (const [name, list] of entry.entries) {
      const aliases = aliasesCalled(job, name);
      const names = list.items.flatMap((item) => item.text ?? item.get("model")?.text ?? []);
      if (aliases.length === 0) {
        findings.add(list, { ...absence(job, name), target: null });
        continue;
      }
      for (const alias of aliases) draft.anchor(list, alias.notes);
      const missing = names.filter((other) => !own.has(other));
      for (const alias of aliases) addTargets(job, alias, names, own);
      reportFailover(job, list, { names, missing });
    }
  }
}

/** A wildcard names those that it was expanded to. */
function aliasesCalled({ draft }: Job, name: string): readonly DraftAlias[] {
  const alias = draft.aliases.get(name);
  if (alias !== undefined) return [alias];
  if (!name.includes("*")) return [];
  return [...draft.aliases.values()].filter((one) => starMatch(name, one.alias) !== undefined);
}

function addTargets({ draft }: Job, alias: DraftAlias, names: readonly string[], own: OwnTargets): void {
  for (const target of names.flatMap((other) => own.get(other) ?? [])) draft.addTarget(alias, target);
}

function reportFailover(
  job: Job,
  node: SourceNode,
  { names, missing }: { readonly names: readonly string[]; readonly missing: readonly string[] },
): void {
  const { findings } = job;
  if (missing.length === 0) return findings.note(node);
  const verdicts = missing.map((name) => absence(job, name));
  const isDead = missing.length === names.length && verdicts.every(({ level }) => level === "no effect");
  const [worst] = verdicts.toSorted((a, b) => SEVERITY.indexOf(a.level) - SEVERITY.indexOf(b.level));
  const level = isDead || worst === undefined || worst.level !== "no effect" ? worst?.level : "approximate";
  findings.add(node, {
    level: level ?? "approximate",
    message: verdicts.map(({ message }) => message).join(" "),
  });
}

/** What matters most of several verdicts comes first. */
const SEVERITY: readonly Level[] = ["manual", "unsupported", "approximate", "exact", "no effect"];

function defaultFallbacks(job: Job, node: SourceNode | undefined, own: OwnTargets): void {
  if (node === undefined) return;
  const names = node.items.flatMap((item) => item.text ?? []);
  for (const alias of job.draft.aliases.values()) addTargets(job, alias, names, own);
  reportFailover(job, node, { names, missing: names.filter((name) => !own.has(name)) });
}

/** Calls wait by Sluice's defaults unless the source says otherwise. */
const REQUEST_TIMEOUT_SECONDS = 120;

function timeouts(job: Job, section: SourceNode | undefined): void {
  const { draft, findings } = job;
  for (const node of [section?.get("request_timeout"), section?.get("timeout")]) {
    const seconds = secondsOf(job, node);
    if (node === undefined || seconds === undefined) continue;
    if (findings.has(node)) continue;
    for (const key of usedProviders(job)) draft.timeout(draft.provider(key), "timeout_ms", seconds);
    wholeCall(job, seconds);
    draft.anchor(node, draft.sectionNotes("providers"));
    findings.note(node);
  }
  const stream = section?.get("stream_timeout");
  const seconds = secondsOf(job, stream);
  if (stream === undefined || seconds === undefined) return;
  for (const key of usedProviders(job)) draft.timeout(draft.provider(key), "first_byte_timeout_ms", seconds);
  draft.anchor(stream, draft.sectionNotes("providers"));
  findings.note(stream);
}

/** A call may ask several targets, each for that long. */
function wholeCall({ draft }: Job, seconds: number): void {
  const attempts = Math.max(1, ...[...draft.aliases.values()].map(({ targets }) => targets.length));
  if (seconds * attempts > REQUEST_TIMEOUT_SECONDS)
    draft.timeout(draft.server, "request_timeout_ms", seconds * attempts);
}

function secondsOf({ findings }: Job, node: SourceNode | undefined): number | undefined {
  const seconds = node?.number;
  if (node === undefined || (seconds !== undefined && seconds > 0)) return seconds;
  findings.add(node, {
    level: "manual",
    message: "The value is not in the file: set the timeouts of `providers` and `server`.",
  });
  return undefined;
}

function usedProviders({ draft }: Job): readonly string[] {
  return [...new Set(draft.credentials.map(({ provider }) => provider))];
}

function modelTimeouts(job: Job): void {
  const { root, draft, findings } = job;
  const keys = [
    ["timeout", "timeout_ms"],
    ["stream_timeout", "first_byte_timeout_ms"],
  ] as const;
  for (const entry of root.get("model_list")?.items ?? []) {
    const provider = draft.aliases.get(entry.get("model_name")?.text ?? "")?.targets[0]?.credential.provider;
    for (const [key, setting] of keys) {
      const node = entry.get("litellm_params")?.get(key);
      if (node === undefined || provider === undefined || findings.has(node)) continue;
      const seconds = secondsOf(job, node);
      if (seconds === undefined) continue;
      draft.timeout(draft.provider(provider), setting, seconds);
      if (setting === "timeout_ms") wholeCall(job, seconds);
      findings.note(node);
    }
  }
}

function retries({ draft, findings }: Job, node: SourceNode | undefined): void {
  if (node === undefined) return;
  const aliases = [...draft.aliases.values()];
  const single = aliases.filter(({ targets }) => targets.length === 1);
  if (node.isOff)
    return findings.add(node, {
      level: "exact",
      target: null,
      message: "Sluice does not repeat calls either.",
    });
  if (single.length === 0) return findings.note(node, "approximate");
  const which = single.length === 1 ? "one alias has" : `${single.length} aliases have`;
  const message = `Sluice does not repeat a call to the same target, and ${which} no failover: add a second target, or let clients retry.`;
  findings.add(node, { level: "unsupported", message });
}

function modelRetries({ root, draft, findings }: Job): void {
  for (const entry of root.get("model_list")?.items ?? []) {
    const alias = draft.aliases.get(entry.get("model_name")?.text ?? "");
    for (const key of ["num_retries", "max_retries"]) {
      const node = entry.get("litellm_params")?.get(key);
      if (node === undefined || findings.has(node)) continue;
      const hasFailover = (alias?.targets.length ?? 0) > 1;
      findings.note(node, hasFailover ? "approximate" : "unsupported");
    }
  }
}

function verbosity({ draft, findings }: Job, node: SourceNode | undefined): void {
  if (node?.scalar !== true) return;
  draft.log["level"] = "debug";
  draft.anchor(node, draft.sectionNotes("log"));
  findings.note(node);
}

function strategy({ root, draft, findings }: Job): void {
  const node = root.get("router_settings")?.get("routing_strategy");
  if (node === undefined) return;
  const isSpread = [...draft.aliases.values()].some(({ targets }) => targets.length > 1);
  if (isSpread) findings.note(node);
  else findings.add(node, { level: "exact", target: null, message: "Every name has one target." });
}

const MONTHS = /^(?:30d|31d|1mo|1M|monthly)$/;

function budget({ root, draft, findings }: Job): void {
  const settings = root.get("litellm_settings");
  const [cap, period] = [settings?.get("max_budget"), settings?.get("budget_duration")];
  if (cap?.number === undefined || cap.number <= 0) return;
  const length = period?.text;
  if (length !== undefined && !MONTHS.test(length)) {
    const message =
      "Budgets of Sluice are per calendar month: set `monthly_budget_usd_cap` of the token to what a month may cost.";
    for (const node of [cap, period]) findings.add(node, { level: "manual", message });
    return;
  }
  draft.token("clients").capUsd = Number(cap.number.toFixed(9));
  draft.anchor(cap, draft.token("clients").notes);
  findings.note(cap);
  if (length !== undefined && length !== "1mo") {
    findings.add(period, {
      level: "approximate",
      message: "Calendar months (UTC) instead of periods of 30 days.",
    });
  } else {
    findings.note(period, "exact");
  }
}

function redis(job: Job): void {
  const { root, draft, findings } = job;
  const settings = root.get("router_settings");
  const whole = settings?.get("redis_url");
  const parts = ["redis_host", "redis_port", "redis_password", "redis_db"].map((key) => settings?.get(key));
  const [host, port, password, database] = parts;
  if (whole === undefined && host === undefined) return;
  const given = [whole, ...parts].filter((node) => node !== undefined);
  for (const node of given) findings.note(node);
  const text = (node: SourceNode | undefined, variable: string, usual: string): string => {
    if (node === undefined) return "";
    const name = referenceIn(node.text ?? "");
    if (name !== undefined) draft.testEnv.set(name, usual);
    return name === undefined ? String(node.scalar ?? variable) : envReference(name);
  };
  draft.state["driver"] = "redis";
  for (const node of given) draft.anchor(node, draft.sectionNotes("state"));
  if (whole !== undefined) {
    draft.state["url"] = draft.secret(whole, "REDIS_URL", findings);
    draft.testEnv.set(referenceIn(whole.text ?? "") ?? "REDIS_URL", "redis://127.0.0.1:6379");
    return;
  }
  const secret = draft.secret(password, "REDIS_PASSWORD", findings);
  const user = secret === undefined ? "" : `:${secret}@`;
  const where = `${text(host, "REDIS_HOST", "127.0.0.1")}:${port === undefined ? "6379" : text(port, "REDIS_PORT", "6379")}`;
  const path = database === undefined ? "" : `/${text(database, "REDIS_DB", "0")}`;
  draft.state["url"] = `redis://${user}${where}${path}`;
}

function bodyLimit({ root, draft, findings }: Job): void {
  const node = root.get("general_settings")?.get("max_request_size_mb");
  if (node?.number === undefined || node.number <= 0) return;
  draft.server["max_body_bytes"] = Math.min(1_073_741_824, Math.round(node.number * 1024 * 1024));
  draft.anchor(node, draft.sectionNotes("server"));
  findings.note(node);
}

const METRICS: ReadonlySet<string> = new Set(["prometheus", "prometheus_system"]);
/** Integrations that take OTLP. */
const TRACES =
  /^(?:otel|opentelemetry|arize|arize_phoenix|langfuse|langfuse_otel|langsmith|logfire|traceloop|levo|weave_otel|datadog|openmeter|signoz|braintrust|opik|helicone|lunary|newrelic|honeycomb)$/;

function callbacks({ root, findings }: Job): void {
  const settings = root.get("litellm_settings");
  const keys = [
    "callbacks",
    "success_callback",
    "failure_callback",
    "service_callback",
    "service_callbacks",
    "input_callback",
  ];
  for (const node of keys.flatMap((key) => settings?.get(key)?.items ?? [])) {
    const name = node.text ?? "";
    if (METRICS.has(name)) {
      findings.add(node, {
        level: "exact",
        target: null,
        message: "Metrics are always at `/metrics` of the admin listener.",
      });
    } else if (TRACES.test(name)) {
      const message = `Set \`telemetry.otlp.endpoint\` to ${name.startsWith("otel") ? "the collector" : `the OTLP endpoint of ${name}`}, and its key under \`telemetry.otlp.headers\`.`;
      findings.add(node, { level: "manual", target: "telemetry.otlp", message });
    } else if (name === "banned_keywords") {
      findings.add(node, {
        level: "exact",
        target: "projects[].aliases[].guardrails[]",
        message: "Guardrail `keyword_blocklist`.",
      });
    } else if (name.includes(".")) {
      const message = "Custom code: write a stage plugin (`sluice init plugin NAME --kind stage`).";
      findings.add(node, { level: "manual", target: "plugins[]", message });
    } else findings.note(node);
  }
}
