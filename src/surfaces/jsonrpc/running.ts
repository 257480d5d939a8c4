/**
 * Running requests by client and id, so that `notifications/cancelled` of the revisions up to 2025-11-25 finds the request:
 * it arrives in a separate POST.
 */

type RequestId = string | number;

/** Log levels of sessions that have set one; the oldest are forgotten. */
const LEVELS_MAX = 10_000;
const SESSION_ID = /^[\x21-\x7e]{1,128}$/;

export class RunningRequests {
  /** By client and id. Without a session id several clients of one token may use the same id at once. */
  readonly #running = new Map<string, Set<() => void>>();
  readonly #levels = new Map<string, string>();

  /** The requests of one client. `caller`: the authenticated one; `sessionId`: its `Mcp-Session-Id`. */
  of(caller: string, sessionId: string | string[] | undefined): ClientRequests {
    const isNamed = typeof sessionId === "string" && SESSION_ID.test(sessionId);
    const client = JSON.stringify([caller, isNamed ? sessionId : ""]);
    return {
      begin: (id, cancel) => this.#begin(keyOf(client, id), cancel),
      cancel: (id) => this.#cancel(keyOf(client, id)),
      logLevel: isNamed ? this.#levels.get(client) : undefined,
      setLogLevel: (level) => {
        if (isNamed) this.#setLevel(client, level);
      },
    };
  }

  #begin(key: string, cancel: () => void): () => void {
    const running = this.#running.get(key) ?? new Set();
    this.#running.set(key, running.add(cancel));
    return () => {
      running.delete(cancel);
      if (running.size === 0 && this.#running.get(key) === running) this.#running.delete(key);
    };
  }

  /** Two requests with the same id are ambiguous: both continue. */
  #cancel(key: string): void {
    const running = this.#running.get(key);
    if (running?.size !== 1) return;
    for (const cancel of running) cancel();
  }

  #setLevel(client: string, level: string): void {
    this.#levels.delete(client);
    this.#levels.set(client, level);
    const [oldest] = this.#levels.keys();
    if (this.#levels.size > LEVELS_MAX && oldest !== undefined) this.#levels.delete(oldest);
  }
}

/** For surfaces whose requests can be cancelled. */
export interface RpcSession {
  readonly requests: ClientRequests;
  /** A session id for a client that sends `initialize`. */
  readonly newId: () => string;
}

export interface ClientRequests {
  /** Registers a request until the returned function is called. `cancel` is called when the client cancels it. */
  begin(id: RequestId, cancel: () => void): () => void;
  /** Cancels the request of this id; no effect when there is none. */
  cancel(id: RequestId): void;
  /** As set by `logging/setLevel`. */
  readonly logLevel: string | undefined;
  setLogLevel(level: string): void;
}

/** 1 and "1" are two ids. */
function keyOf(client: string, id: RequestId): string {
  return `${client}${JSON.stringify(id)}`;
}
