/**
 * What a guardrail receives with a text, and its verdict, as values that structured clone can carry: functions, classes and
 * everything that belongs to the gateway stay behind.
 */

import { isJsonObject } from "../../base/json.ts";
import type { RefusalExtras } from "../../plugin/errors.ts";
import type { Exchange, GatewayError, TextContext, Verdict } from "../../plugin/index.ts";
import { isGatewayError, refuse } from "../../plugin/index.ts";

/** The fields of an exchange that an isolated guardrail can read. */
const KEPT = [
  "requestId",
  "surface",
  "startedAtMs",
  "method",
  "path",
  "stream",
  "sessionId",
  "project",
  "endpoint",
] as const;

type PlainExchange = Pick<Exchange, (typeof KEPT)[number]> & {
  readonly token: Pick<Exchange["token"], "id" | "name" | "projectUuid" | "scopes">;
};

export interface PlainAbout extends Omit<TextContext, "exchange"> {
  readonly exchange: PlainExchange;
}

export function plainAbout({ exchange, ...about }: TextContext): PlainAbout {
  const { requestId, surface, startedAtMs, method, path, stream, sessionId, project, endpoint } = exchange;
  const { id, name, projectUuid, scopes } = exchange.token;
  const token = { id, name, projectUuid, scopes };
  return {
    ...about,
    exchange: { requestId, surface, startedAtMs, method, path, stream, sessionId, project, endpoint, token },
  };
}

/** In the guardrail's process: reading any other field of the exchange throws an error for the author. */
export function aboutFrom(plain: PlainAbout): TextContext {
  const exchange = new Proxy(plain.exchange, {
    get(target, key) {
      if (Object.hasOwn(target, key)) return Reflect.get(target, key);
      if (typeof key === "symbol" || key === "then" || key === "toJSON") return undefined;
      throw new Error(`with \`isolate\` the exchange has no \`${key}\`: it has ${KEPT.join(", ")} and token`);
    },
  });
  // The proxy throws where the other fields would be.
  return { ...plain, exchange: exchange as unknown as Exchange };
}

/** In the guardrail's process. Anything but a block is sent as it is: the gateway decides whether it is a verdict. */
export function plainVerdict(verdict: unknown): unknown {
  if (!isJsonObject(verdict) || !isGatewayError(verdict.error)) return verdict;
  const { code, status, message, extras } = verdict.error;
  const { cause: _forLog, ...sent } = extras;
  // Through JSON, since the author may have added what cannot be cloned.
  const error = { code, status, message, extras: JSON.parse(JSON.stringify(sent)) as unknown };
  const { reason, spans } = verdict;
  return { verdict: verdict.verdict, reason, error, ...(spans !== undefined && { spans }) };
}

/**
 * Restores the error of a block. Everything else is returned unchanged: the guardrail's caller checks every verdict,
 * isolated or not, and a malformed one is a failure there. Throws when the error has no valid status.
 */
export function verdictFrom(plain: unknown): Verdict {
  const restored =
    isJsonObject(plain) && plain.verdict === "block" ? { ...plain, error: errorFrom(plain.error) } : plain;
  // See above: not yet known to be one.
  return restored as Verdict;
}

function errorFrom(error: unknown): GatewayError | undefined {
  if (!isJsonObject(error)) return undefined;
  const { code, status, message, extras } = error;
  if (typeof code !== "string" || typeof status !== "number" || typeof message !== "string") return undefined;
  return refuse(status, code, message, extrasFrom(extras));
}

function extrasFrom(extras: unknown): RefusalExtras {
  if (!isJsonObject(extras)) return {};
  const { detail, scope, retryAfterSeconds, shouldRetry, providerCode, headers } = extras;
  return {
    ...(typeof detail === "string" && { detail }),
    ...(typeof scope === "string" && { scope }),
    ...(typeof providerCode === "string" && { providerCode }),
    ...(typeof shouldRetry === "boolean" && { shouldRetry }),
    ...(isPositiveInteger(retryAfterSeconds) && { retryAfterSeconds }),
    ...(isJsonObject(headers) && { headers: headersFrom(headers) }),
  };
}

/** Headers that Node would refuse to write are left out. */
function headersFrom(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const valid = Object.entries(headers).filter(
    (entry): entry is [string, string] =>
      /^[\w!#$%&'*+.^`|~-]+$/.test(entry[0]) &&
      typeof entry[1] === "string" &&
      /^[\t\x20-\x7e\x80-\xff]*$/.test(entry[1]),
  );
  return Object.fromEntries(valid);
}

function isPositiveInteger(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}
