/** One configuration in use, and how many calls still run on it. Retired when a newer one is in its place and the last call has ended. */
import type { CompiledConfig } from "../compile/model.ts";
import { type ClientAddress, clientAddress } from "../http/client-address.ts";
import type { ConfigRef } from "../plugin/exchange.ts";
import type { Generation } from "../surfaces/request-context.ts";

/** Generations in being, for tests and metrics: one when all is quiet. */
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

  /** `closed` hears of plugins that fail while they are closed. */
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

  /** A newer one is in its place: no call begins on it any more. */
  retire(): void {
    this.#retired = true;
    if (this.#calls === 0) this.#close();
  }

  #close(): void {
    alive--;
    this.config.close().catch(this.#closed);
  }
}
