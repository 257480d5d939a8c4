/**
 * The gateway: holds the current generation, swaps it, and listens. Starting, reloading and stopping are all here;
 * what a call does is in the surfaces and the pipeline.
 */
import { compileConfig } from "../compile/compile.ts";
import { CompileError } from "../compile/context.ts";
import { InstancePool } from "../compile/instances.ts";
import type { Diagnostic } from "../config/diagnostic.ts";
import type { LoadRequest } from "../config/load.ts";
import type { ResolvedConfig } from "../config/model.ts";
import { type HttpServer, httpServer } from "../http/server.ts";
import { OpenCalls } from "../pipeline/open-calls.ts";
import type { MaybePromise } from "../plugin/index.ts";
import { andThen } from "../plugin/index.ts";
import type { StateStore } from "../state/store.ts";
import { adminPlane } from "../surfaces/admin.ts";
import type { SurfaceContext } from "../surfaces/arrival.ts";
import type { Readiness } from "../surfaces/health.ts";
import { dataPlane } from "../surfaces/routes.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import { generationsAlive, LiveGeneration } from "./generation.ts";
import { Leases } from "./leases.ts";
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

/** The configuration cannot be used; `errors` say why, with their places. */
export class ConfigError extends Error {
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];

  constructor(errors: readonly Diagnostic[], warnings: readonly Diagnostic[]) {
    super(`the configuration has ${errors.length === 1 ? "an error" : `${errors.length} errors`}`);
    this.errors = errors;
    this.warnings = warnings;
  }
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

/** Told once a model, where its settings are fitted: ten thousand endpoints may share one. */
const SETTING_REFUSED = "W0109";

/** Sections that are read once, at start (CONTRACT section 2). */
const FIXED = ["server", "admin", "state"] as const;

class RunningGateway implements Gateway, SurfaceContext {
  readonly rt: GatewayPlatform;
  readonly random: GatewayPlatform["random"];
  readonly open: OpenCalls;
  draining = false;
  config: ResolvedConfig;
  warnings: readonly Diagnostic[] = [];

  readonly #options: GatewayOptions;
  /** As started: later changes to the fixed sections wait for a restart. */
  readonly #started: ResolvedConfig;
  readonly #pool = new InstancePool();
  readonly #watch: ConfigWatch | undefined;
  readonly #loader: Loader;
  readonly #leases: Leases;
  readonly #servers: HttpServer[] = [];
  #upstream: Promise<UpstreamClient> | undefined;
  #current: LiveGeneration | undefined;
  #lastReload: Readiness["last_reload"] = { at: "", ok: true, errors: [] };
  #reloading: Promise<unknown> = Promise.resolve();
  #stopping: Promise<void> | undefined;

  constructor(options: GatewayOptions, platform: GatewayPlatform, config: ResolvedConfig) {
    this.#options = options;
    this.rt = platform;
    this.random = platform.random;
    this.config = config;
    this.#started = config;
    const { clock } = platform;
    this.#loader = new Loader(clock);
    // A call may be given up a tenth of its time late, and never more than a second.
    this.open = new OpenCalls(clock, Math.max(10, Math.min(1000, config.server.request_timeout_ms / 10)));
    this.#leases = new Leases(this.open, platform);
    if (options.watch !== false) {
      this.#watch = new ConfigWatch({ clock, changed: async () => void (await this.reload()) });
    }
    platform.metrics.gauge("sluice_open_calls", "Calls that have not ended", () => this.open.size);
    platform.metrics.gauge("sluice_generations", "Configurations in being", generationsAlive);
  }

  get store(): StateStore {
    return this.rt.store;
  }

  get openCalls(): number {
    return this.open.size;
  }

  acquire(): LiveGeneration {
    if (this.#current === undefined) throw new Error("no configuration is in use");
    return this.#current.acquire();
  }

  async begin(loaded: Loaded): Promise<void> {
    await this.#apply(loaded);
    this.#watch?.follow(loaded.watch);
  }

  async start(): Promise<{ url: string; adminUrl: string | undefined }> {
    const { server } = this.#started;
    const health = {
      readiness: () => this.#readiness(),
      uuid: () => this.random.uuid(),
    };
    const admin = adminPlane(health, {
      metrics: this.rt.metrics,
      tokens: () => this.config.control_plane.tokens,
      reload: () => this.reload(),
    });
    try {
      const url = await this.#listen(server.host, server.port, dataPlane(this, health));
      const adminUrl = this.#started.admin.enabled
        ? await this.#listen(this.#started.admin.host, this.#started.admin.port, admin)
        : undefined;
      this.rt.log.info({ url, admin_url: adminUrl, generation: this.#current?.number }, "listening");
      return { url, adminUrl };
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** One at a time, in the order asked for. */
  reload(): Promise<ReloadOutcome> {
    const next = this.#reloading.then(() => this.#reload());
    this.#reloading = next.catch(() => undefined);
    return next;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #listen(
    host: string,
    port: number,
    handle: Parameters<typeof httpServer>[0]["handle"],
  ): Promise<string> {
    const server = httpServer({ host, port, handle });
    const bound = await server.listen();
    this.#servers.push(server);
    return `http://${host.includes(":") ? `[${host}]` : host}:${bound}`;
  }

  async #reload(): Promise<ReloadOutcome> {
    const generation = this.#current?.number ?? 0;
    if (this.#stopping !== undefined) {
      return { ok: false, changed: false, generation, errors: [], warnings: [], needsRestart: [] };
    }
    let loaded: Loaded;
    try {
      loaded = await this.#loader.load(requestOf(this.#options));
    } catch (thrown) {
      this.rt.log.error({ err: thrown }, "the configuration could not be loaded");
      return this.#refused([loadDiagnostic(this.#options.configPath)], []);
    }
    this.#watch?.follow(loaded.watch);
    if (loaded.config === undefined || loaded.errors.length > 0)
      return this.#refused(loaded.errors, loaded.warnings);
    if (loaded.hash === this.#current?.config.hash) {
      this.#lastReload = { at: this.#now(), ok: true, errors: [] };
      this.rt.metrics.reloaded({ ok: true, at: this.rt.clock.nowMs(), hash: loaded.hash, generation });
      return {
        ok: true,
        changed: false,
        generation,
        errors: [],
        warnings: loaded.warnings,
        needsRestart: [],
      };
    }
    const next = loaded.config;
    const needsRestart = FIXED.filter(
      (key) => JSON.stringify(next[key]) !== JSON.stringify(this.#started[key]),
    );
    try {
      await this.#apply(loaded);
    } catch (thrown) {
      if (thrown instanceof ConfigError) return this.#refused(thrown.errors, loaded.warnings);
      throw thrown;
    }
    const number = this.#current?.number ?? 0;
    this.rt.log.info(
      { generation: number, hash: loaded.hash, needs_restart: needsRestart },
      "configuration applied",
    );
    return {
      ok: true,
      changed: true,
      generation: number,
      errors: [],
      warnings: loaded.warnings,
      needsRestart,
    };
  }

  #refused(errors: readonly Diagnostic[], warnings: readonly Diagnostic[]): ReloadOutcome {
    const generation = this.#current?.number ?? 0;
    const shown = errors.map(
      ({ code, file, line, column, message }) => `${code} ${file}:${line}:${column} ${message}`,
    );
    this.#lastReload = { at: this.#now(), ok: false, errors: shown };
    this.rt.metrics.reloaded({ ok: false, at: this.rt.clock.nowMs(), hash: "", generation });
    this.rt.log.error({ generation, errors: shown }, "configuration refused; the last good one goes on");
    return { ok: false, changed: false, generation, errors, warnings, needsRestart: [] };
  }

  /** Compiles and swaps: one assignment, all or nothing. Throws ConfigError when a plugin refuses. */
  async #apply({ config, hash, registry, warnings }: Loaded): Promise<void> {
    if (config === undefined) throw new ConfigError([], warnings);
    // What needs a restart keeps its value, so that one generation never runs on halves of two.
    const usable = {
      ...config,
      server: this.#started.server,
      admin: this.#started.admin,
      state: this.#started.state,
    };
    const compiled = await compileConfig({
      config: usable,
      hash,
      registry,
      platform: this.rt,
      pool: this.#pool,
      upstream: () => this.#upstreamClient(),
    }).catch((thrown: unknown) => {
      throw thrown instanceof CompileError ? new ConfigError([setupDiagnostic(thrown)], warnings) : thrown;
    });
    const previous = this.#current;
    const number = (previous?.number ?? 0) + 1;
    this.#current = new LiveGeneration(number, compiled, (error) => {
      this.rt.log.error({ generation: number, err: error }, "a plugin failed to close");
    });
    this.config = usable;
    this.warnings = warnings;
    this.rt.log.setLevel(config.log.level);
    this.rt.http.allow(config.network.allow);
    previous?.retire();
    this.#lastReload = { at: this.#now(), ok: true, errors: [] };
    this.rt.metrics.reloaded({ ok: true, at: this.rt.clock.nowMs(), hash, generation: number });
    for (const { code, file, line, column, message } of warnings) {
      if (code === SETTING_REFUSED) continue;
      this.rt.log.warn({ code, at: `${file}:${line}:${column}` }, message);
    }
  }

  #upstreamClient(): Promise<UpstreamClient> {
    this.#upstream ??= import("../upstream/client.ts").then(({ createUpstreamClient }) =>
      createUpstreamClient({ clock: this.rt.clock }),
    );
    return this.#upstream;
  }

  #readiness(): MaybePromise<Readiness> {
    return andThen(this.rt.store.health(), ({ ok, detail }) => ({
      ready: this.#current !== undefined && ok && !this.draining,
      generation: this.#current?.number ?? 0,
      config_hash: this.#current?.config.hash ?? "",
      last_reload: this.#lastReload,
      store: { driver: this.rt.store.driver, ok, detail },
    }));
  }

  #now(): string {
    return new Date(this.rt.clock.nowMs()).toISOString();
  }

  async #stop(): Promise<void> {
    this.draining = true;
    this.#watch?.close();
    await this.#reloading;
    this.#loader.close();
    const drained = Promise.all(this.#servers.map((server) => server.drain()));
    const deadline = this.rt.clock.after(this.#started.server.drain_timeout_ms, () => {
      this.open.giveUpAll();
      for (const server of this.#servers) server.destroy();
    });
    await drained;
    deadline.cancel();
    this.#leases.close();
    this.#current?.retire();
    await this.#upstream?.then((client) => client.close());
    this.rt.http.close();
    await this.rt.store.close();
    this.rt.metrics.close();
    this.rt.log.flush();
  }
}

/** Loading itself failed (its thread died, or it took too long): nothing of the configuration is to blame. */
function loadDiagnostic(file: string): Diagnostic {
  const message = "the configuration could not be loaded; the log says why";
  return { code: "E0901", severity: "error", message, file, line: 1, column: 1, path: "" };
}

/** A plugin's setup failed at load: the same shape as every other fault of a configuration. */
function setupDiagnostic({ at, message }: CompileError): Diagnostic {
  return {
    code: "E0900",
    severity: "error",
    message: `the plugin could not be set up: ${message}`,
    file: at.file,
    line: at.line,
    column: at.column,
    path: "",
  };
}
