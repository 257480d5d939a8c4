/** One configuration in use and the number of its calls. Closed when a newer one has replaced it and the last call has ended. */
import type { CompiledConfig } from "../compile/model.ts";
import { type ClientAddress, clientAddress } from "../http/client-address.ts";
import type { ConfigRef } from "../plugin/exchange.ts";
import type { Generation } from "../surfaces/request-context.ts";

/** Generations held in memory, for tests and metrics. */
let alive = 0;
export const generationsAlive = (): number => alive;

export class LiveGeneration implements Generation {
  readonly number: number;
  readonly config: CompiledConfig;
  readonly clientAddress: ClientAddress;
  ref: ConfigRef;
  readonly #closed: (error: unknown) => void;
  #calls = 0;
  #retired = false;

  /** `closed` receives errors of plugins while they are closed. */
  constructor(
    number: number,
    config: CompiledConfig,
    closed: (error: unknown) => void,
    revision: string | undefined,
  ) {
    this.number = number;
    this.config = config;
    this.ref = Object.freeze({ hash: config.hash, generation: number, revision: revision ?? "" });
    this.clientAddress = clientAddress(config.server.trusted_proxies);
    this.#closed = closed;
    alive++;
  }

  revise(revision: string | undefined): void {
    this.ref = Object.freeze({ ...this.ref, revision: revision ?? "" });
  }

  acquire(): this {
    this.#calls++;
    return this;
  }

  release(): void {
    this.#calls--;
    if (this.#retired && this.#calls === 0) this.#close();
  }

  /** A newer one has replaced it: no call begins on it anymore. */
  retire(): void {
    this.#retired = true;
    if (this.#calls === 0) this.#close();
  }

  #close(): void {
    alive--;
    this.config.close().catch(this.#closed);
  }
}
