/**
 * The gateway: holds the current generation, swaps it, and listens. Starting, reloading and stopping are all here;
 * what a call does is in the surfaces and the pipeline.
 */
import { VERSION } from "../base/version.ts";
import type { Diagnostic } from "../config/diagnostic.ts";
import type { LoadRequest } from "../config/load.ts";
import type { ResolvedConfig } from "../config/model.ts";
import { overrideEdits } from "../config/override-edits.ts";
import { withoutSecrets } from "../config/without-secrets.ts";
import { type HttpServer, httpServer, type RequestHandler } from "../http/server.ts";
import { OpenCalls } from "../pipeline/open-calls.ts";
import type { MaybePromise, StateStore } from "../plugin/index.ts";
import { andThen } from "../plugin/index.ts";
import { adminPlane } from "../surfaces/admin.ts";
import type { SurfaceContext } from "../surfaces/arrival.ts";
import { controlPlane } from "../surfaces/control.ts";
import type { Readiness } from "../surfaces/health.ts";
import { dataPlane } from "../surfaces/routes.ts";
import { ConfigError, loadDiagnostic } from "./config-error.ts";
import { generationsAlive, type LiveGeneration } from "./generation.ts";
import { Leases } from "./leases.ts";
import { LiveConfig } from "./live-config.ts";
import { type Loaded, load } from "./load.ts";
import { Loader } from "./loader.ts";
import { createPlatform, type GatewayPlatform, type PlatformOptions } from "./platform.ts";
import { ConfigWatch } from "./watch.ts";

export interface GatewayOptions extends PlatformOptions {
  /** File or directory. */
  readonly configPath: string;
  readonly overlays?: readonly string[];
  /** Where `${env:…}` looks. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Reload when a file of the configuration changes. Default true. */
  readonly watch?: boolean;
}

export interface ReloadOutcome {
  readonly ok: boolean;
  /** False also when nothing had changed. */
  readonly changed: boolean;
  readonly generation: number;
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** Sections that changed and need a restart: `server`, `admin`, `state`. */
  readonly needsRestart: readonly string[];
}

export interface Gateway {
  /** Listens. Rejects when an address cannot be bound. */
  start(): Promise<{ readonly url: string; readonly adminUrl: string | undefined }>;
  /** Loads the configuration again; a faulty one changes nothing. Calls wait for their turn. */
  reload(): Promise<ReloadOutcome>;
  /** Takes no new call, finishes open ones within `drain_timeout_ms`, then closes everything. Idempotent. */
  stop(): Promise<void>;
  readonly store: StateStore;
  readonly config: ResolvedConfig;
  readonly warnings: readonly Diagnostic[];
  /** Calls that have not ended. */
  readonly openCalls: number;
}

export { ConfigError } from "./config-error.ts";

/** Loads and compiles; nothing listens yet. Rejects with ConfigError. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const loaded = await load(requestOf(options));
  if (loaded.config === undefined || loaded.errors.length > 0) {
    throw new ConfigError(loaded.errors, loaded.warnings);
  }
  const platform = await createPlatform(loaded.config, loaded.registry, options);
  const gateway = new RunningGateway(options, platform, loaded.config);
  try {
    await gateway.begin(loaded);
  } catch (error) {
    await gateway.stop();
    throw error;
  }
  return gateway;
}

function requestOf(options: GatewayOptions): LoadRequest {
  return {
    path: options.configPath,
    overlays: options.overlays ?? [],
    env: { ...(options.env ?? process.env) },
    secrets: "resolve",
    strict: false,
  };
}

class RunningGateway implements Gateway, SurfaceContext {
  readonly rt: GatewayPlatform;
  readonly random: GatewayPlatform["random"];
  readonly open: OpenCalls;
  readonly control: RequestHandler;
  draining = false;

  readonly #options: GatewayOptions;
  readonly #started: ResolvedConfig;
  readonly #live: LiveConfig;
  readonly #watch: ConfigWatch | undefined;
  readonly #unwatchOverrides: () => void;
  readonly #loader: Loader;
  readonly #leases: Leases;
  readonly #servers: HttpServer[] = [];
  #lastReload: Readiness["last_reload"] = { at: "", ok: true, errors: [] };
  #changing: Promise<unknown> = Promise.resolve();
  #stopping: Promise<void> | undefined;

  constructor(options: GatewayOptions, platform: GatewayPlatform, config: ResolvedConfig) {
    this.#options = options;
    this.rt = platform;
    this.random = platform.random;
    this.#started = config;
    this.#live = new LiveConfig(platform, config);
    const { clock } = platform;
    this.#loader = new Loader(clock);
    // A call may be given up a tenth of its time late, and never more than a second.
    this.open = new OpenCalls(clock, Math.max(10, Math.min(1000, config.server.request_timeout_ms / 10)));
    this.#leases = new Leases(this.open, platform);
    if (options.watch !== false) {
      this.#watch = new ConfigWatch({ clock, changed: async () => void (await this.reload()) });
    }
    this.#unwatchOverrides = platform.store.overrides.watch(() => {
      this.#applyOverrides().catch((thrown: unknown) => {
        platform.log.error({ err: thrown }, "overrides could not be applied");
      });
    });
    this.control = this.#controlPlane();
    platform.metrics.gauge("sluice_open_calls", "Calls that have not ended", () => this.open.size);
    platform.metrics.gauge("sluice_generations", "Configurations in being", generationsAlive);
  }

  get store(): StateStore {
    return this.rt.store;
  }

  get config(): ResolvedConfig {
    return this.#live.config;
  }

  get warnings(): readonly Diagnostic[] {
    return this.#live.warnings;
  }

  get openCalls(): number {
    return this.open.size;
  }

  acquire(): LiveGeneration {
    if (this.#live.generation === undefined) throw new Error("no configuration is in use");
    return this.#live.generation.acquire();
  }

  async begin(loaded: Loaded): Promise<void> {
    await this.#inTurn(() => this.#apply(loaded));
    this.#watch?.follow(loaded.watch);
  }

  async start(): Promise<{ url: string; adminUrl: string | undefined }> {
    const { server, admin } = this.#started;
    const health = {
      readiness: () => this.#readiness(),
      uuid: () => this.random.uuid(),
    };
    try {
      const url = await this.#listen(server.host, server.port, dataPlane(this, health));
      const adminUrl = admin.enabled
        ? await this.#listen(admin.host, admin.port, this.#adminPlane(health))
        : undefined;
      this.rt.log.info({ url, admin_url: adminUrl, generation: this.#number }, "listening");
      return { url, adminUrl };
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  reload(): Promise<ReloadOutcome> {
    return this.#inTurn(() => this.#reload());
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  get #number(): number {
    return this.#live.generation?.number ?? 0;
  }

  /** What changes the current generation is done one after the other, in the order asked for. */
  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const next = this.#changing.then(run);
    this.#changing = next.catch(() => undefined);
    return next;
  }

  #applyOverrides(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#stopping === undefined) await this.#live.applyOverrides();
    });
  }

  #adminPlane(health: Parameters<typeof adminPlane>[0]): RequestHandler {
    const { clock, events, metrics, store } = this.rt;
    return adminPlane(health, {
      metrics,
      tokens: () => this.config.control_plane.tokens,
      reload: () => this.reload(),
      records: {
        clock,
        trail: events.trail,
        audit: store.audit,
        deliveries: events.deliveries,
        clientAddress: (req) => this.#live.generation?.clientAddress(req) ?? "",
      },
    });
  }

  #controlPlane(): RequestHandler {
    const { clock, log, store, events } = this.rt;
    const { trail: audit, deliveries, webhooks } = events;
    return controlPlane(
      {
        ...{ clock, log, version: VERSION, store, edits: overrideEdits, audit, deliveries, webhooks },
        config: () => this.#live.config,
        git: () => this.#live.git,
        shownConfig: () => withoutSecrets(this.#live.git),
        applyOverrides: () => this.#applyOverrides(),
        reload: () => this.reload(),
      },
      {
        host: this.#started.server.host,
        uuid: () => this.random.uuid(),
        clientAddress: (req) => this.#live.generation?.clientAddress(req) ?? "",
        isDraining: () => this.draining,
      },
    );
  }

  async #listen(host: string, port: number, handle: RequestHandler): Promise<string> {
    const server = httpServer({ host, port, handle });
    const bound = await server.listen();
    this.#servers.push(server);
    return `http://${host.includes(":") ? `[${host}]` : host}:${bound}`;
  }

  async #reload(): Promise<ReloadOutcome> {
    if (this.#stopping !== undefined) return this.#outcome({ ok: false });
    let loaded: Loaded;
    try {
      loaded = await this.#loader.load(requestOf(this.#options));
    } catch (thrown) {
      this.rt.log.error({ err: thrown }, "the configuration could not be loaded");
      return this.#refused([loadDiagnostic(this.#options.configPath)], []);
    }
    this.#watch?.follow(loaded.watch);
    const { config, hash, errors, warnings } = loaded;
    if (config === undefined || errors.length > 0) return this.#refused(errors, warnings);
    if (hash === this.#live.generation?.config.hash) {
      this.#noteReload(hash);
      return this.#outcome({ ok: true, warnings });
    }
    try {
      await this.#apply(loaded);
    } catch (thrown) {
      if (thrown instanceof ConfigError) return this.#refused(thrown.errors, warnings);
      throw thrown;
    }
    const needsRestart = this.#live.needsRestart(config);
    this.rt.log.info(
      { generation: this.#number, hash, needs_restart: needsRestart },
      "configuration applied",
    );
    return this.#outcome({ ok: true, changed: true, warnings, needsRestart });
  }

  async #apply(loaded: Loaded): Promise<void> {
    await this.#live.apply(loaded);
    this.#noteReload(loaded.hash);
  }

  #noteReload(hash: string): void {
    this.#lastReload = { at: this.#now(), ok: true, errors: [] };
    this.rt.metrics.reloaded({ ok: true, at: this.rt.clock.nowMs(), hash, generation: this.#number });
  }

  #refused(errors: readonly Diagnostic[], warnings: readonly Diagnostic[]): ReloadOutcome {
    const generation = this.#number;
    const shown = errors.map(
      ({ code, file, line, column, message }) => `${code} ${file}:${line}:${column} ${message}`,
    );
    this.#lastReload = { at: this.#now(), ok: false, errors: shown };
    this.rt.metrics.reloaded({ ok: false, at: this.rt.clock.nowMs(), hash: "", generation });
    this.rt.log.error({ generation, errors: shown }, "configuration refused; the last good one goes on");
    return this.#outcome({ ok: false, errors, warnings });
  }

  #outcome(about: Pick<ReloadOutcome, "ok"> & Partial<ReloadOutcome>): ReloadOutcome {
    return {
      ...{ changed: false, generation: this.#number, errors: [], warnings: [], needsRestart: [] },
      ...about,
    };
  }

  #readiness(): MaybePromise<Readiness> {
    const { generation } = this.#live;
    return andThen(this.rt.store.health(), ({ ok, detail }) => ({
      ready: generation !== undefined && ok && !this.draining,
      generation: this.#number,
      config_hash: generation?.config.hash ?? "",
      last_reload: this.#lastReload,
      store: { driver: this.rt.store.driver, ok, detail },
    }));
  }

  #now(): string {
    return new Date(this.rt.clock.nowMs()).toISOString();
  }

  async #stop(): Promise<void> {
    const { clock, events, traces, http, store, metrics, log } = this.rt;
    this.draining = true;
    this.#watch?.close();
    this.#unwatchOverrides();
    await this.#changing;
    this.#loader.close();
    const { drain_timeout_ms: timeoutMs } = this.#started.server;
    const lastMs = clock.monotonicMs() + timeoutMs;
    const drained = Promise.all(this.#servers.map((server) => server.drain()));
    const deadline = clock.after(timeoutMs, () => {
      this.open.giveUpAll();
      for (const server of this.#servers) server.destroy();
    });
    await drained;
    deadline.cancel();
    this.#leases.close();
    await this.#live.close();
    await Promise.all([events, traces].map((each) => each.close(lastMs - clock.monotonicMs())));
    http.close();
    await store.close();
    metrics.close();
    log.flush();
  }
}
