/**
 * The connections to one origin, one call on each at a time. Free ones are a stack: the next call gets the warmest in
 * constant time. Bounded, and so is who waits.
 */
import type { HostConnections } from "./client.ts";
import type { Connector } from "./connect.ts";
import { Connection } from "./connection.ts";
import type { Deadlines } from "./deadlines.ts";
import type { OpenCall } from "./open-call.ts";

export interface OriginLimits {
  readonly connectionsMax: number;
  /** An idle connection is kept no longer than that. */
  readonly keepMsMax: number;
}

export class Origin {
  readonly connect: Connector;
  readonly deadlines: Deadlines;
  readonly keepMsMax: number;
  readonly #host: string;
  readonly #connectionsMax: number;
  readonly #free: Connection[] = [];
  /** As many at most as there are connections. */
  readonly #waiting: OpenCall[] = [];
  #connections = 0;
  #exhausted = 0;
  #closed: (() => void) | undefined;

  constructor(
    host: string,
    connect: Connector,
    deadlines: Deadlines,
    { connectionsMax, keepMsMax }: OriginLimits,
  ) {
    this.#host = host;
    this.connect = connect;
    this.deadlines = deadlines;
    this.#connectionsMax = connectionsMax;
    this.keepMsMax = keepMsMax;
  }

  start(call: OpenCall): void {
    for (let free = this.#free.pop(); free !== undefined; free = this.#free.pop()) {
      if (free.run(call)) return;
      free.drop();
    }
    const { connectionsMax = this.#connectionsMax } = call;
    if (this.#connections < connectionsMax) this.#open(call);
    else if (call.connectionsMax === undefined && this.#waiting.length < connectionsMax)
      this.#waiting.push(call);
    else {
      this.#exhausted++;
      const reason = `all ${connectionsMax} connections are in use`;
      call.onLost({ kind: "exhausted", reason, cause: new Error(`${reason}: ${this.#host}`) });
    }
  }

  /** Opens a connection in the place of one that is lost, for the call that it had. */
  replace(lost: Connection, call: OpenCall): void {
    this.#remove(lost);
    new Connection(this, call);
  }

  connections(): HostConnections {
    const idle = this.#free.length;
    return { host: this.#host, inUse: this.#connections - idle, idle, exhausted: this.#exhausted };
  }

  /** Its answer is complete, and it may be used again. */
  release(connection: Connection): void {
    if (this.#closed !== undefined && this.#waiting.length === 0) connection.drop();
    else {
      this.#free.push(connection);
      const next = this.#waiting.shift();
      if (next !== undefined) this.start(next);
    }
  }

  /** It is no more. */
  lose(connection: Connection): void {
    this.#connections--;
    this.#remove(connection);
    const next = this.#waiting.shift();
    if (next !== undefined) this.#open(next);
    this.#reportClosed();
  }

  /** The call was given up before its turn came. */
  withdraw(call: OpenCall): void {
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

  #remove(connection: Connection): void {
    const at = this.#free.lastIndexOf(connection);
    if (at >= 0) this.#free.splice(at, 1);
  }

  #open(call: OpenCall): void {
    this.#connections++;
    new Connection(this, call);
  }

  #reportClosed(): void {
    if (this.#connections === 0) this.#closed?.();
  }
}
