/** What a change of each key of the whole gateway means: its sections, providers, prices, plugins and control tokens. */
import { byAddresses, byListener } from "../directions/addresses.ts";
import { byMoment, byRank, bySetOrAll, known } from "../directions/direction.ts";
import { address } from "./address.ts";
import { always, directed, type Field, type Fields, finding, flagged, nested } from "./field.ts";
import { priceFields } from "./price-fields.ts";

const RESTART = "takes effect after a restart";
const restart: Field = always("P601", RESTART);
const restartOr = (compare: Parameters<typeof directed>[0], whenWeaker: string): Field =>
  directed(compare, {
    ...{ stricter: "P601", weaker: "P202" },
    whenStricter: RESTART,
    whenWeaker: `${whenWeaker}; ${RESTART}`,
  });

const server: Fields = {
  host: restartOr(byListener, "more machines can connect"),
  port: restart,
  max_body_bytes: restart,
  max_buffered_bytes: restart,
  max_connections_per_address: restart,
  max_judged_characters: restart,
  request_timeout_ms: restart,
  stream_idle_timeout_ms: restart,
  stream_timeout_ms: restart,
  drain_timeout_ms: restart,
  lame_duck_ms: restart,
  body_timeout_ms: restart,
  trusted_proxies: restartOr(byAddresses, "more peers may say whose address a call comes from"),
  expose_config_hash: restart,
  expose_cost: restart,
};

const admin: Fields = {
  enabled: restart,
  host: restartOr(byListener, "more machines can connect"),
  port: restart,
  metrics_token: restartOr(
    known((before, after) => ({ stricter: after !== null, weaker: before !== null && after === null })),
    "`/metrics` is open to everybody who can connect",
  ),
};

const allowed = (what: string): Field => restartOr(byRank("deny", "allow"), what);

const state: Fields = {
  driver: address("P601", RESTART),
  directory: restart,
  snapshot_interval_seconds: restart,
  on_error: restartOr(byRank("refuse", "degrade"), "calls are served from memory after a disk error"),
  url: address("P601", RESTART),
  key_prefix: restart,
  on_unavailable: allowed("calls are served without limits and budgets while the store is lost"),
  on_data_loss: allowed("calls are served after the store has lost limits and spend"),
  options: restart,
  max_sessions: restart,
};

const contentLevel = byRank("none", "redacted", "full");
const content = (what: string): Field =>
  directed(contentLevel, { stricter: "P401", weaker: "P202", whenWeaker: what });

/** By the name of the section. */
const sections: Readonly<Record<string, Fields>> = {
  // Only one is supported.
  version: { value: always("P401") },
  server,
  admin,
  state,
  reload: { watch: always("P401") },
  calls: {
    keep: always("P401"),
    content: content("texts of more calls are kept"),
  },
  log: {
    level: always("P401"),
    content: content("more of prompts and answers is logged"),
  },
  telemetry: {
    otlp: nested({
      endpoint: address("P401"),
      headers: always("P401"),
      content: flagged(false, {
        ...{ stricter: "P401", weaker: "P202" },
        whenWeaker: "traces carry prompts and answers",
      }),
    }),
  },
  network: {
    allow: directed(byAddresses, {
      ...{ stricter: "P107", weaker: "P202" },
      whenStricter: "requests to addresses no longer listed are refused",
      whenWeaker: "the SSRF guard lets more addresses through",
    }),
  },
  control_plane: {
    listener: flagged("admin", {
      ...{ stricter: "P107", weaker: "P202" },
      whenStricter: "`/api/control` is no longer served on the public listener",
      whenWeaker: "`/api/control` is served on the public listener",
    }),
  },
};

const provider: Fields = {
  enabled: flagged(false, {
    ...{ stricter: "P107", weaker: "P502" },
    whenStricter: "calls to its models fail",
  }),
  base_url: address("P401"),
  timeout_ms: always("P401"),
  first_byte_timeout_ms: always("P401"),
  stream_idle_timeout_ms: always("P401"),
  max_connections: always("P401"),
  proxy: address("P401"),
  ca: always("P401"),
  client_cert: always("P401"),
  client_key: always("P401"),
  http2: always("P401"),
  options: always("P401"),
};

const controlToken: Fields = {
  name: always("P501"),
  hash: always("P104", "the token known so far is refused"),
  expires_at: directed(byMoment, {
    ...{ stricter: "P105", weaker: "P202" },
    whenStricter: "it is refused sooner",
    whenWeaker: "it is accepted longer",
  }),
  role: directed(byRank("read", "operate", "admin"), {
    ...{ stricter: "P105", weaker: "P202" },
    whenStricter: "it may do less",
    whenWeaker: "it may do more",
  }),
  projects: directed(bySetOrAll(), {
    ...{ stricter: "P105", weaker: "P202" },
    whenStricter: "it loses projects",
    whenWeaker: "it may administer more projects",
  }),
};

const plugin: Fields = {
  module: always("P401"),
  version: (change) => [finding(change, "P401", `The code of \`${change.pair.after.ref.name}\` is changed.`)],
};

export const GATEWAY_FIELDS = { provider, price: priceFields, plugin, control_token: controlToken };
export const SECTION_FIELDS = sections;
