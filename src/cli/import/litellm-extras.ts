/** LiteLLM's guardrails, MCP servers and pass-through endpoints. */
import type { DraftGuardrail, Notes } from "./draft.ts";
import { HEADER_NAME, KEYWORD_CHARACTERS_MAX, slug } from "./draft.ts";
import type { Job } from "./job.ts";
import { envReference, referenceIn, secretValue } from "./secrets.ts";
import type { SourceNode } from "./source.ts";

export function convertExtras(job: Job): void {
  bannedKeywords(job);
  for (const entry of job.root.get("guardrails")?.items ?? []) guardrail(job, entry);
  for (const [name, entry] of job.root.get("mcp_servers")?.entries ?? []) mcpServer(job, name, entry);
  for (const entry of job.root.get("general_settings")?.get("pass_through_endpoints")?.items ?? [])
    passThrough(job, entry);
}

function addEverywhere({ draft }: Job, node: SourceNode, settings: DraftGuardrail["settings"]): void {
  const added: DraftGuardrail = { settings, notes: [] };
  draft.anchor(node, added.notes);
  for (const alias of draft.aliases.values()) alias.guardrails = [...alias.guardrails, added];
}

function bannedKeywords(job: Job): void {
  const { root, findings, secrets } = job;
  const node = root.get("litellm_settings")?.get("banned_keywords_list");
  if (node === undefined) return;
  const keywords = node.isList ? node.items.flatMap((item) => item.text ?? []) : [];
  const isUsable = (keyword: string) => keyword.length <= KEYWORD_CHARACTERS_MAX && secrets.isClean(keyword);
  if (keywords.length === 0 || !keywords.every(isUsable)) {
    const message = "The list is in a file of its own: give the words to guardrail `keyword_blocklist`.";
    return findings.add(node, { level: "manual", message });
  }
  addEverywhere(job, node, { use: "keyword_blocklist", keywords });
  findings.note(node);
}

interface Counterpart {
  readonly form: RegExp;
  readonly made: DraftGuardrail["settings"];
  readonly message: string;
}

const COUNTERPARTS: readonly Counterpart[] = [
  {
    form: /^(?:presidio|pii|zscaler_ai_guard)$/,
    made: { use: "pii", mode: "mask" },
    message:
      "Guardrail `pii` masks e-mail addresses, phone, card and social security numbers, IBANs and IP addresses; it needs no external service.",
  },
  {
    form: /^(?:hide-secrets|hide_secrets)$/,
    made: { use: "secrets", mode: "mask" },
    message: "Guardrail `secrets` masks keys and tokens by their formats.",
  },
  {
    form: /^(?:lakera|lakera_v2|lakera_prompt_injection|prompt_injection|pangea|prompt_security|azure\/prompt_shield)$/,
    made: { use: "prompt_injection" },
    message:
      "Guardrail `prompt_injection` runs in the gateway without an external service: compare its verdicts on your texts first (`shadow: true`).",
  },
];

const KINDS: Readonly<Record<string, string>> = {
  EMAIL_ADDRESS: "email",
  PHONE_NUMBER: "phone",
  CREDIT_CARD: "credit_card",
  US_SSN: "ssn",
  IBAN_CODE: "iban",
  IP_ADDRESS: "ip_address",
};

function guardrail(job: Job, entry: SourceNode): void {
  const { findings, draft } = job;
  const params = entry.get("litellm_params");
  const kind = params?.get("guardrail");
  const counterpart = COUNTERPARTS.find(({ form }) => form.test(kind?.text ?? ""));
  const name = entry.get("guardrail_name");
  if (counterpart === undefined) {
    const message =
      "Sluice has no counterpart: use guardrail `webhook` for a service, or write a plugin (`sluice init plugin NAME`).";
    for (const node of [name, kind, params?.get("mode"), params?.get("default_on")])
      findings.add(node, { level: "manual", message });
    return;
  }
  const isOn = params?.get("default_on")?.scalar === true;
  const on = sides(job, params?.get("mode"));
  const made = {
    ...counterpart.made,
    ...kindsOf(job, params?.get("pii_entities_config")),
    ...(on !== undefined && { on }),
  };
  findings.add(kind, { level: "approximate", message: counterpart.message });
  for (const key of ["api_key", "api_base"])
    findings.add(params?.get(key), {
      level: "exact",
      target: null,
      message: "Sluice's guardrail needs no external service.",
    });
  if (isOn) {
    addEverywhere(job, entry, made);
    findings.note(params?.get("default_on"));
    findings.note(name);
    return;
  }
  const message = `In Sluice guardrails belong to aliases, not to calls: add \`${JSON.stringify(made)}\` where it is wanted.`;
  for (const node of [name, params?.get("default_on")]) findings.add(node, { level: "manual", message });
  draft.anchor(entry, draft.header);
}

function sides({ findings }: Job, node: SourceNode | undefined): readonly string[] | undefined {
  const modes = node?.items.flatMap((item) => item.text ?? []) ?? [];
  const on = [
    ...(modes.some((mode) => mode === "pre_call" || mode === "during_call") ? ["input"] : []),
    ...(modes.includes("post_call") ? ["output"] : []),
  ];
  if (node === undefined) return undefined;
  if (on.length === 0 || modes.includes("logging_only")) {
    findings.add(node, {
      level: "manual",
      message: "Texts are masked for the model too; for the log alone use `log.content: redacted`.",
    });
  } else {
    findings.note(node);
  }
  return on.length === 0 || (on.length === 1 && on[0] === "input") ? undefined : on;
}

function kindsOf(
  { findings }: Job,
  node: SourceNode | undefined,
): { readonly kinds?: readonly string[]; readonly mode?: string } {
  const kinds: string[] = [];
  let blocks = 0;
  for (const [name, action] of node?.entries ?? []) {
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
    if (kind === undefined) {
      findings.add(action, {
        level: "unsupported",
        target: null,
        message: "Guardrail `pii` does not look for it.",
      });
      continue;
    }
    kinds.push(kind);
    if (action.text?.toUpperCase() === "BLOCK") blocks += 1;
    findings.note(action);
  }
  if (kinds.length === 0) return {};
  return blocks === kinds.length ? { kinds, mode: "block" } : { kinds };
}

function headersOf(job: Job, node: SourceNode | undefined, prefix: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of node?.entries ?? []) {
    if (!HEADER_NAME.test(name)) {
      job.findings.add(value, { level: "manual", message: "Not the name of a header." });
      continue;
    }
    const reference = headerValue(job, value, `${prefix}_${name}`);
    if (reference !== undefined) headers[name] = reference;
  }
  return headers;
}

/** Values of headers are secrets unless they say so little that they cannot be. */
function headerValue(job: Job, node: SourceNode, name: string): string | undefined {
  const { draft, findings } = job;
  const text = node.text;
  if (text === undefined) return undefined;
  const scheme = /^(Bearer|Basic|Token)\s+(\S+)$/i.exec(text);
  const reference = referenceIn(scheme?.[2] ?? text);
  if (reference !== undefined) {
    findings.note(node, "exact");
    return `${scheme === null ? "" : `${scheme[1]} `}${envReference(reference)}`;
  }
  if (secretValue(text).kind === "literal" && /^[\w./+-]{1,12}$/.test(text) && !/\d{3}/.test(text)) {
    findings.note(node, "exact");
    return text;
  }
  const variable = draft.variableFor(text, name.toUpperCase().replace(/[^A-Z0-9]+/g, "_"));
  findings.add(node, { level: "manual", message: `The value is hard-coded. Set ${variable} to it.` });
  return envReference(variable);
}

function mcpServer(job: Job, name: string, entry: SourceNode): void {
  const { draft, findings } = job;
  const [url, transport] = [entry.get("url"), entry.get("transport")];
  const isHttp = transport === undefined || /^(?:http|streamable[-_]?http)$/i.test(transport.text ?? "");
  if (url?.text === undefined || !isHttp) {
    for (const node of [transport ?? url ?? entry, url]) {
      findings.add(node, {
        level: "unsupported",
        target: null,
        message: "MCP servers are reached by Streamable HTTP only.",
      });
    }
    return;
  }
  findings.add(transport, { level: "exact", target: null, message: "Streamable HTTP." });
  const prefix = `MCP_${name}`.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  const address = draft.url(url, `${prefix}_URL`, findings);
  if (address === undefined) return;
  if (!findings.has(url)) findings.note(url);
  const headers = headersOf(job, entry.get("static_headers", "headers"), prefix);
  const type = entry.get("auth_type");
  const value = entry.get("auth_value", "authentication_token");
  const key = type?.text === "api_key" ? "X-API-Key" : "Authorization";
  const secret = draft.secret(value, `${prefix}_TOKEN`, findings);
  if (secret !== undefined) {
    headers[key] = type?.text === "bearer_token" ? `Bearer ${secret}` : secret;
    findings.add(type, { level: "exact", message: `Header \`${key}\`.` });
  } else if (type?.text === "none") {
    findings.add(type, { level: "exact", target: null, message: "No header." });
  }
  const notes: Notes = [];
  draft.anchor(entry, notes);
  draft.mcpServers.push({ name: slug(name) || "server", url: address, headers, notes });
}

function passThrough(job: Job, entry: SourceNode): void {
  const { draft, findings } = job;
  const [path, target] = [entry.get("path"), entry.get("target")];
  const name = slug(path?.text ?? "");
  if (name === "" || target?.text === undefined) return;
  const taken = draft.proxyEndpoints.some((one) => one.slug === name);
  const prefix = name.toUpperCase().replaceAll("-", "_");
  const url = draft.url(target, `${prefix}_URL`, findings);
  if (url === undefined || taken) {
    findings.add(path, { level: "manual", message: "Another endpoint has the same slug." });
    return;
  }
  if (!findings.has(target)) findings.note(target);
  findings.add(path, { level: "approximate", message: `Clients call \`/api/<uuid>/proxy/${name}\`.` });
  const notes: Notes = [];
  draft.anchor(entry, notes);
  const headers = headersOf(job, entry.get("headers"), prefix);
  draft.proxyEndpoints.push({ slug: name, upstreamUrl: url, headers, notes });
}
