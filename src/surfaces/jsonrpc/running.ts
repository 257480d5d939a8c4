/**
 * The requests that are being answered, so that `notifications/cancelled` of the revisions up to 2025-11-25 finds the one it
 * names. It arrives in a POST of its own, so requests are kept by who sent them. Knows no tool and no socket.
 */

type RequestId = string | number;

/** Log levels of sessions that have set one; the oldest are forgotten. */
const LEVELS_MAX = 10_000;
const SESSION_ID = /^[\x21-\x7e]{1,128}$/;

export class RunningRequests {
  /** By client and id. Without a session id several clients of one token may use the same id at once. */
  readonly #running = new Map<string, Set<() => void>>();
  readonly #levels = new Map<string, string>();

  /** What one client may see of it. `caller`: who was authenticated; `sessionId`: what it sent as `Mcp-Session-Id`. */
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

  /** Of two requests with one name nobody can say which is meant: both continue. */
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

/** Of a surface whose requests can take long enough to be withdrawn. */
export interface RpcSession {
  readonly requests: ClientRequests;
  /** Makes an id for a client that begins a session. */
  readonly newId: () => string;
}

export interface ClientRequests {
  /** Registers a request until the returned function is called. `cancel` runs when the client withdraws it. */
  begin(id: RequestId, cancel: () => void): () => void;
  /** The client withdraws the request of this id. Without effect when there is none, as when its answer is on its way. */
  cancel(id: RequestId): void;
  /** What the client has set by `logging/setLevel`. */
  readonly logLevel: string | undefined;
  setLogLevel(level: string): void;
}

/** 1 and "1" are two ids. */
function keyOf(client: string, id: RequestId): string {
  return `${client}${JSON.stringify(id)}`;
}
