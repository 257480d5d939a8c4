/**
 * The connections to one origin, one call on each at a time. Idle ones are a stack: the next call gets the warmest in
 * constant time. Connections and waiting calls are bounded. Knows no protocol: a client brings its own connections.
 */
import type { Deadlines } from "./deadlines.ts";
import type { HostConnections } from "./http-client.ts";
import type { OpenCall } from "./open-call.ts";

export interface PooledConnection<Request> {
  /** Takes the next call. False: it cannot, the other side has closed it meanwhile. */
  run(call: OpenCall<Request>): boolean;
  /** Ends it; its call, if it has one, is told nothing more. */
  drop(): void;
}

/** What a connection tells its pool. */
export interface ConnectionOwner<Request> {
  readonly deadlines: Deadlines;
  /** An idle connection is kept no longer than that. */
  readonly keepMsMax: number;
  /** Its answer is complete, and it may be used again. */
  release(connection: PooledConnection<Request>): void;
  /** It is closed. */
  lose(connection: PooledConnection<Request>): void;
  /** Opens another connection instead of one that was lost, for the call that it had. */
  replace(lost: PooledConnection<Request>, call: OpenCall<Request>): void;
}

/** Opens a connection, for this call. */
export type OpenConnection<Request> = (
  owner: ConnectionOwner<Request>,
  call: OpenCall<Request>,
) => PooledConnection<Request>;

export interface PoolLimits {
  readonly connectionsMax: number;
  /** Calls that wait for a connection. */
  readonly waitingMax: number;
  readonly keepMsMax: number;
}

export class ConnectionPool<Request> implements ConnectionOwner<Request> {
  readonly deadlines: Deadlines;
  readonly keepMsMax: number;
  readonly #host: string;
  readonly #open: OpenConnection<Request>;
  readonly #limits: PoolLimits;
  readonly #free: PooledConnection<Request>[] = [];
  readonly #waiting: OpenCall<Request>[] = [];
  #connections = 0;
  #exhausted = 0;
  #closed: (() => void) | undefined;

  constructor(host: string, open: OpenConnection<Request>, deadlines: Deadlines, limits: PoolLimits) {
    this.#host = host;
    this.#open = open;
    this.deadlines = deadlines;
    this.#limits = limits;
    this.keepMsMax = limits.keepMsMax;
  }

  start(call: OpenCall<Request>): void {
    for (let free = this.#free.pop(); free !== undefined; free = this.#free.pop()) {
      if (free.run(call)) return;
      free.drop();
    }
    const { connectionsMax = this.#limits.connectionsMax } = call;
    if (this.#connections < connectionsMax) this.#add(call);
    else if (call.connectionsMax === undefined && this.#waiting.length < this.#limits.waitingMax)
      this.#waiting.push(call);
    else {
      this.#exhausted++;
      const reason = `all ${connectionsMax} connections are in use`;
      call.onLost({ kind: "exhausted", reason, cause: new Error(`${reason}: ${this.#host}`) });
    }
  }

  connections(): HostConnections {
    const idle = this.#free.length;
    return { host: this.#host, inUse: this.#connections - idle, idle, exhausted: this.#exhausted };
  }

  /** Forgets a call that no longer waits. */
  withdraw(call: OpenCall<Request>): void {
    const at = this.#waiting.indexOf(call);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  /** Resolves when all calls are over and all connections closed. */
  close(): Promise<void> {
    return new Promise((closed) => {
      this.#closed = closed;
      for (const free of [...this.#free]) free.drop();
      this.#reportClosed();
    });
  }

  release(connection: PooledConnection<Request>): void {
    if (this.#closed !== undefined && this.#waiting.length === 0) return connection.drop();
    this.#free.push(connection);
    const next = this.#waiting.shift();
    if (next !== undefined) this.start(next);
  }

  lose(connection: PooledConnection<Request>): void {
    this.#connections--;
    this.#remove(connection);
    const next = this.#waiting.shift();
    if (next !== undefined) this.#add(next);
    this.#reportClosed();
  }

  replace(lost: PooledConnection<Request>, call: OpenCall<Request>): void {
    this.#remove(lost);
    this.#open(this, call);
  }

  #add(call: OpenCall<Request>): void {
    this.#connections++;
    this.#open(this, call);
  }

  #remove(connection: PooledConnection<Request>): void {
    const at = this.#free.lastIndexOf(connection);
    if (at >= 0) this.#free.splice(at, 1);
  }

  #reportClosed(): void {
    if (this.#connections === 0) this.#closed?.();
  }
}
