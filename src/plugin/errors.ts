/**
 * The error catalog: one entry per refusal, with its status and its exact text. Placeholders are written `<name>`; `reject` makes a missing one a type error.
 * Errors are returned, never thrown: a thrown error is a bug and becomes a 500 that says nothing.
 */

interface CatalogueEntry {
  readonly status: number;
  readonly message: string;
}

/** code -> status and message. docs/errors.md is held to this table by a test. */
export const ERRORS = {
  // Before the chain: who asks, and where.
  missing_bearer: { status: 401, message: "Missing Bearer token." },
  token_format: { status: 401, message: "Invalid token format." },
  token_invalid: { status: 401, message: "Invalid or revoked token." },
  duplicate_authorization: { status: 400, message: "More than one Authorization header." },
  project_mismatch: { status: 403, message: "Token does not belong to this project." },
  scope_missing: { status: 403, message: "Missing required scope: '<scope>'. Token has: <scopes>." },
  not_gateway_project: {
    status: 400,
    message:
      "This project is not an AI Gateway. Use /api/{uuid}/v1/chat/completions for AI Wrapper projects.",
  },
  not_wrapper_project: {
    status: 400,
    message: "This project is not an AI Wrapper. Use /api/{uuid}/{endpoint_slug} for AI Gateway projects.",
  },
  alias_not_found: { status: 404, message: "Alias '<alias>' not found or inactive." },
  not_proxy_project: {
    status: 400,
    message: "This project is not a Proxy. Use /api/{uuid}/{endpoint_slug} for AI Gateway projects.",
  },
  endpoint_not_found: { status: 404, message: "Endpoint '<slug>' not found or inactive." },
  not_found: { status: 404, message: "Not found." },
  method_not_allowed: { status: 405, message: "Method '<method>' is not allowed for this endpoint." },

  // The body.
  malformed_json: { status: 400, message: "Malformed JSON body." },
  message_or_messages: { status: 400, message: "Provide either 'message' or 'messages'." },
  invalid_field: { status: 400, message: "Field '<field>' must be <expected>." },
  unsupported_field: { status: 400, message: "Field '<field>' is not supported by <provider>." },
  forbidden_field: { status: 400, message: "Field '<field>' is not allowed." },
  body_too_many_members: { status: 400, message: "JSON body has more than <max> members." },
  body_too_deep: { status: 400, message: "JSON body nests deeper than <max> levels." },
  body_too_large: { status: 413, message: "Request body exceeds <max> bytes." },
  body_not_json: { status: 415, message: "Content-Type must be application/json." },
  body_too_slow: { status: 408, message: "Request body was not received within <ms> ms." },
  expectation_failed: { status: 417, message: "The only expectation that can be met is 100-continue." },
  malformed_http: { status: 400, message: "Malformed HTTP request." },
  transfer_coding_unsupported: {
    status: 501,
    message: "The only supported transfer coding is chunked.",
  },
  request_head_too_slow: { status: 408, message: "Request headers were not received in time." },
  headers_too_large: { status: 431, message: "Request headers are too large." },

  // The chain.
  rate_limited: { status: 429, message: "Rate limit exceeded." },
  token_limit: {
    status: 422,
    message: "Request exceeds endpoint per-request token limit: ~<estimated> tokens estimated, cap is <cap>.",
  },
  endpoint_budget: {
    status: 402,
    message:
      "Endpoint monthly budget would be exceeded: ~$<spent> spent + ~$<estimate> estimated for this request, budget $<cap>. Resets at the start of next month.",
  },
  token_budget: {
    status: 402,
    message:
      "Token monthly budget would be exceeded: ~$<spent> spent + ~$<estimate> estimated for this request, cap $<cap>. Resets at the start of next month.",
  },
  pii_blocked: { status: 422, message: "Request blocked: <kind> detected in input." },
  injection_blocked: { status: 422, message: "Request blocked: prompt injection pattern detected." },
  keyword_blocked: { status: 422, message: "Request blocked: keyword '<keyword>' detected in input." },
  pattern_blocked: { status: 422, message: "Request blocked: pattern '<name>' detected in input." },
  secret_blocked: { status: 422, message: "Request blocked: <kind> detected in input." },
  length_blocked: { status: 422, message: "Request blocked: content length <n> exceeds maximum <max>." },
  guardrail_failed: { status: 422, message: "Request blocked: guardrail '<name>' could not judge it." },
  answer_pii_blocked: { status: 422, message: "Response blocked: <kind> detected in output." },
  answer_injection_blocked: {
    status: 422,
    message: "Response blocked: prompt injection pattern detected in output.",
  },
  answer_keyword_blocked: {
    status: 422,
    message: "Response blocked: keyword '<keyword>' detected in output.",
  },
  answer_pattern_blocked: {
    status: 422,
    message: "Response blocked: pattern '<name>' detected in output.",
  },
  answer_secret_blocked: { status: 422, message: "Response blocked: <kind> detected in output." },
  answer_length_blocked: {
    status: 422,
    message: "Response blocked: content length <n> exceeds maximum <max>.",
  },
  answer_guardrail_failed: {
    status: 422,
    message: "Response blocked: guardrail '<name>' could not judge it.",
  },
  input_invalid: { status: 422, message: "Validation failed: <error>" },
  output_invalid: { status: 502, message: "Validation failed: <error>" },
  sessions_disabled: { status: 400, message: "Sessions are not enabled for this endpoint." },
  session_not_found: { status: 404, message: "Session '<id>' not found or expired." },
  session_busy: { status: 409, message: "Session is busy." },
  session_messages: { status: 422, message: "Session limit reached: <n> messages, maximum <max>." },
  session_tokens: { status: 422, message: "Session limit reached: <n> tokens, maximum <max>." },
  provider_failed: { status: 502, message: "Provider call failed: <reason>" },
  provider_busy: { status: 503, message: "Provider call refused: <reason>" },
  provider_disabled: { status: 503, message: "Provider '<key>' is disabled in this gateway." },

  // The proxy.
  unsupported: { status: 501, message: "<feature> is not supported by the proxy." },
  ssrf_blocked: { status: 422, message: "Upstream URL blocked by SSRF guard." },
  oauth_failed: { status: 502, message: "Upstream OAuth connection failed." },
  upstream_unreachable: { status: 502, message: "Upstream unreachable." },

  // The gateway itself.
  request_timeout: { status: 502, message: "Provider call failed: timed out after <ms> ms" },
  overloaded: { status: 503, message: "The gateway is at its limit of open calls." },
  buffers_full: { status: 503, message: "The gateway is at its limit of bodies and answers in memory." },
  shedding: { status: 503, message: "The gateway is overloaded." },
  draining: { status: 503, message: "The gateway is shutting down." },
  config_not_reviewed: {
    status: 409,
    message: "The <side> configuration is <hash>, not <expected> as it was reviewed.",
  },
  state_unavailable: { status: 503, message: "The state store is not available." },
  internal: { status: 500, message: "Internal error." },
} as const satisfies Record<string, CatalogueEntry>;

/** The name of an entry of the catalogue. Goes to log, metrics and the header `X-Error-Code`. */
export type ErrorCode = keyof typeof ERRORS;

type Placeholder<Text extends string> = Text extends `${string}<${infer Name}>${infer Rest}`
  ? Name | Placeholder<Rest>
  : never;

type Params<Code extends ErrorCode> = {
  readonly [Name in Placeholder<(typeof ERRORS)[Code]["message"]>]: string | number;
};

/** What a refusal may carry beside its message. */
export interface RefusalExtras {
  /** Goes to the client as `detail`. */
  readonly detail?: string;
  /** Goes to the client as `scope`, e.g. `minute`. */
  readonly scope?: string;
  /** Whole seconds, at least 1. Goes out as `retry_after` and as the header `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** The member of the request's body that is wrong, such as `messages[0].content`. @since 0.2.0 */
  readonly param?: string;
  /** False: another attempt cannot succeed either (`X-Should-Retry`). Absent: as the status says. @since 0.2.0 */
  readonly shouldRetry?: boolean;
  /** The provider's own error code, such as `context_length_exceeded`: shown to the client. @since 0.2.0 */
  readonly providerCode?: string | undefined;
  /** Headers of the answer beside the usual ones, e.g. `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log only: never reaches the client. */
  readonly cause?: unknown;
}

const BRAND: unique symbol = Symbol.for("sluice.GatewayError");

/**
 * A refusal: a status and a body for the client, a code for the log. Not a subclass of Error, since it is returned
 * and never thrown, and since a stack trace would cost more than the rest of a refused call.
 * @since 0.1.0
 */
export class GatewayError {
  readonly [BRAND] = true;
  /** Catalogue code, or a plugin's own. For logs, metrics and the header `X-Error-Code`. */
  readonly code: string;
  /** HTTP status, 400 to 599. */
  readonly status: number;
  /** The client's `error`. */
  readonly message: string;
  readonly extras: RefusalExtras;

  constructor(code: string, status: number, message: string, extras: RefusalExtras) {
    this.code = code;
    this.status = status;
    this.message = message;
    this.extras = extras;
  }
}

const NO_EXTRAS: RefusalExtras = Object.freeze({});

/**
 * Makes a refusal of the catalogue.
 * @example return reject("token_limit", { estimated: 1200, cap: 1000 });
 * @since 0.1.0
 */
export function reject<Code extends ErrorCode>(
  code: Code,
  params: Params<Code>,
  extras: RefusalExtras = NO_EXTRAS,
): GatewayError {
  const entry: CatalogueEntry = ERRORS[code];
  const values: Readonly<Record<string, string | number>> = params;
  // One pass: a value that looks like a placeholder is not filled in again.
  const message = entry.message.replace(/<([a-z_]+)>/g, (whole, name: string) =>
    shortened(String(values[name] ?? whole)),
  );
  const { field } = values;
  const named = field === undefined ? extras : { ...extras, param: shortened(String(field)) };
  return new GatewayError(code, entry.status, message, named);
}

/** Characters of one value in a message: clients choose slugs, aliases and ids, and each message is logged. */
const VALUE_LENGTH_MAX = 1_000;

function shortened(value: string): string {
  return value.length <= VALUE_LENGTH_MAX ? value : `${value.slice(0, VALUE_LENGTH_MAX)}…`;
}

/**
 * Makes a refusal of a plugin's own. `code` is snake_case and stable; `message` is shown to the client as it is.
 * Statuses below 400 or above 599 are a bug of the plugin and throw a RangeError.
 * @since 0.1.0
 */
export function refuse(
  status: number,
  code: string,
  message: string,
  extras: RefusalExtras = NO_EXTRAS,
): GatewayError {
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    throw new RangeError(`refuse: ${status} is not an error status`);
  }
  return new GatewayError(code, status, message, extras);
}

/**
 * True for a refusal, also one made by another copy of this package (the brand is a registered symbol).
 * @since 0.1.0
 */
export function isGatewayError(value: unknown): value is GatewayError {
  return typeof value === "object" && value !== null && BRAND in value;
}
