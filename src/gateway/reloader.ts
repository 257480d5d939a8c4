/**
 * Reloads: one at a time, from a file change, SIGHUP or an explicit request to the outcome that is logged and shown. A
 * load that failed for a reason that may pass is retried with backoff. Serving and swapping are not its business.
 */
import { demoIn, isLoopback } from "../config/check/demo-token.ts";
import type { LoadRequest } from "../config/load.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { Diagnostic } from "../config/report/diagnostic.ts";
import type { Timer } from "../plugin/host.ts";
import type { ReviewedChange } from "../surfaces/shared-routes.ts";
import { knownChanges } from "./compared.ts";
import { ConfigError, demoDiagnostic, loadDiagnostic } from "./config-error.ts";
import { headStamp, revisionOf } from "./git.ts";
import { keepLastValid } from "./last-valid.ts";
import { type LiveConfig, StoppedError } from "./live-config.ts";
import type { Loaded } from "./load.ts";
import { Loader } from "./loader.ts";
import type { GatewayPlatform } from "./platform.ts";
import type { LoadedRef } from "./reload-events.ts";
import type { LastFindings, LastReload, ReloadConflict, ReloadOutcome } from "./reload-outcome.ts";
import { ConfigWatch } from "./watch.ts";

export interface ReloaderOptions {
  readonly platform: GatewayPlatform;
  readonly live: LiveConfig;
  readonly request: () => LoadRequest;
  /** False: `reload.watch` of the configuration is ignored, and no file is watched. */
  readonly watch: boolean;
  /** Whether each configuration that is taken on is kept on disk. */
  readonly keepsLastValid: boolean;
  /** Receives each outcome that an operator should see: a rejection, and the first valid load after one. */
  readonly reported?: ((outcome: ReloadOutcome) => void) | undefined;
}

/** The requested configuration, which is invalid, while the last valid one is in effect. */
export interface Rejected {
  readonly asked: Loaded;
  /** When the one that is served was kept. */
  readonly savedAt: string;
}

/** Failures whose cause may pass without any file changing: a plugin's service, memory, file descriptors. */
const RETRIED: ReadonlySet<string> = new Set(["E0316", "E0900", "E0901", "E0902"]);
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 60_000;

const WATCH_FAILED = "an automatic reload failed; the next change or poll tries again";

export class Reloader {
  /** Of all that was read for the configuration in use, secrets included. */
  #digest = "";
  last: LastReload = { at: "", ok: true, errors: [] };
  findings: LastFindings = { errors: [], warnings: [], needsRestart: [] };
  readonly #options: ReloaderOptions;
  readonly #loader: Loader;
  readonly #watch: ConfigWatch | undefined;
  #running: Promise<unknown> = Promise.resolve();
  /** The reload that waits for the one under way. Shared by everybody who asks meanwhile, so that none pile up. */
  #waiting: Promise<ReloadOutcome> | undefined;
  #retry: Timer | undefined;
  /** Of the reload that is under way. */
  #reviewed: ReviewedChange | undefined;
  /** Whether the files that were loaded last are the configuration in use, so that git's HEAD is its revision. */
  #isCurrent = false;
  /** Of git's HEAD when the revision was looked up last. */
  #headStamp: string | undefined;
  /** Copies are made one after the other. */
  #keeping: Promise<void> = Promise.resolve();
  #failures = 0;
  #closed = false;

  constructor(options: ReloaderOptions) {
    this.#options = options;
    const { clock } = options.platform;
    this.#loader = new Loader(options.platform);
    if (options.watch) {
      this.#watch = new ConfigWatch({
        clock,
        changed: async () => void (await this.reload()),
        unchanged: () => this.#followHead(),
        failed: (thrown) => this.#options.platform.log.error({ err: thrown }, WATCH_FAILED),
      });
    }
  }

  /** Takes on the configuration that the gateway starts with. Throws as LiveConfig.apply does. */
  async begin(loaded: Loaded, rejected?: Rejected): Promise<void> {
    await this.#options.live.apply(loaded);
    this.#digest = loaded.digest;
    this.#noteSuccess(loaded.hash);
    this.findings = { errors: [], warnings: loaded.warnings, needsRestart: [] };
    this.#follow(rejected?.asked ?? loaded);
    if (rejected === undefined) return this.#keep(loaded);
    const { savedAt, asked } = rejected;
    this.#options.platform.log.error(
      { saved_at: savedAt, hash: loaded.hash },
      `the configuration is invalid: serving the last valid one, kept at ${savedAt}`,
    );
    this.#refused(asked.errors, asked.warnings);
  }

  /** Beside the calls; a copy that cannot be made is logged, and the one before stays. */
  #keep(loaded: Loaded): void {
    const { keepsLastValid, platform, live, request } = this.#options;
    if (!keepsLastValid) return;
    const { directory } = live.config.state;
    const savedAt = this.#now();
    this.#keeping = this.#keeping
      .then(() => keepLastValid(directory, request(), loaded, savedAt))
      .then(
        () => platform.log.info({ directory, hash: loaded.hash }, "last valid configuration kept"),
        (thrown: unknown) =>
          platform.log.warn({ directory, err: thrown }, "the configuration could not be kept for a fallback"),
      );
  }

  /** Begins after this call: what was written before it is loaded. Never rejects. */
  reload(reviewed?: ReviewedChange): Promise<ReloadOutcome> {
    if (reviewed !== undefined) {
      const own = this.#running.then(() => this.#reload(reviewed));
      this.#running = own;
      return own;
    }
    if (this.#waiting === undefined) {
      const next = this.#running.then(() => {
        this.#waiting = undefined;
        return this.#reload();
      });
      this.#waiting = next;
      this.#running = next;
    }
    return this.#waiting;
  }

  /** No reload takes effect after this. Waits for none: a stuck loader thread is abandoned. */
  close(): void {
    this.#closed = true;
    this.#retry?.cancel();
    this.#watch?.close();
    this.#loader.close();
  }

  async #reload(reviewed?: ReviewedChange): Promise<ReloadOutcome> {
    if (this.#closed) return this.#outcome({ ok: false });
    // Reloads are sequential: what runs now runs until this one applies what it has loaded.
    if (reviewed !== undefined && reviewed.fromHash !== this.#inUse.hash)
      return this.#conflict({ side: "running", found: this.#inUse });
    // A pending retry would load what nobody has reviewed, but it is not this reload's to cancel unless it succeeds.
    if (reviewed === undefined) this.#retry?.cancel();
    this.#reviewed = reviewed;
    try {
      return await this.#loadAndApply();
    } catch (thrown) {
      if (this.#closed || thrown instanceof StoppedError) return this.#outcome({ ok: false });
      this.#options.platform.log.error({ err: thrown }, "the configuration could not be loaded");
      return this.#refused([loadDiagnostic(this.#options.request().path)], []);
    }
  }

  async #loadAndApply(): Promise<ReloadOutcome> {
    const { live, platform, request } = this.#options;
    const kept = await live.kept;
    const loaded = await this.#loader.load(request(), {
      config: live.git,
      digest: this.#digest,
      kept,
      packs: live.isShown,
    });
    const { config, hash, digest, errors, warnings } = loaded;
    const found = config === undefined || errors.length > 0 ? errors : this.#publicDemo(config);
    if (config === undefined || found.length > 0) {
      this.#follow(loaded);
      return this.#refused(found, warnings);
    }
    if (this.#reviewed !== undefined && hash !== this.#reviewed.toHash) {
      this.#follow(loaded);
      return this.#conflict({ side: "new", found: { hash, revision: loaded.revision ?? "" } });
    }
    if (digest === this.#digest) {
      live.revise(loaded.revision);
      this.#follow(loaded);
      return this.#accepted(hash, { warnings });
    }
    try {
      await live.apply(loaded);
    } catch (thrown) {
      this.#follow(loaded);
      if (thrown instanceof ConfigError) return this.#refused(thrown.errors, warnings);
      throw thrown;
    }
    this.#digest = digest;
    this.#follow(loaded);
    this.#keep(loaded);
    const needsRestart = live.needsRestart(config);
    const { revision } = this.#inUse;
    const generation = this.#generation;
    const changes = await knownChanges(loaded.changes, platform.log);
    platform.log.info(
      {
        generation,
        hash,
        revision,
        needs_restart: needsRestart,
        ...(changes && { changes: changes.counts }),
      },
      "configuration applied",
    );
    return this.#accepted(hash, { changed: true, warnings, needsRestart, ...(changes && { changes }) });
  }

  /** The address is the one that was bound at start: a changed `server.host` waits for a restart. */
  #publicDemo(config: ResolvedConfig): readonly Diagnostic[] {
    const { host } = this.#options.live.config.server;
    if (isLoopback(host) || demoIn(config) === undefined) return [];
    return [demoDiagnostic(this.#options.request().path, host)];
  }

  #accepted(hash: string, about: Partial<ReloadOutcome>): ReloadOutcome {
    this.#retry?.cancel();
    const wasRefused = !this.last.ok;
    this.#noteSuccess(hash);
    const outcome = this.#outcome({ ok: true, ...about });
    const needsRestart = outcome.changed ? outcome.needsRestart : this.findings.needsRestart;
    this.findings = { errors: [], warnings: outcome.warnings, needsRestart };
    if (wasRefused) {
      const generation = this.#generation;
      this.#options.platform.log.info(
        { generation, hash },
        `configuration valid again, generation ${generation}`,
      );
      this.#options.reported?.(outcome);
    }
    return outcome;
  }

  /**
   * A commit of what is in use changes no file, and a pull moves HEAD after the files: the revision is looked up again when
   * HEAD has become another one. With the reloads, so that none of them is under way.
   */
  #followHead(): void {
    const { request, platform } = this.#options;
    const stamp = headStamp(request().path);
    if (stamp === this.#headStamp) return;
    this.#headStamp = stamp;
    this.#running = this.#running
      .then(() => this.#reviseFrom(request()))
      .catch((thrown: unknown) => platform.log.error({ err: thrown }, WATCH_FAILED));
  }

  async #reviseFrom({ path, env }: LoadRequest): Promise<void> {
    if (!this.#isCurrent || this.#closed) return;
    const revision = await revisionOf(path, env);
    const { hash, revision: before } = this.#inUse;
    if (revision === before || this.#closed) return;
    const { live, platform } = this.#options;
    live.revise(revision);
    const at = Date.parse(this.last.at);
    platform.metrics.reloaded({ ok: true, at, hash, revision, generation: this.#generation });
    platform.log.info(
      { generation: this.#generation, hash, revision },
      "the configuration has another revision",
    );
  }

  #noteSuccess(hash: string): void {
    const { metrics, clock } = this.#options.platform;
    this.#failures = 0;
    this.#isCurrent = true;
    // Looked up once more by the first poll: HEAD may have moved since the load asked for it.
    this.#headStamp = undefined;
    this.last = { at: this.#now(), ok: true, errors: [] };
    const { revision } = this.#inUse;
    metrics.reloaded({ ok: true, at: clock.nowMs(), hash, revision, generation: this.#generation });
  }

  #refused(errors: readonly Diagnostic[], warnings: readonly Diagnostic[]): ReloadOutcome {
    const { metrics, clock, log } = this.#options.platform;
    const generation = this.#generation;
    if (this.#closed) return this.#outcome({ ok: false, errors, warnings });
    const shown = errors.map(
      ({ code, file, line, column, message }) => `${code} ${file}:${line}:${column} ${message}`,
    );
    const isKnown = !this.last.ok && this.last.errors.join("\n") === shown.join("\n");
    this.#isCurrent = false;
    this.last = { at: this.#now(), ok: false, errors: shown };
    this.findings = { ...this.findings, errors, warnings };
    metrics.reloaded({ ok: false, at: clock.nowMs(), hash: "", revision: "", generation });
    const outcome = this.#outcome({ ok: false, errors, warnings });
    const retry_in_ms = this.#retryLater(errors);
    if (isKnown) {
      log.warn({ generation, retry_in_ms }, `configuration still rejected, keeping generation ${generation}`);
      return outcome;
    }
    log.error(
      { generation, errors: shown, retry_in_ms },
      `configuration rejected, keeping generation ${generation}`,
    );
    this.#options.reported?.(outcome);
    return outcome;
  }

  /** Changes nothing, so it is not the latest reload either. */
  #conflict(conflict: ReloadConflict): ReloadOutcome {
    const { side, found } = conflict;
    if (side === "new") this.#isCurrent = false;
    this.#options.platform.log.warn(
      { side, ...found, generation: this.#generation },
      `reload refused: the ${side} configuration is not the one that was reviewed`,
    );
    return this.#outcome({ ok: false, conflict });
  }

  /** Returns the delay; undefined: what is wrong stays wrong until a file changes, and the watch sees that. */
  #retryLater(errors: readonly Diagnostic[]): number | undefined {
    if (!errors.some(({ code }) => RETRIED.has(code)) || this.#closed) return undefined;
    // Later the files may be others than those that were reviewed: the caller decides what to do.
    if (this.#reviewed !== undefined) return undefined;
    const delayMs = Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** Math.min(this.#failures++, 10));
    this.#retry = this.#options.platform.clock.after(delayMs, () => {
      this.reload().catch((thrown: unknown) =>
        this.#options.platform.log.error({ err: thrown }, WATCH_FAILED),
      );
    });
    return delayMs;
  }

  /** By the setting of the configuration in use: one that was rejected does not switch its own watch off. */
  #follow({ watch }: Loaded): void {
    if (this.#options.live.config.reload.watch) this.#watch?.follow(watch);
    else this.#watch?.pause();
  }

  #outcome(about: Pick<ReloadOutcome, "ok"> & Partial<ReloadOutcome>): ReloadOutcome {
    return {
      ...{ changed: false, generation: this.#generation, errors: [], warnings: [], needsRestart: [] },
      inUse: this.#inUse,
      ...about,
    };
  }

  get #inUse(): LoadedRef {
    const { hash = "", revision = "" } = this.#options.live.generation?.ref ?? {};
    return { hash, revision };
  }

  get #generation(): number {
    return this.#options.live.generation?.number ?? 0;
  }

  #now(): string {
    return new Date(this.#options.platform.clock.nowMs()).toISOString();
  }
}
