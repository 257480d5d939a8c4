/** The sections of a configuration that hold for the whole gateway. */
import { TIMESTAMP } from "../../base/timestamp.ts";
import { choice, flag, integer, list, mapOf, name, orNull, section, text, url } from "./keywords.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const host = (description: string) => name(description, { default: "127.0.0.1", examples: ["0.0.0.0"] });
const port = (description: string, value: number) => integer(description, 0, 65_535, { default: value });
const milliseconds = (description: string, value: number) =>
  integer(description, 1, HOUR_MS, { default: value });

const TOKEN_HASH = {
  pattern: "^sha256:[0-9a-fA-F]{64}$",
  patternErrorMessage: "must be `sha256:` and the 64 hex digits of the token's SHA-256",
  examples: [`sha256:${"0123456789abcdef".repeat(4)}`],
};

export const moment = (description: string) =>
  text(description, {
    pattern: TIMESTAMP,
    patternErrorMessage: "must be an ISO 8601 date, or date and time with its offset",
    examples: ["2031-01-31T00:00:00Z"],
  });

const pem = (description: string, what: string) =>
  text(`${description} PEM, by \`\${file:PATH}\`.`, {
    pattern: "-----BEGIN [A-Z0-9 ]+-----",
    patternErrorMessage: "must be PEM text, such as the content of a file by `${file:PATH}`",
    examples: [`-----BEGIN ${what}-----`],
  });

export const server = section("The data plane: where calls come in. A change needs a restart.", {
  host: host("Address to listen on. Beyond loopback the demo token is refused."),
  port: port("Port to listen on; 0 takes a free one.", 8080),
  max_body_bytes: integer("Larger request bodies get 413.", 1, 1_073_741_824, { default: 33_554_432 }),
  max_buffered_bytes: integer(
    "Bytes of bodies and answers that all calls together may hold in memory, never more than a quarter of the heap limit; beyond it new calls get 503.",
    1_048_576,
    1_099_511_627_776,
    { default: 268_435_456 },
  ),
  max_connections_per_address: integer(
    "Connections that one client address may hold (an IPv6 address with its /64 network); trusted proxies are exempt.",
    1,
    1_000_000,
    { default: 1_000 },
  ),
  max_judged_characters: integer(
    "More text for guardrails in one call gets 422, in the words of content length.",
    1,
    1_073_741_824,
    { default: 4_000_000 },
  ),
  request_timeout_ms: milliseconds(
    "Longest call that is not streamed, upstream included; of a stream the time to its first byte.",
    120_000,
  ),
  stream_idle_timeout_ms: milliseconds("Longest silence of the upstream inside a stream.", 300_000),
  stream_timeout_ms: orNull(integer("Longest whole stream; null: no limit.", 1, DAY_MS)),
  drain_timeout_ms: milliseconds("After SIGTERM: how long open calls may take to finish.", 30_000),
  lame_duck_ms: integer(
    "After SIGTERM: how long calls are still admitted while /readyz is 503 already, so that load balancers move on first.",
    0,
    3_600_000,
    { default: 0 },
  ),
  body_timeout_ms: milliseconds("A body that takes longer to arrive gets 408.", 10_000),
  trusted_proxies: list(
    "Addresses whose X-Forwarded-For is believed.",
    text("An address, or a CIDR block.", { examples: ["10.0.0.0/8"] }),
    { examples: [["10.0.0.0/8"]], maxItems: 1000 },
  ),
  expose_config_hash: flag("Whether answers carry X-Gateway-Config.", false),
  expose_cost: flag(
    "Whether answers that are not streamed carry X-Sluice-Cost-Usd, what the call has cost.",
    false,
  ),
});

export const admin = section(
  "A second listener: health, metrics, console, admin API. A change needs a restart.",
  {
    enabled: flag("Whether it listens at all.", true),
    host: host("Address to listen on."),
    port: port("Port to listen on; 0 takes a free one.", 8081),
    metrics_token: orNull(
      text(
        "SHA-256 of the bearer token that `/metrics` asks for; a control-plane token is accepted as well. null: `/metrics` is open.",
        TOKEN_HASH,
      ),
    ),
  },
);

export const state = section(
  "Where limits, sessions, spend and overrides are kept. A change needs a restart.",
  {
    driver: name("`memory`, `file`, `redis`, or a store that a plugin registers.", { default: "memory" }),
    directory: name(
      "For `file`: the folder of journal and snapshots. For `redis`: where costs are kept that it could not be told before the process ended.",
      { default: ".sluice" },
    ),
    snapshot_interval_seconds: integer("For `file`: time between snapshots.", 1, 86_400, { default: 60 }),
    on_error: choice("For `file`: on a disk error answer from memory, or with 503.", ["degrade", "refuse"], {
      default: "degrade",
    }),
    url: text("For `redis`: its address.", { default: "redis://127.0.0.1:6379", minLength: 1 }),
    key_prefix: name("For `redis`: what all keys begin with.", { default: "sluice" }),
    on_unavailable: choice("For `redis`: what happens to calls while it is lost.", ["deny", "allow"], {
      default: "deny",
    }),
    on_data_loss: choice(
      "For `redis`: when it was emptied or has lost writes, `deny` answers 503 until `sluice state confirm`, `allow` logs an error and continues with what is left.",
      ["deny", "allow"],
      { default: "deny" },
    ),
    options: mapOf("For a store that a plugin registers: its options.", true),
    max_sessions: integer("Sessions kept; the least recently used go first.", 1, 10_000_000, {
      default: 100_000,
    }),
  },
);

export const reload = section("How changes of the configuration's files take effect.", {
  watch: flag("false: only explicit reloads (SIGHUP, admin API, `gw_reload_config`).", true),
});

export const log = section("The runtime log: JSON lines on stdout.", {
  level: choice("The least important level that is written.", ["debug", "info", "warn", "error", "silent"], {
    default: "info",
  }),
  content: choice("Whether prompts and answers are logged.", ["none", "redacted", "full"], {
    default: "none",
  }),
});

export const calls = section("Recent calls, for the console, the admin API and `sluice explain`.", {
  keep: integer("Calls kept of each project in memory, at most 20,000 in all; 0: none.", 0, 20_000, {
    default: 1_000,
  }),
  content: choice(
    "Whether texts of prompts and answers are kept with them, each cut at 8 KiB: not at all, without personal data, or as they are.",
    ["none", "redacted", "full"],
    { default: "none" },
  ),
});

export const telemetry = section("Traces.", {
  otlp: section("OTLP over HTTP.", {
    endpoint: orNull(url("Where traces go; null: nowhere.", { examples: ["http://127.0.0.1:4318"] })),
    headers: mapOf(
      "Headers to send with them.",
      text("A header's value.", { examples: ["${env:OTLP_TOKEN}"] }),
    ),
    content: flag("Whether traces carry prompts and answers.", false),
  }),
});

export const network = section("What the SSRF guard lets through.", {
  allow: list(
    "Targets of proxies, webhooks, OAuth and MCP upstreams that may be private.",
    name("A CIDR block, an address or a hostname.", { examples: ["10.1.0.0/16", "crm.internal"] }),
    { examples: [["10.1.0.0/16"]], maxItems: 1000 },
  ),
});

export const plugins = list(
  "Modules that register plugins, in load order.",
  name("A path relative to this file (.ts or .js), or a package name.", { examples: ["./plugins/tone.ts"] }),
  { examples: [["./plugins/tone.ts"]], maxItems: 200 },
);

export const provider = section("One provider.", {
  enabled: flag("false: endpoints that rely on it answer 503.", true),
  base_url: orNull(
    url("Where requests go; null: the provider's own.", { examples: ["https://api.openai.com/v1"] }),
  ),
  timeout_ms: milliseconds("Longest wait for a whole answer that is not streamed.", 60_000),
  first_byte_timeout_ms: milliseconds(
    "Longest wait for the first content of a stream; then the next failover entry is asked.",
    30_000,
  ),
  stream_idle_timeout_ms: milliseconds(
    "Longest silence inside a stream; a longer one ends it with an error.",
    60_000,
  ),
  max_connections: integer(
    "Connections to one host of the provider; a call that would need another is answered 503, or goes to its next target.",
    1,
    65_535,
    { default: 16_384 },
  ),
  proxy: orNull(
    url(
      "Forward proxy that calls go through; null: as the environment says (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).",
      { examples: ["http://proxy.internal:3128"] },
    ),
  ),
  ca: orNull(pem("Certificates to trust instead of the system's.", "CERTIFICATE")),
  client_cert: orNull(pem("Client certificate, with its chain; needs `client_key`.", "CERTIFICATE")),
  client_key: orNull(pem("Private key of `client_cert`.", "PRIVATE KEY")),
  http2: flag("true: HTTP/2 where the provider's host offers it, else HTTP/1.1.", false),
  options: mapOf("Options of the provider's plugin, for all credentials.", true),
});

export const providers = mapOf("Settings of providers for the whole gateway, by provider key.", provider, {
  examples: [{ openai: { timeout_ms: 30_000 } }],
});

export const tokenHash = text("SHA-256 of the whole token string; see `sluice token`.", TOKEN_HASH);

export const controlPlane = section("Who may administer the gateway.", {
  tokens: list(
    "Control-plane tokens.",
    section(
      "One token.",
      {
        name: name("Shown as the actor in audit events.", { examples: ["platform-team"] }),
        hash: tokenHash,
        expires_at: orNull(
          moment("ISO 8601 moment after which it is refused; sessions of the console end with it."),
        ),
      },
      { required: ["name", "hash"] },
    ),
    { maxItems: 1000 },
  ),
  listener: choice(
    "Where `/api/control` is served: `public` on the data plane, `admin` on the admin listener only.",
    ["public", "admin"],
    { default: "public" },
  ),
});
