/**
 * The targets of one call, one after the other, and what became of each: which may be asked next, what is filed of an
 * attempt, and what the client is told when none is left.
 */

import type { Exchange, GatewayError, Host, Target } from "sluice/plugin";
import { reject } from "sluice/plugin";
import type { CallOptions, ProviderFailure, ProviderRequest } from "sluice/provider";
import { failure } from "sluice/provider";
import type { CoreExchange } from "../../src/plugin/exchange.ts";
import type { Circuits } from "./circuit.ts";

/** Outcome of an attempt whose call was cancelled. */
const CANCELLED = "cancelled";
/** Outcome of a target that was not called because its circuit is open. */
const SKIPPED = "skipped: circuit open";

/** An inactive credential counts as a failed try (`provider.credential.inactive`). */
export const INACTIVE = failure({
  status: undefined,
  reason: "credential is inactive",
  retryable: true,
  accepted: false,
});

/** An attempt is filed when it starts, so that a call cancelled meanwhile lists it too. */
type Attempt = Exchange["attempts"][number];
type OpenAttempt = { -readonly [Key in keyof Attempt]: Attempt[Key] };

/** What a target is asked for: the endpoint's settings, and in their place what the call wants of its own. */
export function requestOf({ messages, options }: Exchange, target: Target): ProviderRequest {
  const settings = options === undefined ? target.settings : wanted(target, options);
  // Field by field: spreading a frozen object is slow, and this runs on every call.
  const { model, temperature, topP, maxOutputTokens, responseSchema } = settings;
  return { model, messages, temperature, topP, maxOutputTokens, responseSchema, options };
}

function wanted({ settings, fit, outputTokensMax }: Target, options: CallOptions): Target["settings"] {
  if (options.embed !== undefined) return settings;
  const { temperature = settings.temperature, topP = settings.topP } = options;
  const { maxOutputTokens: asked, responseSchema = settings.responseSchema } = options;
  const { maxOutputTokens: cap } = settings;
  // The endpoint's is a hard cap, and no model writes more than its maximum: asked for more, vendors refuse the call.
  const most = Math.min(cap ?? Number.POSITIVE_INFINITY, outputTokensMax ?? Number.POSITIVE_INFINITY);
  const maxOutputTokens = asked === undefined ? cap : Math.min(asked, most);
  const own = { ...settings, temperature, topP, maxOutputTokens, responseSchema };
  return fit === undefined ? own : fit(own);
}

interface FailedAttempt {
  readonly target: Target;
  readonly said: string;
  readonly failed: ProviderFailure;
}

/** Statuses of a provider that the same request gets again. */
const FINAL_STATUSES: ReadonlySet<number | undefined> = new Set([400, 401, 403, 404, 413, 422]);

function isFinal({ status, accepted }: ProviderFailure): boolean {
  return !accepted && FINAL_STATUSES.has(status);
}

/** The key is revoked, or may not use this model: another credential may. */
function rejectsCredential({ status, accepted }: ProviderFailure): boolean {
  return !accepted && (status === 401 || status === 403);
}

/** A provider that took the call on may bill it, whatever status its error names. */
function attemptStatus({ accepted, status }: ProviderFailure): number | undefined {
  if (!accepted) return status;
  return status !== undefined && status >= 200 && status < 300 ? status : 200;
}

/** The targets of one call, one after the other, and what became of each. */
export class FailoverSequence {
  readonly x: CoreExchange;
  readonly #host: Host;
  readonly #circuits: Circuits;
  readonly #targets: readonly Target[];
  readonly #failures: FailedAttempt[] = [];
  #at = -1;
  #current: OpenAttempt | undefined;
  #startedMs = 0;

  constructor(host: Host, circuits: Circuits, x: CoreExchange, targets: readonly Target[]) {
    this.#host = host;
    this.#circuits = circuits;
    this.x = x;
    this.#targets = targets;
  }

  /** A trial of a call that has ended will not say how it went. */
  get ended(): boolean {
    return this.x.ended;
  }

  /** The next target that may be asked; undefined when none is left. The last one left is asked whatever its circuit. */
  next(): Target | undefined {
    while (++this.#at < this.#targets.length) {
      const target = this.#targets[this.#at];
      if (!target?.enabled) continue;
      this.#file(target);
      if (this.#circuits.admits(target, this) || !this.#hasNext()) return target;
      this.#close(SKIPPED, undefined);
    }
    return undefined;
  }

  request(target: Target): ProviderRequest {
    const request = requestOf(this.x, target);
    if (request.options !== undefined && this.#current !== undefined) {
      const dropped = target.client.dropped?.(request) ?? [];
      if (dropped.length > 0) this.#current.dropped = dropped;
    }
    return request;
  }

  /** The first content of a stream came: from now on the target is known to answer. */
  begin(target: Target): void {
    this.#circuits.succeeded(target);
  }

  /** The target answered, whole. */
  succeed(target: Target): void {
    this.#circuits.succeeded(target);
    this.#close("ok", 200);
  }

  /** The call was cancelled. `accepted`: the target had begun to answer. */
  cancel(target: Target, accepted: boolean): void {
    this.#circuits.abandoned(target, this);
    this.#close(CANCELLED, accepted ? 200 : undefined);
  }

  /** undefined: go on with the next target. */
  fail(target: Target, failed: ProviderFailure, isRetryable: boolean): GatewayError | undefined {
    const said = failed.status === undefined ? failed.reason : `${failed.status}: ${failed.reason}`;
    const { causeText } = failed;
    this.#close(causeText === undefined ? said : `${said} (${causeText})`, attemptStatus(failed));
    this.#failures.push({ target, said, failed });
    this.#judge(target, failed);
    if (isRetryable && !this.x.ended && this.#retryable(target, failed)) return undefined;
    if (failed.internal === true) return this.#internal(target, failed);
    const detail = this.#detail();
    const extras = {
      cause: failed.cause ?? failed,
      providerCode: failed.code,
      ...(detail === undefined ? {} : { detail }),
      ...this.#retryHints(),
    };
    if (failed.isLocal === true) {
      const reason = `${target.label}: ${failed.reason}`;
      return reject("provider_busy", { reason }, { ...extras, retryAfterSeconds: 1 });
    }
    return reject("provider_failed", { reason: `${target.label} ${said}` }, extras);
  }

  #retryable(target: Target, failed: ProviderFailure): boolean {
    if (failed.retryable) return this.#hasNext();
    if (!rejectsCredential(failed)) return false;
    const other = this.#targets.findIndex(
      ({ enabled, client }, index) => index > this.#at && enabled && client !== target.client,
    );
    if (other < 0) return false;
    const { provider, model, credential } = target;
    this.#host.log.error(
      { request_id: this.x.requestId, provider, model, credential, status: failed.status },
      "provider rejected the credential, trying the next one",
    );
    // The entries between have the credential that was just rejected.
    this.#at = other - 1;
    return true;
  }

  /** Every failed attempt; credentials are named where the rest does not tell the attempts apart. */
  #detail(): string | undefined {
    if (this.#failures.length < 2) return undefined;
    const named = this.#failures.map(({ target }) => `${target.model}: ${target.label}`);
    const lines = this.#failures.map(({ target, said }, n) => {
      const name = named[n] ?? "";
      const isShared = this.#failures.some(
        (other, at) => named[at] === name && other.target.credential !== target.credential,
      );
      return isShared ? `${name} (${target.credential}) ${said}` : `${name} ${said}`;
    });
    return lines.join("; ");
  }

  /** What the attempts say of another call: when it may succeed, and whether it can. */
  #retryHints(): Pick<GatewayError["extras"], "retryAfterSeconds" | "shouldRetry"> {
    if (this.#failures.every(({ failed }) => isFinal(failed))) return { shouldRetry: false };
    const waits = this.#failures.flatMap(({ failed }) => failed.retryAfterSeconds ?? []);
    return waits.length === 0 ? {} : { retryAfterSeconds: Math.min(...waits) };
  }

  /** What failed is no provider but code: told to the log whole, to the client not at all. */
  #internal({ provider, model }: Target, failed: ProviderFailure): GatewayError {
    const { cause = failed } = failed;
    const fields = { request_id: this.x.requestId, provider, model, err: cause };
    this.#host.log.error(fields, "a call failed in the code of its provider");
    return reject("internal", {}, { cause });
  }

  named(id: string, model: string): { readonly id: string; readonly model: string } {
    return {
      id: id === "" ? `chatcmpl-${this.#host.random.uuid()}` : id,
      model: model === "" ? (this.#current?.model ?? "") : model,
    };
  }

  /** What a failure says of the target's health. One of our own making, or nobody's, says nothing. */
  #judge(target: Target, failed: ProviderFailure): void {
    const isOurs = failed === INACTIVE || failed.internal === true || failed.isLocal === true;
    if (isOurs || this.x.ended) this.#circuits.abandoned(target, this);
    else if (failed.retryable || rejectsCredential(failed))
      this.#circuits.failed(target, this, failed.retryAfterSeconds);
    else this.#circuits.succeeded(target);
  }

  #file({ provider, model, credential }: Target): void {
    const { clock } = this.#host;
    this.#startedMs = clock.monotonicMs();
    this.#current = {
      provider,
      model,
      credential,
      outcome: CANCELLED,
      status: undefined,
      startedAtMs: clock.nowMs(),
      durationMs: 0,
    };
    this.x.attempts.push(this.#current);
  }

  #hasNext(): boolean {
    return this.#targets.some((target, index) => index > this.#at && target.enabled);
  }

  #close(outcome: string, status: number | undefined): void {
    const attempt = this.#current;
    if (attempt === undefined) return;
    attempt.outcome = outcome;
    attempt.status = status;
    attempt.durationMs = this.#host.clock.monotonicMs() - this.#startedMs;
  }
}
