/**
 * The configuration as calls run on it, in its two layers: what git says, compiled once a load, and what the store lays
 * over it. Compiles and decides what is stale; swapping generations is the gateway's.
 */
import { isDeepStrictEqual } from "node:util";
import { type CompileInput, compileConfig } from "../compile/compile.ts";
import type { CompiledConfig, RequestStep } from "../compile/model.ts";
import { CompiledBase, compileOverlay } from "../compile/overlay.ts";
import type { ResolvedConfig } from "../config/model.ts";
import { applyOverrides } from "../config/overrides.ts";
import { type Override, type OverrideStore, reject, STAGES } from "../plugin/index.ts";

export interface Layered {
  /** git's, with the overrides applied. */
  readonly config: ResolvedConfig;
  readonly compiled: CompiledConfig;
  /** False: the store could not say what it lays over it, and calls are refused until it can. */
  readonly isKnown: boolean;
  /** Keys of overrides that git has won against: to be dropped once this is in use. */
  readonly stale: readonly string[];
}

/** Until it is known what was revoked, nobody is let in: a token is looked at, and then refused all the same. */
const NOT_YET: RequestStep = {
  stage: STAGES.indexOf("authenticate"),
  plugin: "overrides",
  run: () => reject("state_unavailable", {}),
};

export class Layers {
  readonly #store: OverrideStore;
  #base: CompiledBase | undefined;
  #input: CompileInput | undefined;
  /** undefined: the store could not say so far. */
  #applied: readonly Override[] | undefined;

  constructor(store: OverrideStore) {
    this.#store = store;
  }

  /** Compiles what git says and lays the store's overrides over it. Rejects as compileConfig does, changing nothing. */
  async load(input: CompileInput): Promise<Layered> {
    const overrides = await this.#read();
    const { config, stale } = applyOverrides(input.config, overrides ?? []);
    const base = new CompiledBase(input.config, await compileConfig(input));
    try {
      const compiled = await compileOverlay(base, { ...input, config });
      const previous = this.#base;
      this.#base = base;
      this.#input = input;
      this.#applied = overrides;
      await previous?.release();
      const isKnown = overrides !== undefined;
      const authenticate = isKnown ? compiled.authenticate : [...compiled.authenticate, NOT_YET];
      return { config, compiled: { ...compiled, authenticate }, isKnown, stale };
    } catch (thrown) {
      await base.release();
      throw thrown;
    }
  }

  /** The overrides of now over what was loaded last; undefined when they are those of before. */
  async again(): Promise<Layered | undefined> {
    const overrides = await this.#read();
    if (this.#base === undefined || this.#input === undefined || overrides === undefined) return undefined;
    if (isDeepStrictEqual(overrides, this.#applied)) return undefined;
    const { config, stale } = applyOverrides(this.#input.config, overrides);
    const compiled = await compileOverlay(this.#base, { ...this.#input, config });
    this.#applied = overrides;
    return { config, compiled, isKnown: true, stale };
  }

  async #read(): Promise<readonly Override[] | undefined> {
    const overrides = await this.#store.list();
    return overrides === "unavailable" ? this.#applied : overrides;
  }

  /** No configuration comes after those that calls still run on. */
  async close(): Promise<void> {
    await this.#base?.release();
    this.#base = undefined;
  }
}
