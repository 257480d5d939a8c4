/** The state that a case begins with, brought about through the store's own operations and the stages' own hooks. */

import type { CompiledConfig } from "../compile/model.ts";
import { Call, type Runtime } from "../pipeline/call.ts";
import type { Message } from "../plugin/index.ts";
import type { StoreClaim } from "../plugin/store.ts";
import { OWN_SESSIONS } from "../state/tables.ts";

/** An endpoint, alias, proxy endpoint or token of a project. */
export interface SubjectRef {
  /** UUID. */
  readonly project: string;
  readonly kind: "endpoint" | "alias" | "proxy" | "token";
  /** Slug, alias, or a token's id. */
  readonly name: string;
}

export interface Given {
  /** Settled in the month in which the case begins. */
  readonly spent?: readonly { readonly subject: SubjectRef; readonly nanoUsd: number }[];
  /** Calls that count in the rate windows, made so long before the case begins. Default 0 ms. */
  readonly calls?: readonly {
    readonly subject: SubjectRef;
    readonly count: number;
    readonly agoMs?: number;
  }[];
  /** Tokens that the control plane has revoked. */
  readonly revoked?: readonly { readonly project: string; readonly token: string }[];
  /** Endpoints and proxy endpoints that the control plane has switched on or off. */
  readonly overrides?: readonly {
    readonly project: string;
    readonly endpoint: string;
    readonly isActive: boolean;
  }[];
  /** Targets that are skipped for 30 s. Without `model`: all models that the credential is used for. */
  readonly openCircuits?: readonly {
    readonly project: string;
    readonly credential: string;
    readonly model?: string;
  }[];
  /** Conversations under way; their ids are `OfflineCase.sessions`, in this order. */
  readonly sessions?: readonly {
    readonly project: string;
    readonly endpoint: string;
    /** A token's id. */
    readonly token: string;
    readonly messages: readonly Message[];
  }[];
}

/** What limits and sums of a subject are kept under; see the stages limit and budget. */
function keyOf({ project, kind, name }: SubjectRef): string {
  if (kind === "token") return `token:${project}/${name}`;
  return kind === "proxy" ? `${project}/proxy/${name}` : `${project}/${name}`;
}

export interface RateLimits {
  readonly rate_limit_per_minute: number | null;
  readonly rate_limit_per_hour: number | null;
}

export async function giveSpent(rt: Runtime, spent: NonNullable<Given["spent"]>): Promise<void> {
  for (const { subject, nanoUsd } of spent) {
    const claim: StoreClaim = {
      ...{ kind: "spend", key: `spend:${keyOf(subject)}`, capNanoUsd: undefined },
      ...{ estimateNanoUsd: nanoUsd, inputNanoUsd: nanoUsd },
    };
    const admission = await rt.store.admit("given", [claim]);
    if (admission.admitted && admission.reservation !== undefined)
      await rt.store.settle(admission.reservation, nanoUsd);
  }
}

/**
 * `limits`: the windows of a subject, as they are configured. Windows that such calls have left are not asked. What is more
 * than fits changes nothing.
 */
export async function giveCalls(
  rt: Runtime,
  { subject, count, agoMs = 0 }: NonNullable<Given["calls"]>[number],
  { rate_limit_per_minute: minute, rate_limit_per_hour: hour }: RateLimits,
): Promise<void> {
  const window = (scope: string, windowMs: number, limit: number | null): readonly StoreClaim[] => {
    return limit === null || agoMs >= windowMs
      ? []
      : [{ kind: "rate", key: `rate:${keyOf(subject)}:${scope}`, limit, windowMs }];
  };
  const claims = [...window("minute", 60_000, minute), ...window("hour", 3_600_000, hour)];
  for (let n = 0; n < count && claims.length > 0; n++) {
    const { admitted } = await rt.store.admit("given", claims);
    if (!admitted) return;
  }
}

/** Failures in a row after which stage call skips a target. */
const FAILURES = 5;

/** Fails each target as often as it takes; the case's script must end every connection meanwhile. */
export async function giveOpenCircuits(
  rt: Runtime,
  config: CompiledConfig,
  circuits: NonNullable<Given["openCircuits"]>,
): Promise<void> {
  for (const { project: uuid, credential, model } of circuits) {
    const project = config.projects.get(uuid);
    const failed = new Set<string>();
    for (const endpoint of [...(project?.endpoints.values() ?? []), ...(project?.aliases.values() ?? [])]) {
      for (const target of endpoint.targets) {
        const isMeant = target.credential === credential && (model === undefined || target.model === model);
        if (!isMeant || failed.has(target.model)) continue;
        failed.add(target.model);
        const active = { ...target, enabled: true, active: true };
        for (let n = 0; n < FAILURES; n++) await endpoint.call(failingCall(rt, uuid), [active]);
      }
    }
  }
}

function failingCall(rt: Runtime, uuid: string): Call {
  const call = new Call({
    ...{ rt, requestId: "00000000-0000-4000-8000-000000000000", surface: "chat", scope: "chat" },
    ...{ method: "POST", path: "/", headers: {}, clientAddress: "127.0.0.1" },
    project: { uuid, id: 0, name: "" },
    nowMs: rt.clock.nowMs(),
    monotonicMs: rt.clock.monotonicMs(),
  });
  call.messages = [{ role: "user", content: "-" }];
  return call;
}

/** Ids, in their order. */
export async function giveSessions(
  rt: Runtime,
  sessions: NonNullable<Given["sessions"]>,
  ttlMsOf: (project: string, endpoint: string) => number,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const { project, endpoint, token, messages } of sessions) {
    const owner = `${OWN_SESSIONS}${project}/${endpoint}/${token}`;
    const opened = await rt.store.sessions.open(owner, undefined, ttlMsOf(project, endpoint));
    if (typeof opened === "string") throw new Error("the conversation could not be opened");
    await opened.save(messages);
    opened.close();
    ids.push(opened.id);
  }
  return ids;
}
