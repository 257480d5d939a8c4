/**
 * The configuration as calls run on it, in two layers: what git has, compiled once per load, and the store's
 * overrides over it. Compiles and decides which overrides are stale; swapping generations is LiveConfig's.
 */
import { isDeepStrictEqual } from "node:util";
import { type CompileInput, compileConfig } from "../compile/compile.ts";
import type { CompiledConfig, RequestStep } from "../compile/model.ts";
import { CompiledBase, compileOverrides } from "../compile/overrides.ts";
import type { ResolvedConfig } from "../config/model.ts";
import { applyOverrides } from "../config/overrides.ts";
import { reject, STAGES } from "../plugin/index.ts";
import type { Override, OverrideStore } from "../plugin/store.ts";

export interface Layered {
  /** git's, with the overrides applied. */
  readonly config: ResolvedConfig;
  readonly compiled: CompiledConfig;
  /** False: the store could not say which overrides there are, and calls are refused until it can. */
  readonly isKnown: boolean;
  /** Keys of overrides whose base value changed in git: to be dropped once this is in use. */
  readonly stale: readonly string[];
}

/** What a load has compiled, before any override is applied. Either `use` or `release` it. */
export interface PreparedBase {
  readonly input: CompileInput;
  readonly base: CompiledBase;
}

/** Until revocations are known no call is admitted: the token is checked, and then refused. */
const NOT_YET: RequestStep = {
  stage: STAGES.indexOf("authenticate"),
  plugin: "overrides",
  run: () => reject("state_unavailable", {}),
};

export class Layers {
  readonly #store: OverrideStore;
  readonly #closeFailed: (thrown: unknown) => void;
  #current: PreparedBase | undefined;
  /** undefined: the store could not say so far. */
  #applied: readonly Override[] | undefined;

  /** `closeFailed` receives what plugins throw when the configuration before is closed. */
  constructor(store: OverrideStore, closeFailed: (thrown: unknown) => void) {
    this.#store = store;
    this.#closeFailed = closeFailed;
  }

  /**
   * Compiles what git has, and changes nothing yet: this is the slow part of a reload, during which overrides may
   * still be applied to the configuration before. Rejects as compileConfig does.
   */
  async prepare(input: CompileInput): Promise<PreparedBase> {
    return { input, base: new CompiledBase(input.config, await compileConfig(input)) };
  }

  /** Applies the store's overrides of now to a prepared configuration, which is the current one from then on. */
  async use(prepared: PreparedBase): Promise<Layered> {
    const { input, base } = prepared;
    const overrides = await this.#read();
    const { config, stale } = applyOverrides(input.config, overrides ?? []);
    const compiled = await compileOverrides(base, { ...input, config });
    const previous = this.#current;
    this.#current = prepared;
    this.#applied = overrides;
    // Not awaited: a plugin that hangs while it is closed must not delay the swap.
    previous?.base.release().catch(this.#closeFailed);
    const isKnown = overrides !== undefined;
    const authenticate = isKnown ? compiled.authenticate : [...compiled.authenticate, NOT_YET];
    return { config, compiled: { ...compiled, authenticate }, isKnown, stale };
  }

  /** Applies the store's overrides of now to the current configuration; undefined when they have not changed. */
  async again(): Promise<Layered | undefined> {
    const overrides = await this.#read();
    if (this.#current === undefined || overrides === undefined) return undefined;
    if (isDeepStrictEqual(overrides, this.#applied)) return undefined;
    const { input, base } = this.#current;
    const { config, stale } = applyOverrides(input.config, overrides);
    const compiled = await compileOverrides(base, { ...input, config });
    this.#applied = overrides;
    return { config, compiled, isKnown: true, stale };
  }

  async #read(): Promise<readonly Override[] | undefined> {
    const overrides = await this.#store.list();
    return overrides === "unavailable" ? this.#applied : overrides;
  }

  /** No configuration comes after those that calls still run on. */
  async close(): Promise<void> {
    await this.#current?.base.release();
    this.#current = undefined;
  }
}
