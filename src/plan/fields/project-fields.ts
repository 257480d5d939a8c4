/** What a change of each key of a project means, and of what belongs to it beside endpoints and aliases. */
import { byMoment, byNumber, bySet, STRICTER, WEAKER } from "../directions/direction.ts";
import type { ObjectKind } from "../objects.ts";
import { address } from "./address.ts";
import { always, directed, type Fields, finding, flagged, isNone } from "./field.ts";
import { choice, stageList } from "./lists.ts";

export const REFUSED_429 = "calls beyond it get 429";

export const rateLimit = directed(byNumber, {
  ...{ stricter: "P107", weaker: "P202" },
  whenStricter: REFUSED_429,
  whenWeaker: "more calls are admitted",
});

export const activeCall = flagged(false, {
  ...{ stricter: "P101", weaker: "P502" },
  whenStricter: "calls get 404",
  whenWeaker: "calls are answered",
});

/** A name that something had before its rename. */
export const movedFrom = directed((before) => (isNone(before) ? WEAKER : STRICTER), {
  ...{ stricter: "P101", weaker: "P501" },
  whenStricter: "calls by the old name get 404",
  whenWeaker: "the old name keeps answering",
});

const project: Fields = {
  uuid: always("P501"),
  id: always("P401", "webhooks name the project by it"),
  name: always("P501"),
  type: always("P102", "clients of the old surface get 400"),
  error_format: always("P401", "errors look different to clients"),
  stages: stageList,
};

const credential: Fields = {
  name: always("P501"),
  provider: address("P401"),
  api_key: always("P401"),
  base_url: address("P401"),
  is_active: flagged(false, {
    ...{ stricter: "P107", weaker: "P502" },
    whenStricter: "calls to its models fail",
  }),
  options: always("P401"),
};

const template: Fields = {
  name: always("P501"),
  provider: choice,
  model: choice,
  credential: choice,
};

const token: Fields = {
  id: always("P501"),
  name: always("P501"),
  hash: (change) => {
    const [was, is] = [change.before, change.after].map((hash) => String(hash).toLowerCase());
    return was === is
      ? [finding(change, "P501", "`hash` is written in other letters: it means the same.")]
      : [finding(change, "P104", "`hash` is replaced: the token known so far is refused.")];
  },
  scopes: directed(bySet(), {
    ...{ stricter: "P105", weaker: "P202" },
    whenStricter: "the token may do less",
    whenWeaker: "the token may do more",
  }),
  is_active: flagged(false, {
    ...{ stricter: "P104", weaker: "P202" },
    whenStricter: "it is refused",
    whenWeaker: "it is accepted",
  }),
  monthly_budget_usd_cap: directed(byNumber, {
    ...{ stricter: "P107", weaker: "P301" },
    whenStricter: "calls beyond it get 402",
    whenWeaker: "more can be spent",
  }),
  expires_at: directed(byMoment, {
    ...{ stricter: "P105", weaker: "P202" },
    whenStricter: "it is refused sooner",
    whenWeaker: "it is accepted longer",
  }),
};

const proxyEndpoint: Fields = {
  slug: always("P501"),
  moved_from: movedFrom,
  upstream_url: address("P401"),
  allowed_methods: directed(bySet(), {
    ...{ stricter: "P107", weaker: "P202" },
    whenStricter: "calls by other methods get 405",
    whenWeaker: "more methods are passed on",
  }),
  headers: always("P401"),
  oauth_connection: always("P401"),
  timeout_ms: always("P401"),
  is_active: activeCall,
  rate_limit_per_minute: rateLimit,
  rate_limit_per_hour: rateLimit,
};

const oauthConnection: Fields = {
  name: always("P501"),
  token_url: address("P401"),
  client_id: always("P401"),
  client_secret: always("P401"),
  grant: always("P401"),
  refresh_token: always("P401"),
  scopes: always("P401"),
};

const mcpServer: Fields = {
  name: always("P501"),
  url: address("P401"),
  headers: always("P401"),
  is_active: flagged(false, {
    ...{ stricter: "P106", weaker: "P502" },
    whenStricter: "its tools are no longer offered",
    whenWeaker: "its tools are offered",
  }),
};

const webhook: Fields = {
  name: always("P501"),
  url: address("P401"),
  events: directed(bySet(), {
    // Fewer events are the weaker side: somebody watches less.
    ...{ stricter: "P202", weaker: "P502" },
    whenStricter: "the receiver is told less",
    whenWeaker: "the receiver is told more",
  }),
  active: flagged(false, {
    ...{ stricter: "P202", weaker: "P502" },
    whenStricter: "the receiver is told nothing",
    whenWeaker: "the receiver is told",
  }),
  secret: always("P401", "the receiver must know the new one"),
};

export const PROJECT_FIELDS = {
  project,
  credential,
  template,
  token,
  proxy_endpoint: proxyEndpoint,
  oauth_connection: oauthConnection,
  mcp_server: mcpServer,
  webhook,
} satisfies Partial<Record<ObjectKind, Fields>>;
