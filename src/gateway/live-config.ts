/**
 * The configuration in use: what was loaded last, what the store lays over it, and the generation that calls begin on.
 * It swaps, all or nothing; loading, and when, is the reloader's.
 */
import { forgetUnusedSchemas } from "../base/json-schema.ts";
import { CompileError } from "../compile/context.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { Diagnostic } from "../config/report/diagnostic.ts";
import type { KeptSide } from "../plan/kept-side.ts";
import { InstancePool } from "../plugins-host/instances.ts";
import { registerConnectionMetrics } from "../telemetry/metrics.ts";
import { ProviderClients } from "../upstream/provider-clients.ts";
import { ConfigError, setupDiagnostic } from "./config-error.ts";
import { LiveGeneration } from "./generation.ts";
import { type Layered, Layers, type PreparedBase } from "./layers.ts";
import type { Loaded } from "./load.ts";
import type { GatewayPlatform } from "./platform.ts";
import { renameState } from "./renames.ts";

/** Sections that are read once, at start. */
const FIXED = ["server", "admin", "state"] as const;

/** The gateway stopped while a configuration was being compiled. */
export class StoppedError extends Error {
  constructor() {
    super("the gateway has stopped");
  }
}

/** Told once a model, where its settings are fitted: ten thousand endpoints may share one. */
const SETTING_REFUSED = "W0109";

export class LiveConfig {
  /** As calls run on it: git's, with the overrides applied. */
  config: ResolvedConfig;
  /** Without them. */
  git: ResolvedConfig;
  /** What is shown of that; undefined: it is not known. */
  kept: Promise<KeptSide | undefined> = Promise.resolve(undefined);
  warnings: readonly Diagnostic[] = [];
  /** `git` as the admin listener shows it; undefined without that listener. */
  packed: Promise<Uint8Array | undefined> = Promise.resolve(undefined);
  readonly #rt: GatewayPlatform;
  /** As started: later changes to the fixed sections wait for a restart. */
  readonly #started: ResolvedConfig;
  readonly #pool: InstancePool;
  readonly #layers: Layers;
  readonly #clients: ProviderClients;
  #current: LiveGeneration | undefined;
  #swaps: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(rt: GatewayPlatform, started: ResolvedConfig) {
    this.#rt = rt;
    this.#started = started;
    this.config = started;
    this.git = started;
    this.#pool = new InstancePool(rt);
    this.#clients = new ProviderClients({ clock: rt.clock, env: process.env });
    registerConnectionMetrics(rt.metrics, this.#clients);
    this.#layers = new Layers(rt.store.overrides, (thrown) =>
      rt.log.error({ err: thrown }, "a plugin failed to close"),
    );
  }

  /** undefined before the first `apply`. */
  get generation(): LiveGeneration | undefined {
    return this.#current;
  }

  /** Whether an admin listener shows configurations. */
  get isShown(): boolean {
    return this.#started.admin.enabled;
  }

  /** The sections of `next` that wait for a restart. */
  needsRestart(next: ResolvedConfig): readonly (typeof FIXED)[number][] {
    return FIXED.filter((key) => JSON.stringify(next[key]) !== JSON.stringify(this.#started[key]));
  }

  /**
   * Compiles what was loaded and puts it to use. Throws ConfigError when a plugin refuses, and StoppedError when the
   * gateway has stopped meanwhile; then nothing has changed.
   */
  async apply(loaded: Loaded): Promise<void> {
    const { config, hash, registry, warnings } = loaded;
    if (config === undefined) throw new ConfigError([], warnings);
    // What needs a restart keeps its value, so that one generation never runs on halves of two.
    const { server, admin, state } = this.#started;
    const usable = { ...config, server, admin, state };
    const prepared = await this.#layers
      .prepare({
        config: usable,
        ...{ hash, registry, platform: this.#rt, pool: this.#pool },
        clients: this.#clients,
      })
      .catch((thrown: unknown) => {
        throw thrown instanceof CompileError ? new ConfigError([setupDiagnostic(thrown)], warnings) : thrown;
      });
    await this.#inTurn(() => this.#use(prepared, loaded));
  }

  /**
   * Brings the store's overrides of now into use. Waits for no reload: those hold the queue only for the moment in
   * which they swap, so that a revocation takes effect at once while a load or a plugin's setup hangs.
   */
  applyOverrides(): Promise<void> {
    return this.#inTurn(async () => {
      const layered = await this.#layers.again();
      if (layered === undefined) return;
      if (this.#closed) await layered.compiled.close();
      else this.#swap(layered);
    });
  }

  /** After the last call. Does not wait for a load or a plugin's setup that is still under way. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#current?.retire();
    await this.#layers.close();
    await this.#clients.close();
  }

  /** Swaps happen one after the other, in the order of their requests. */
  #inTurn(run: () => Promise<void>): Promise<void> {
    const next = this.#swaps.then(run);
    this.#swaps = next.catch(() => undefined);
    return next;
  }

  /** Of the configuration's folder when it was loaded. */
  #revision: string | undefined;

  /** The same configuration under another revision: calls that begin from now on name it. */
  revise(revision: string | undefined): void {
    this.#revision = revision;
    this.#current?.revise(revision);
  }

  async #use(prepared: PreparedBase, loaded: Loaded): Promise<void> {
    const { hash, warnings, revision, kept, changes } = loaded;
    const { config: usable } = prepared.input;
    if (this.#closed) {
      await prepared.base.release();
      throw new StoppedError();
    }
    await renameState(this.#rt.store, usable, this.#rt.log);
    const layered = await this.#layers.use(prepared).catch(async (thrown: unknown) => {
      await prepared.base.release();
      throw thrown;
    });
    if (this.#closed) {
      await layered.compiled.close();
      throw new StoppedError();
    }
    this.git = usable;
    this.kept = changes?.then((changed) => changed.kept).catch(() => undefined) ?? Promise.resolve(kept);
    const packed = changes?.then((changed) => changed.packed).catch(() => undefined);
    this.packed = packed ?? Promise.resolve(this.isShown ? loaded.pack?.() : undefined);
    this.warnings = warnings;
    this.#revision = revision;
    this.#swap(layered);
    if (!layered.isKnown)
      this.#rt.log.warn({}, "calls are refused until the state store has said which tokens are revoked");
    const events = changes?.then((changed) => changed.events);
    this.#rt.events.follow(usable, { hash, revision: revision ?? "" }, events);
    this.#rt.log.setLevel(usable.log.level);
    this.#rt.http.allow(usable.network.allow);
    this.#rt.traces.configure(usable.telemetry.otlp);
    this.#rt.recorded.recent.keep(usable.calls.keep);
    for (const { code, file, line, column, message } of warnings) {
      if (code === SETTING_REFUSED) continue;
      this.#rt.log.warn({ code, at: `${file}:${line}:${column}` }, message);
    }
  }

  /** One assignment: calls that begin after it run on this. */
  #swap({ config, compiled, stale }: Layered): void {
    const previous = this.#current;
    const number = (previous?.number ?? 0) + 1;
    this.#current = new LiveGeneration(
      number,
      compiled,
      (error) => {
        this.#rt.log.error({ generation: number, err: error }, "a plugin failed to close");
      },
      this.#revision,
    );
    this.config = config;
    previous?.retire();
    forgetUnusedSchemas();
    if (stale.length > 0) this.#dropStale(stale);
  }

  /** Nothing waits for it: a store that is slow delays no swap. */
  #dropStale(keys: readonly string[]): void {
    const { log, store } = this.#rt;
    void (async () => {
      for (const key of keys) {
        if (await store.overrides.delete(key))
          log.info({ key }, "override dropped: its base value changed in git");
      }
    })().catch((thrown: unknown) => log.error({ err: thrown }, "stale overrides could not be dropped"));
  }
}
