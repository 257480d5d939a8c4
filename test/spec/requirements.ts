/**
 * The behavior of the gateway as data: requirement id -> one sentence about what a user can observe. Tests name the ids
 * that they verify (`verifies`), coverage.test.ts fails on an id without a test, and docs/behavior.md is generated from both.
 */
import { AUTH } from "./requirements/auth.ts";
import { CHAT } from "./requirements/chat.ts";
import { CONFIG } from "./requirements/config.ts";
import { EVENTS } from "./requirements/events.ts";
import { GUARD } from "./requirements/guard.ts";
import { HTTP } from "./requirements/http.ts";
import { IMPORTING } from "./requirements/importing.ts";
import { JSONRPC } from "./requirements/jsonrpc.ts";
import { LIMITS } from "./requirements/limits.ts";
import { OFFLINE } from "./requirements/offline.ts";
import { OPERATE } from "./requirements/operate.ts";
import { PROVIDERS } from "./requirements/providers.ts";
import { REVIEW } from "./requirements/review.ts";
import { RULES_OF_PLANS } from "./requirements/rules.ts";
import { RUNNING } from "./requirements/running.ts";
import { SESSIONS } from "./requirements/sessions.ts";
import { STREAM } from "./requirements/stream.ts";
import { SURFACES } from "./requirements/surfaces.ts";
import { TESTS } from "./requirements/tests.ts";

export interface Area {
  readonly title: string;
  readonly requirements: Readonly<Record<string, string>>;
}

/** In the order of docs/behavior.md. */
export const AREAS: readonly Area[] = [
  { title: "Authentication", requirements: AUTH },
  { title: "HTTP", requirements: HTTP },
  { title: "Chat", requirements: CHAT },
  { title: "Limits and budgets", requirements: LIMITS },
  { title: "Guardrails", requirements: GUARD },
  { title: "Sessions and state", requirements: SESSIONS },
  { title: "Streams", requirements: STREAM },
  { title: "Providers and failover", requirements: PROVIDERS },
  { title: "Configuration", requirements: CONFIG },
  { title: "Running, reload and records", requirements: RUNNING },
  { title: "Importing", requirements: IMPORTING },
  { title: "Reviewing changes", requirements: REVIEW },
  { title: "Rules of plans", requirements: RULES_OF_PLANS },
  { title: "Operating", requirements: OPERATE },
  { title: "Offline: tests and explanations", requirements: OFFLINE },
  { title: "Tests of a configuration", requirements: TESTS },
  { title: "Events, audit log and webhooks", requirements: EVENTS },
  { title: "MCP and the control plane", requirements: JSONRPC },
  { title: "Wrapper and proxy", requirements: SURFACES },
];

export const REQUIREMENTS = {
  ...AUTH,
  ...HTTP,
  ...CHAT,
  ...LIMITS,
  ...GUARD,
  ...SESSIONS,
  ...STREAM,
  ...PROVIDERS,
  ...CONFIG,
  ...RUNNING,
  ...IMPORTING,
  ...REVIEW,
  ...RULES_OF_PLANS,
  ...OPERATE,
  ...OFFLINE,
  ...TESTS,
  ...EVENTS,
  ...JSONRPC,
  ...SURFACES,
};

/** A test that names any other id does not compile. */
export type RequirementId = keyof typeof REQUIREMENTS;
