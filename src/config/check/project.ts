/** Projects: their names, tokens and credentials, and everything else they hold. */

import type { Spot } from "../read/tree.ts";
import { nearestOf } from "../report/suggest.ts";
import type { FilledCredential, FilledProject } from "../schema/project.ts";
import { checkCallSettings, checkCredential } from "./call-settings.ts";
import { type Check, each, isAbsent, reportUnknownPlugin, UniqueNames, under } from "./context.ts";
import { checkEndpoint } from "./endpoint.ts";
import { checkMovedFrom } from "./moved-from.ts";
import { checkCleartext } from "./network.ts";
import { checkOptions, checkStages, layered } from "./options.ts";
import { capWarner, warnOfOddEstimates, warnOfUnpricedModels } from "./prices.ts";
import { checkMistakenReference, checkSecret, checkSecretHeaders, checkSigningSecret } from "./secrets.ts";
import type { ProjectNames } from "./targets.ts";
import { checkUrl } from "./url.ts";
import { checkUsd } from "./usd.ts";

/** What may be used once in the whole gateway. */
export interface GatewayRegistries {
  readonly projectUuids: UniqueNames;
  readonly projectIds: UniqueNames;
  readonly tokenIds: UniqueNames;
  readonly tokenHashes: UniqueNames;
}

export function checkProject(
  check: Check,
  project: FilledProject,
  spot: Spot,
  registries: GatewayRegistries,
): void {
  registries.projectUuids.add(project.uuid?.toLowerCase(), under(project, "uuid", spot));
  if (project.id !== null) registries.projectIds.add(String(project.id), under(project, "id", spot));
  checkCredentials(check, project, spot);
  const names = namesOf(check, project);
  checkTemplates(check, names, spot);
  checkTokens(check, names, spot, registries);
  checkStages(check, project.stages, under(project, "stages", spot));
  const slugs = new UniqueNames(check, "slug");
  const uuids = new UniqueNames(check, "endpoint uuid");
  for (const [endpoint, place] of each(project.endpoints, under(project, "endpoints", spot))) {
    checkEndpoint(check, endpoint, place, { names, registries: { slugs, uuids } });
  }
  const aliases = new UniqueNames(check, "alias");
  for (const [alias, place] of each(project.aliases, under(project, "aliases", spot))) {
    aliases.add(alias.alias, under(alias, "alias", place));
    checkCallSettings(check, alias, place, names);
  }
  warnOfUnpricedModels(check, names, spot);
  warnOfOddEstimates(check, names, spot);
  checkProxies(check, project, spot);
  checkMovedFrom(check, project, spot);
  checkReceivers(check, project, spot);
  checkSections(check, project, spot);
}

function namesOf(check: Check, project: FilledProject): ProjectNames {
  const lists: readonly (readonly (FilledCredential | { readonly name?: string })[])[] = [
    project.credentials,
    project.provider_templates,
  ];
  const allNamed = lists.every((list) => list.every((item) => item !== null && item.name !== undefined));
  const isFaulty =
    check.tree.isFaulty(project, "credentials") || check.tree.isFaulty(project, "provider_templates");
  return {
    project,
    credentials: byName(project.credentials),
    templates: byName(project.provider_templates),
    isWhole: allNamed && !isFaulty,
  };
}

function byName<T extends { readonly name?: string }>(list: readonly T[]): ReadonlyMap<string, T> {
  return new Map(list.flatMap((item) => (item?.name === undefined ? [] : [[item.name, item]])));
}

function checkCredentials(check: Check, project: FilledProject, parent: Spot): void {
  const names = new UniqueNames(check, "credential");
  for (const [credential, spot] of each(project.credentials, under(project, "credentials", parent))) {
    names.add(credential.name, under(credential, "name", spot));
    checkUrl(check, credential, "base_url", spot);
    const { provider, api_key: key, base_url: baseUrl } = credential;
    if (key !== null) checkCleartext(check, credential, "base_url", { parent: spot, what: "its key" });
    if (provider === undefined) continue;
    const plugin = check.plugins.find("provider", provider);
    if (plugin === undefined) {
      reportUnknownPlugin(check, "provider", under(credential, "provider", spot), { name: provider });
      continue;
    }
    if (plugin.needsApiKey === false) checkMistakenReference(check, under(credential, "api_key", spot), key);
    else {
      checkSecret(check, under(credential, "api_key", spot), key);
      const isMissing = isAbsent(check, credential, "api_key") || key === "";
      if (isMissing) {
        const message = `credential \`${credential.name}\` has no \`api_key\`, and \`${provider}\` needs one`;
        check.report("E0318", under(credential, key === "" ? "api_key" : "name", spot), message, {
          help: "add `api_key: ${env:NAME}`",
        });
      }
    }
    const gateway = check.config.providers[provider];
    if (plugin.hasBaseUrl === false && baseUrl === null && (gateway?.base_url ?? null) === null) {
      const message = `provider \`${provider}\` has no address of its own: the credential needs a \`base_url\``;
      check.report("E0317", under(credential, "provider", spot), message);
    }
    const over = { options: credential.options, spot: under(credential, "options", spot) };
    const options = layered({ ...gateway?.options }, gateway?.options ?? {}, over, check.tree);
    checkOptions(check, options, plugin.schema, under(credential, "options", spot));
  }
}

function checkTemplates(check: Check, names: ProjectNames, parent: Spot): void {
  const { project } = names;
  const registry = new UniqueNames(check, "provider template");
  for (const [template, spot] of each(
    project.provider_templates,
    under(project, "provider_templates", parent),
  )) {
    registry.add(template.name, under(template, "name", spot));
    const { provider, credential } = template;
    if (credential !== null)
      checkCredential(check, under(template, "credential", spot), { provider, credential }, names);
    if (provider === undefined) continue;
    const plugin = check.plugins.find("provider", provider);
    if (plugin === undefined) {
      reportUnknownPlugin(check, "provider", under(template, "provider", spot), { name: provider });
    } else if (plugin.needsApiKey !== false && isAbsent(check, template, "credential")) {
      const message = `provider \`${provider}\` needs a key, and the template has no \`credential\``;
      check.report("E0312", under(template, "provider", spot), message);
    }
  }
}

function checkTokens(check: Check, names: ProjectNames, parent: Spot, registries: GatewayRegistries): void {
  const { project } = names;
  const tokenNames = new UniqueNames(check, "token");
  const warnOfUnpriced = capWarner(check, names);
  for (const [token, spot] of each(project.tokens, under(project, "tokens", parent))) {
    if (token.id !== null) registries.tokenIds.add(String(token.id), under(token, "id", spot));
    registries.tokenHashes.add(token.hash?.toLowerCase(), under(token, "hash", spot), "");
    if (token.name !== null) tokenNames.add(token.name, under(token, "name", spot));
    checkUsd(check, token, "monthly_budget_usd_cap", spot);
    checkExpiry(check, token, spot);
    if (token.monthly_budget_usd_cap !== null) warnOfUnpriced(under(token, "monthly_budget_usd_cap", spot));
  }
}

interface Expiring {
  readonly expires_at: string | null;
  readonly is_active?: boolean;
}

export function checkExpiry(check: Check, token: Expiring, spot: Spot): void {
  if (token.expires_at === null) return;
  const expiresAtMs = Date.parse(token.expires_at);
  const place = under(token, "expires_at", spot);
  if (Number.isNaN(expiresAtMs)) check.report("E0105", place, "expires_at is not a valid date");
  else if (token.is_active !== false && expiresAtMs <= Date.now())
    check.report("W0106", place, "the token has expired");
}

function checkProxies(check: Check, project: FilledProject, parent: Spot): void {
  const connections = new UniqueNames(check, "OAuth connection");
  for (const [connection, spot] of each(
    project.oauth_connections,
    under(project, "oauth_connections", parent),
  )) {
    connections.add(connection.name, under(connection, "name", spot));
    checkUrl(check, connection, "token_url", spot);
    checkCleartext(check, connection, "token_url", { parent: spot, what: "its secret" });
    checkSecret(check, under(connection, "client_secret", spot), connection.client_secret);
    checkSecret(check, under(connection, "refresh_token", spot), connection.refresh_token);
    if (connection.grant === "refresh_token" && isAbsent(check, connection, "refresh_token")) {
      check.report(
        "E0319",
        under(connection, "grant", spot),
        "grant `refresh_token` needs a `refresh_token`",
      );
    }
  }
  const known = project.oauth_connections.flatMap((connection) => connection?.name ?? []);
  const isWhole = known.length === project.oauth_connections.length;
  const slugs = new UniqueNames(check, "proxy slug");
  for (const [proxy, spot] of each(project.proxy_endpoints, under(project, "proxy_endpoints", parent))) {
    slugs.add(proxy.slug, under(proxy, "slug", spot));
    checkUrl(check, proxy, "upstream_url", spot);
    checkSecretHeaders(check, proxy.headers, under(proxy, "headers", spot));
    checkOwnHeaders(check, proxy.headers, under(proxy, "headers", spot));
    if (proxy.oauth_connection !== null || Object.keys(proxy.headers).length > 0)
      checkCleartext(check, proxy, "upstream_url", { parent: spot, what: "its headers" });
    const name = proxy.oauth_connection;
    if (name === null || known.includes(name) || !isWhole) continue;
    const message = `unknown OAuth connection \`${name}\``;
    check.report("E0306", under(proxy, "oauth_connection", spot), message, () =>
      nearestOf(name, known, "the project has no OAuth connections"),
    );
  }
}

/** Headers that the proxy sets itself, for each connection and each body. */
const TOLD =
  /^(?:connection|content-length|expect|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|via)$/i;
/** Characters of a header's value (RFC 9110, section 5.5). */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function checkOwnHeaders(check: Check, headers: Readonly<Record<string, string>>, spot: Spot): void {
  for (const [name, value] of Object.entries(headers)) {
    const place = under(headers, name, spot);
    if (TOLD.test(name)) check.report("E0105", place, `header \`${name}\` is the proxy's own to tell`);
    if (typeof value === "string" && !HEADER_VALUE.test(value))
      check.report(
        "E0105",
        place,
        `the value of header \`${name}\` holds a character that no header may have`,
      );
  }
}

/** The event keys that are raised. */
const EVENTS = [
  ...["auth.login_failed", "backup.exported", "guardrail.blocked", "provider.disabled", "webhook.test"],
  ...["credential.created", "credential.deactivated", "credential.deleted"],
  ...["endpoint.created", "endpoint.updated", "endpoint.deactivated"],
  ...["oauth_connection.connected", "oauth_connection.disconnected", "oauth_connection.refresh_failed"],
  ...["token.created", "token.rotated", "token.revoked", "token.deleted"],
];

function checkReceivers(check: Check, project: FilledProject, parent: Spot): void {
  const servers = new UniqueNames(check, "MCP server");
  for (const [server, spot] of each(project.mcp_servers, under(project, "mcp_servers", parent))) {
    servers.add(server.name, under(server, "name", spot));
    checkUrl(check, server, "url", spot);
    if (Object.keys(server.headers).length > 0)
      checkCleartext(check, server, "url", { parent: spot, what: "its headers" });
    checkSecretHeaders(check, server.headers, under(server, "headers", spot));
  }
  const webhooks = new UniqueNames(check, "webhook");
  for (const [webhook, spot] of each(project.webhooks, under(project, "webhooks", parent))) {
    webhooks.add(webhook.name, under(webhook, "name", spot));
    checkUrl(check, webhook, "url", spot);
    checkCleartext(check, webhook, "url", { parent: spot, what: "events" });
    for (const [event, place] of each(webhook.events, under(webhook, "events", spot))) {
      if (EVENTS.includes(event)) continue;
      check.report("W0103", place, `event \`${event}\` is never raised`, () => nearestOf(event, EVENTS, ""));
    }
    const { secret } = webhook;
    if (secret === undefined) continue;
    const place = under(webhook, "secret", spot);
    if (typeof secret === "string") checkSigningSecret(check, place, secret);
    else for (const [one, at] of each(secret, place)) checkSigningSecret(check, at, one);
  }
}

function checkSections(check: Check, project: FilledProject, spot: Spot): void {
  const { type } = project;
  if (type === undefined) return;
  const plainEndpoints = project.endpoints.some((endpoint) => endpoint?.expose_as_mcp_tool === false);
  const unserved = [
    plainEndpoints && type !== "ai_gateway" ? "endpoints" : undefined,
    project.aliases.length > 0 && type !== "ai_wrapper" ? "aliases" : undefined,
    project.proxy_endpoints.length > 0 && type !== "proxy" ? "proxy_endpoints" : undefined,
  ];
  for (const section of unserved) {
    if (section === undefined) continue;
    const message = `a project of type \`${type}\` does not serve \`${section}\``;
    check.report("W0105", under(project, section, spot), message, { at: "key" });
  }
}
