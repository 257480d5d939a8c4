/** Projects and what they hold beside endpoints. */

import { TOKEN_SCOPES } from "../../base/scopes.ts";
import type { FilledOf } from "../../plugin/schema-type.ts";
import { alias, endpoint, endpointDefaults, movedFrom, slugForm, stageUse, uuidForm } from "./endpoint.ts";
import { moment, tokenHash } from "./gateway.ts";
import {
  choice,
  flag,
  includes,
  integer,
  list,
  mapOf,
  name,
  orNull,
  section,
  text,
  url,
  usd,
} from "./keywords.ts";

const ITEMS_MAX = 20_000;
const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const thingName = (what: string, example: string) =>
  name(`Name of the ${what}, unique in the project.`, { examples: [example] });

export const credential = section(
  "Access to one provider.",
  {
    name: thingName("credential", "openai-main"),
    provider: name("Provider key.", { examples: ["openai"] }),
    api_key: orNull(text("By reference, never written out.", { examples: ["${env:OPENAI_API_KEY}"] })),
    base_url: orNull(
      url("Where requests go; null: as the provider says.", { examples: ["https://llm.example/v1"] }),
    ),
    is_active: flag("false: counts as failed.", true),
    options: mapOf("Options of the provider's plugin.", true),
  },
  { required: ["name", "provider"] },
);

const providerTemplate = section(
  "Provider, model and credential under one name.",
  {
    name: thingName("template", "fast"),
    provider: name("Provider key.", { examples: ["openai"] }),
    model: name("Model, as the provider names it.", { examples: ["gpt-5-mini"] }),
    credential: orNull(name("Name of a credential of that provider.", { examples: ["openai-main"] })),
  },
  { required: ["name", "provider", "model"] },
);

export const token = section(
  "A client's token, by its hash.",
  {
    id: {
      type: ["integer", "string", "null"] as const,
      description: "Known by this in logs and to the control plane; else the first 12 digits of the hash.",
      default: null,
      minLength: 1,
      maxLength: 100,
      minimum: 0,
      examples: [7, "web-1"],
    },
    name: orNull(name("Whose it is; else the id.", { examples: ["web"] })),
    hash: tokenHash,
    scopes: list("What it may do.", choice("A scope.", TOKEN_SCOPES), {
      default: ["chat"],
      uniqueItems: true,
    }),
    is_active: flag("false: revoked.", true),
    monthly_budget_usd_cap: orNull(
      usd("Spend cap per calendar month over all surfaces.", { examples: [100] }),
    ),
    expires_at: orNull(moment("ISO 8601 moment after which it is refused.")),
  },
  { required: ["hash"] },
);

const headers = (description: string) =>
  mapOf(description, text("A header's value.", { examples: ["${env:CRM_KEY}"] }), {
    examples: [{ "X-Api-Key": "${env:CRM_KEY}" }],
    propertyNames: { pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" },
    maxProperties: 100,
  });

const rateLimit = (description: string) => orNull(integer(description, 1, 1_000_000_000, { examples: [60] }));

export const proxyEndpoint = section(
  "An upstream that calls are passed on to.",
  {
    slug: text("URL path segment.", { ...slugForm, examples: ["crm"] }),
    moved_from: movedFrom("slug", text("", { ...slugForm, examples: ["crm-v1"] })),
    upstream_url: url("Where calls go; rest of the path and query are appended.", {
      examples: ["https://crm.example/v2"],
    }),
    allowed_methods: list("Other methods get 405.", choice("A method.", METHODS), {
      default: METHODS,
      uniqueItems: true,
    }),
    headers: headers("Headers to add or replace."),
    oauth_connection: orNull(
      name("Name of an OAuth connection to sign calls with.", { examples: ["crm-oauth"] }),
    ),
    timeout_ms: integer("Longest call.", 1, 3_600_000, { default: 30_000 }),
    is_active: flag("false: calls get 404.", true),
    rate_limit_per_minute: rateLimit("Calls in any 60 s; null: unlimited."),
    rate_limit_per_hour: rateLimit("Calls in any 3,600 s; null: unlimited."),
  },
  { required: ["slug", "upstream_url"] },
);

export const oauthConnection = section(
  "Where access tokens for upstreams come from.",
  {
    name: thingName("connection", "crm-oauth"),
    token_url: url("The token endpoint.", { examples: ["https://auth.example/token"] }),
    client_id: name("Client id.", { examples: ["sluice"] }),
    client_secret: text("By reference, never written out.", { examples: ["${env:CRM_CLIENT_SECRET}"] }),
    grant: choice("How tokens are asked for.", ["client_credentials", "refresh_token"], {
      default: "client_credentials",
    }),
    refresh_token: orNull(
      text("For grant `refresh_token`, by reference.", { examples: ["${env:CRM_REFRESH_TOKEN}"] }),
    ),
    scopes: list("Scopes to ask for.", name("A scope.", { examples: ["crm.read"] }), {
      examples: [["crm.read"]],
    }),
  },
  { required: ["name", "token_url", "client_id", "client_secret"] },
);

export const mcpServer = section(
  "An upstream MCP server whose tools the bridge offers.",
  {
    name: thingName("server", "docs"),
    url: url("Its Streamable HTTP address.", { examples: ["https://docs.example/mcp"] }),
    headers: headers("Headers to send."),
    is_active: flag("false: its tools are not offered.", true),
  },
  { required: ["name", "url"] },
);

export const webhook = section(
  "A receiver of audit events.",
  {
    name: thingName("webhook", "siem"),
    url: url("Where payloads are posted.", { examples: ["https://siem.example/hook"] }),
    events: list("Event keys that it wants.", name("An event key.", { examples: ["guardrail.blocked"] }), {
      examples: [["guardrail.blocked", "token.revoked"]],
      uniqueItems: true,
    }),
    active: flag("false: does not fire.", true),
    secret: {
      type: ["string", "array"] as const,
      description: "Signs payloads; by reference. Two during rotation: the first signs, both may verify.",
      items: text("A secret.", { minLength: 1, examples: ["${env:SIEM_SECRET}"] }),
      minLength: 1,
      minItems: 1,
      maxItems: 2,
      examples: ["${env:SIEM_SECRET}"],
    },
  },
  { required: ["name", "url", "secret"] },
);

const bounded = { maxItems: ITEMS_MAX };

export const project = section(
  "A group of endpoints, tokens, credentials and webhooks.",
  {
    include: includes("Files that are parts of this project.", "teams/*.yaml"),
    uuid: text("Names the project in URLs and in state.", uuidForm),
    id: orNull(
      integer("Shown in webhooks; else derived from the uuid.", 0, Number.MAX_SAFE_INTEGER, {
        examples: [1],
      }),
    ),
    name: name("Shown in consoles, logs and webhooks.", { examples: ["Support"] }),
    type: choice("Which surface it serves.", ["ai_gateway", "ai_wrapper", "proxy"]),
    error_format: choice(
      "For `ai_wrapper`: how errors look. `specification`: `error` is a text. `openai`: `error` is OpenAI's object, with the specification's other members beside it. `auto`: OpenAI's for its SDKs and the AI SDK, by their headers.",
      ["auto", "specification", "openai"],
      { default: "auto" },
    ),
    credentials: list("Access to providers.", credential, bounded),
    provider_templates: list("Provider choices under a name.", providerTemplate, bounded),
    tokens: list("Clients' tokens.", token, bounded),
    endpoint_defaults: { ...endpointDefaults, default: {} },
    stages: list("Third parties' stages for the whole project.", stageUse, { maxItems: 64 }),
    endpoints: list("AI endpoints.", endpoint, bounded),
    aliases: list("For `ai_wrapper`: models that clients may name.", alias, bounded),
    proxy_endpoints: list("For `proxy`: upstreams.", proxyEndpoint, bounded),
    oauth_connections: list("Sign proxied calls.", oauthConnection, bounded),
    mcp_servers: list("Upstream MCP servers.", mcpServer, bounded),
    webhooks: list("Receivers of audit events.", webhook, bounded),
  },
  { required: ["uuid", "name", "type"] },
);

export type FilledProject = FilledOf<typeof project>;
export type FilledCredential = FilledOf<typeof credential>;
export type FilledTemplate = FilledOf<typeof providerTemplate>;
export type FilledToken = FilledOf<typeof token>;
