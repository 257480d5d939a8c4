/**
 * Configurations for the specification's tests: one gateway project with one endpoint on a fake OpenAI, and whatever
 * a test says otherwise. Plain objects in the YAML's own names; JSON is YAML.
 */
import { createHash } from "node:crypto";

export const PROJECT = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f701";
export const OTHER_PROJECT = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f702";

/** Key of the fake provider: must show up nowhere but in the requests that it gets. */
export const PROVIDER_KEY = "sk-upstream-1f7a93c2";

/** Tokens by what they may do. `web` is the one that calls are made with unless a test says otherwise. */
export const TOKENS = {
  web: "gw_live_web0Caller1",
  tester: "gw_test_web0Tester2",
  admin: "gw_live_admin0Reader3",
  bare: "gw_live_bare0Nothing4",
  retired: "gw_live_retired0Token5",
  expired: "gw_live_expired0Token6",
  other: "gw_live_other0Project7",
  unknown: "gw_live_unknown0Token8",
} as const;

type Fields = Readonly<Record<string, unknown>>;

export interface ConfigParts {
  /** Fields of the endpoint `ask`, beside its name, provider, model and credential. */
  readonly endpoint?: Fields;
  /** More endpoints, after `ask`. */
  readonly endpoints?: readonly Fields[];
  /** More tokens of the project, after the usual ones. */
  readonly tokens?: readonly Fields[];
  /** More credentials, after `main`. */
  readonly credentials?: readonly Fields[];
  /** Fields of the project beside those. */
  readonly project?: Fields;
  /** More projects. */
  readonly projects?: readonly Fields[];
  readonly server?: Fields;
  /** Top-level keys beside `version`, `server` and `projects`. */
  readonly root?: Fields;
}

export function hashOf(token: string): string {
  return `sha256:${createHash("sha256").update(token).digest("hex")}`;
}

/** A token entry. */
export function tokenEntry(name: keyof typeof TOKENS, fields: Fields = {}): Fields {
  return { name, hash: hashOf(TOKENS[name]), scopes: ["chat"], ...fields };
}

/** An endpoint on the fake provider. */
export function endpointEntry(fields: Fields): Fields {
  return { provider: "openai", model: "gpt-4o-mini", credential: "main", ...fields };
}

/** An endpoint that echoes its input, without any provider. */
export function echoEntry(fields: Fields): Fields {
  return { provider: "mock", model: "echo", credential: "echo", ...fields };
}

/** The whole configuration. `upstreamUrl`: where the fake provider listens. */
export function configOf(parts: ConfigParts, upstreamUrl: string): Fields {
  const main = { name: "main", provider: "openai", api_key: PROVIDER_KEY, base_url: upstreamUrl };
  const echo = { name: "echo", provider: "mock", options: { reply: "{{input}}" } };
  return {
    version: 1,
    server: { port: 0, ...parts.server },
    admin: { port: 0 },
    ...parts.root,
    projects: [
      {
        uuid: PROJECT,
        name: "Support",
        type: "ai_gateway",
        credentials: [main, echo, ...(parts.credentials ?? [])],
        tokens: [...usualTokens(), ...(parts.tokens ?? [])],
        endpoints: [endpointEntry({ name: "Ask", ...parts.endpoint }), ...(parts.endpoints ?? [])],
        ...parts.project,
      },
      {
        uuid: OTHER_PROJECT,
        name: "Elsewhere",
        type: "ai_gateway",
        tokens: [tokenEntry("other", { scopes: ["chat", "admin"] })],
        endpoints: [],
      },
      ...(parts.projects ?? []),
    ],
  };
}

function usualTokens(): Fields[] {
  return [
    tokenEntry("web"),
    tokenEntry("tester"),
    tokenEntry("admin", { scopes: ["admin", "models"] }),
    tokenEntry("bare", { scopes: [] }),
    tokenEntry("retired", { is_active: false }),
    tokenEntry("expired", { expires_at: "2026-01-01T00:00:00Z" }),
  ];
}
