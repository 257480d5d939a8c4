/** The draft as `gateway.config.yaml`: sections in the order of the documentation, defaults left out. */
import { uuidV5 } from "../../base/ids.ts";
import type { Draft, DraftAlias, DraftCredential, DraftGuardrail, DraftPrice, DraftToken } from "./draft.ts";
import { Block, commentLines, List, type Pair, type Value, yamlText } from "./yaml-text.ts";

/** Namespace of the projects that imports make. */
const NAMESPACE = "0f1f3a53-6d0c-5b3c-9d0b-6d9a3a0c7c11";

export interface WrittenConfig {
  readonly text: string;
  /** Of the project with the aliases. */
  readonly projectUuid: string;
}

export function configText(draft: Draft, about: readonly string[]): WrittenConfig {
  // From what it says, so that two imports do not share a uuid and the same import makes the same file.
  const contents = yamlText(contentsOf(draft, () => ""));
  const uuidOf = (name: string) => uuidV5(NAMESPACE, `${name}\n${contents}`);
  const intro = [
    ...commentLines(about),
    ...(draft.header.length > 0 ? ["#", ...commentLines(draft.header)] : []),
  ];
  const text = `${intro.join("\n")}\n${yamlText(contentsOf(draft, uuidOf))}`;
  return { text, projectUuid: uuidOf("aliases") };
}

type UuidOf = (name: string) => string;

function contentsOf(draft: Draft, uuidOf: UuidOf): Block {
  const sections = [
    { key: "server", value: draft.server },
    { key: "state", value: draft.state },
    { key: "log", value: draft.log },
    { key: "telemetry", value: draft.telemetry },
  ].filter(({ value }) => Object.keys(value).length > 0);
  const providers = [...draft.providers].filter(([, settings]) => Object.keys(settings).length > 0);
  const pairs: Pair[] = [
    { key: "version", value: 1 },
    ...sections.map(({ key, value }) => ({
      key,
      value: asBlock(value),
      notes: draft.sectionNotes(key),
      isApart: true,
    })),
  ];
  if (providers.length > 0) {
    const value = new Block(providers.map(([key, settings]) => ({ key, value: asValue(settings) })));
    pairs.push({ key: "providers", value, notes: draft.sectionNotes("providers"), isApart: true });
  }
  if (draft.prices.size > 0) {
    const notes = ["USD per 1,000,000 tokens."];
    const value = new List([...draft.prices.values()].map((price) => ({ value: priceOf(price) })));
    pairs.push({ key: "prices", value, notes, isApart: true });
  }
  const projects = [wrapperProject(draft, uuidOf), ...proxyProject(draft, uuidOf)];
  pairs.push({ key: "projects", value: new List(projects.map((value) => ({ value }))), isApart: true });
  return new Block(pairs);
}

function wrapperProject(draft: Draft, uuidOf: UuidOf): Block {
  const pairs: Pair[] = [
    { key: "uuid", value: uuidOf("aliases") },
    { key: "name", value: draft.projectName },
    { key: "type", value: "ai_wrapper" },
    tokensPair(draft.tokens, ["chat", "models", ...(draft.mcpServers.length > 0 ? ["mcp"] : [])], 1),
  ];
  if (draft.credentials.length > 0) {
    const items = draft.credentials.map((one) => ({ value: credentialOf(one), notes: one.notes }));
    pairs.push({ key: "credentials", value: new List(items), isApart: true });
  }
  const aliases = [...draft.aliases.values()];
  const leftOut = leftOutNotes(draft);
  if (aliases.length > 0) {
    const written = new Set<DraftGuardrail>();
    const items = aliases.map((alias) => ({ value: aliasOf(alias, written), notes: alias.notes }));
    pairs.push({ key: "aliases", value: new List(items), notes: leftOut, isApart: true });
  } else {
    pairs.push({ key: "aliases", value: [], notes: leftOut, isApart: true });
  }
  if (draft.mcpServers.length > 0) {
    const items = draft.mcpServers.map(({ name, url, headers, notes }) => ({
      notes,
      value: { name, url, ...(Object.keys(headers).length > 0 && { headers }) },
    }));
    pairs.push({ key: "mcp_servers", value: new List(items), isApart: true });
  }
  return new Block(pairs);
}

function proxyProject(draft: Draft, uuidOf: UuidOf): readonly Block[] {
  if (draft.proxyEndpoints.length === 0) return [];
  const items = draft.proxyEndpoints.map(({ slug, upstreamUrl, headers, notes }) => ({
    notes,
    value: { slug, upstream_url: upstreamUrl, ...(Object.keys(headers).length > 0 && { headers }) },
  }));
  const token: DraftToken = { id: "proxy-clients", notes: [] };
  return [
    new Block([
      { key: "uuid", value: uuidOf("proxy") },
      { key: "name", value: `${draft.projectName} pass-through` },
      { key: "type", value: "proxy" },
      tokensPair([token], ["proxy"], draft.tokens.length + 1),
      { key: "proxy_endpoints", value: new List(items), isApart: true },
    ]),
  ];
}

const TOKEN_NOTE =
  "Placeholders: no token has these hashes. Create tokens with `sluice token new --name NAME` and put their hashes here.";

function tokensPair(tokens: readonly DraftToken[], scopes: readonly string[], first: number): Pair {
  const items = tokens.map((token, index) => ({
    value: tokenOf(token, scopes, first + index),
    notes: token.notes,
  }));
  return { key: "tokens", value: new List(items), notes: [TOKEN_NOTE], isApart: true };
}

function tokenOf(token: DraftToken, scopes: readonly string[], place: number): Block {
  const { id, capUsd, isActive, expiresAt } = token;
  return new Block([
    { key: "id", value: id },
    { key: "name", value: id },
    { key: "hash", value: `sha256:${place.toString(16).padStart(64, "0")}` },
    { key: "scopes", value: scopes },
    ...(capUsd === undefined ? [] : [{ key: "monthly_budget_usd_cap", value: capUsd }]),
    ...(expiresAt === undefined ? [] : [{ key: "expires_at", value: expiresAt }]),
    ...(isActive === false ? [{ key: "is_active", value: false }] : []),
  ]);
}

function credentialOf({ name, provider, apiKey, baseUrl, options }: DraftCredential): Value {
  return {
    name,
    provider,
    ...(apiKey !== undefined && { api_key: apiKey }),
    ...(baseUrl !== undefined && { base_url: baseUrl }),
    ...(Object.keys(options).length > 0 && { options: asValue(options) }),
  };
}

/** One line where it is short: most aliases are a name and a target. */
function aliasOf(alias: DraftAlias, written: Set<DraftGuardrail>): Value {
  const [primary, ...failover] = alias.targets;
  const choice = {
    alias: alias.alias,
    ...(primary !== undefined && {
      provider: primary.credential.provider,
      model: primary.model,
      credential: primary.credential.name,
    }),
  };
  const settings = {
    ...(alias.temperature !== undefined && { temperature: alias.temperature }),
    ...(alias.topP !== undefined && { top_p: alias.topP }),
    ...(alias.maxOutputTokens !== undefined && { max_output_tokens: alias.maxOutputTokens }),
    ...(alias.ratePerMinute !== undefined && { rate_limit_per_minute: alias.ratePerMinute }),
  };
  if (failover.length === 0 && alias.guardrails.length === 0) return { ...choice, ...settings };
  const pairs: Pair[] = Object.entries(choice).map(([key, value]) => ({ key, value }));
  if (failover.length > 0) {
    const items = failover.map(({ credential, model }) => ({
      value: { credential: credential.name, model },
    }));
    pairs.push({ key: "failover", value: new List(items) });
  }
  pairs.push(...Object.entries(settings).map(([key, value]) => ({ key, value })));
  if (alias.guardrails.length > 0) {
    const items = alias.guardrails.map((one) => ({
      value: asValue(one.settings),
      notes: written.has(one) ? [] : one.notes,
    }));
    for (const one of alias.guardrails) written.add(one);
    pairs.push({ key: "guardrails", value: new List(items) });
  }
  return new Block(pairs);
}

function leftOutNotes({ leftOut }: Draft): readonly string[] {
  const lines = leftOut.flatMap(({ model, reason, notes }) => [
    ...notes,
    `  ${model}: ${reason.replace(/\.$/, "")}`,
  ]);
  return lines.length === 0 ? [] : ["Left out:", ...lines];
}

function priceOf({ provider, model, input, output, cachedInput, cacheWrite }: DraftPrice): Value {
  return {
    ...{ provider, model, input, output },
    ...(cachedInput !== undefined && { cached_input: cachedInput }),
    ...(cacheWrite !== undefined && { cache_write: cacheWrite }),
  };
}

function asBlock(settings: Readonly<Record<string, unknown>>): Block {
  return new Block(Object.entries(settings).map(([key, value]) => ({ key, value: asValue(value) })));
}

/** Settings are plain data: converters put nothing else into a draft. */
function asValue(value: unknown): Value {
  return value as Value;
}
