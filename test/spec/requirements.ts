/**
 * The specification as data: every rule of SPECIFICATION.md and of CONTRACT.md sections 1 to 6, as id -> source and
 * behaviour. Tests name the ids they hold (`verifies`); coverage.test.ts fails on a rule that no test holds.
 */
import { AUTH } from "./requirements/auth.ts";
import { CHAT } from "./requirements/chat.ts";
import { CONFIG } from "./requirements/config.ts";
import { EVENTS } from "./requirements/events.ts";
import { GUARD } from "./requirements/guard.ts";
import { HTTP } from "./requirements/http.ts";
import { JSONRPC } from "./requirements/jsonrpc.ts";
import { LIMITS } from "./requirements/limits.ts";
import { PROVIDERS } from "./requirements/providers.ts";
import { RUNNING } from "./requirements/running.ts";
import { SESSIONS } from "./requirements/sessions.ts";
import { STREAM } from "./requirements/stream.ts";
import { SURFACES } from "./requirements/surfaces.ts";

export type { Requirement } from "./requirements/rule.ts";

/** The tables one by one, so that the gate can see an id that two of them claim. */
export const AREAS = [
  AUTH,
  HTTP,
  CHAT,
  LIMITS,
  GUARD,
  SESSIONS,
  STREAM,
  PROVIDERS,
  CONFIG,
  RUNNING,
  EVENTS,
  JSONRPC,
  SURFACES,
] as const;

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
  ...EVENTS,
  ...JSONRPC,
  ...SURFACES,
};

/** The id of a rule. A test that names any other does not compile. */
export type RequirementId = keyof typeof REQUIREMENTS;
