/**
 * The configuration in use: what was loaded last, what the store lays over it, and the generation that calls begin on.
 * It swaps, all or nothing; loading, and when, is the gateway's.
 */
import { forgetUnusedSchemas } from "../base/json-schema.ts";
import { CompileError } from "../compile/context.ts";
import { InstancePool } from "../compile/instances.ts";
import type { Diagnostic } from "../config/diagnostic.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import { ConfigError, setupDiagnostic } from "./config-error.ts";
import { LiveGeneration } from "./generation.ts";
import { type Layered, Layers } from "./layers.ts";
import type { Loaded } from "./load.ts";
import type { GatewayPlatform } from "./platform.ts";

/** Sections that are read once, at start (CONTRACT section 2). */
export const FIXED = ["server", "admin", "state"] as const;

/** Told once a model, where its settings are fitted: ten thousand endpoints may share one. */
const SETTING_REFUSED = "W0109";

export class LiveConfig {
  /** As calls run on it: git's, with the overrides applied. */
  config: ResolvedConfig;
  /** Without them. */
  git: ResolvedConfig;
  warnings: readonly Diagnostic[] = [];
  readonly #rt: GatewayPlatform;
  /** As started: later changes to the fixed sections wait for a restart. */
  readonly #started: ResolvedConfig;
  readonly #pool = new InstancePool();
  readonly #layers: Layers;
  #upstream: Promise<UpstreamClient> | undefined;
  #current: LiveGeneration | undefined;

  constructor(rt: GatewayPlatform, started: ResolvedConfig) {
    this.#rt = rt;
    this.#started = started;
    this.config = started;
    this.git = started;
    this.#layers = new Layers(rt.store.overrides);
  }

  /** undefined before the first `apply`. */
  get generation(): LiveGeneration | undefined {
    return this.#current;
  }

  /** The sections of `next` that wait for a restart. */
  needsRestart(next: ResolvedConfig): readonly (typeof FIXED)[number][] {
    return FIXED.filter((key) => JSON.stringify(next[key]) !== JSON.stringify(this.#started[key]));
  }

  /** Compiles what was loaded and puts it to use. Throws ConfigError when a plugin refuses; then nothing has changed. */
  async apply({ config, hash, registry, warnings }: Loaded): Promise<void> {
    if (config === undefined) throw new ConfigError([], warnings);
    // What needs a restart keeps its value, so that one generation never runs on halves of two.
    const { server, admin, state } = this.#started;
    const usable = { ...config, server, admin, state };
    const layered = await this.#layers
      .load({
        config: usable,
        ...{ hash, registry, platform: this.#rt, pool: this.#pool },
        upstream: () => this.#upstreamClient(),
      })
      .catch((thrown: unknown) => {
        throw thrown instanceof CompileError ? new ConfigError([setupDiagnostic(thrown)], warnings) : thrown;
      });
    const before = this.#current && this.git;
    this.git = usable;
    this.warnings = warnings;
    await this.#swap(layered);
    if (!layered.isKnown)
      this.#rt.log.warn({}, "calls are refused until the state store has said which tokens are revoked");
    this.#rt.events.follow(before, usable, hash);
    this.#rt.log.setLevel(config.log.level);
    this.#rt.http.allow(config.network.allow);
    this.#rt.traces.configure(config.telemetry.otlp);
    for (const { code, file, line, column, message } of warnings) {
      if (code === SETTING_REFUSED) continue;
      this.#rt.log.warn({ code, at: `${file}:${line}:${column}` }, message);
    }
  }

  /** Brings what the store now overrides into use. */
  async applyOverrides(): Promise<void> {
    const layered = await this.#layers.again();
    if (layered !== undefined) await this.#swap(layered);
  }

  /** After the last call. */
  async close(): Promise<void> {
    this.#current?.retire();
    await this.#layers.close();
    await this.#upstream?.then((client) => client.close());
  }

  /** One assignment: calls that begin after it run on this. */
  async #swap({ config, compiled, stale }: Layered): Promise<void> {
    const previous = this.#current;
    const number = (previous?.number ?? 0) + 1;
    this.#current = new LiveGeneration(number, compiled, (error) => {
      this.#rt.log.error({ generation: number, err: error }, "a plugin failed to close");
    });
    this.config = config;
    previous?.retire();
    forgetUnusedSchemas();
    for (const key of stale) {
      if (await this.#rt.store.overrides.drop(key))
        this.#rt.log.info({ key }, "an override is gone: git has changed what it stood over");
    }
  }

  #upstreamClient(): Promise<UpstreamClient> {
    this.#upstream ??= import("../upstream/client.ts").then(({ createUpstreamClient }) =>
      createUpstreamClient({ clock: this.#rt.clock }),
    );
    return this.#upstream;
  }
}
