/**
 * The gateway: holds the current generation, swaps it, and listens. Starting, reloading and stopping are all here;
 * what a call does is in the surfaces and the pipeline.
 */
import { VERSION } from "../base/version.ts";
import type { LoadRequest } from "../config/load.ts";
import type { ResolvedConfig } from "../config/model.ts";
import { overrideEdits } from "../config/override-edits.ts";
import { withoutSecrets } from "../config/read/without-secrets.ts";
import type { Diagnostic } from "../config/report/diagnostic.ts";
import { addressSet } from "../http/client-address.ts";
import { type GuardedHandler, guardHandler } from "../http/handler-guard.ts";
import { type HttpServer, httpServer, type RequestHandler } from "../http/server.ts";
import { OpenCalls } from "../pipeline/open-calls.ts";
import type { MetricFamily } from "../plugin/host.ts";
import type { MaybePromise, StateStore } from "../plugin/index.ts";
import { andThen, isPromise } from "../plugin/index.ts";
import type { StoreHealth } from "../plugin/store.ts";
import { adminPlane } from "../surfaces/admin/admin.ts";
import { AuthFailures } from "../surfaces/auth-failures.ts";
import { controlPlane } from "../surfaces/control/control.ts";
import { publicPlane } from "../surfaces/public-plane.ts";
import type { SurfaceGateway } from "../surfaces/request-context.ts";
import type { Readiness } from "../surfaces/shared-routes.ts";
import { Traffic } from "../telemetry/traffic.ts";
import { adminContext } from "./admin.ts";
import { ConfigError } from "./config-error.ts";
import { drain } from "./drain.ts";
import { loadFirst } from "./first-load.ts";
import { generationsAlive, type LiveGeneration } from "./generation.ts";
import { lastValid } from "./last-valid.ts";
import { Leases } from "./leases.ts";
import { LiveConfig } from "./live-config.ts";
import type { Loaded } from "./load.ts";
import { OverloadMonitor } from "./overload.ts";
import { createPlatform, type GatewayPlatform, type PlatformOptions } from "./platform.ts";
import type { ReloadOutcome } from "./reload-outcome.ts";
import { type Rejected, Reloader } from "./reloader.ts";

export interface GatewayOptions extends PlatformOptions {
  /** File or directory. */
  readonly configPath: string;
  readonly overlays?: readonly string[];
  /** What the configuration's files must stay inside. Default: the folder of `configPath`. */
  readonly root?: string | undefined;
  /** Where `${env:…}` looks. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * "last-valid": each valid configuration is kept in its `state.directory`, and a start with an invalid one serves what
   * was kept last. Default: an invalid configuration is not started.
   */
  readonly fallback?: "last-valid" | undefined;
  /** False: no file is watched, regardless of `reload.watch`. */
  readonly watch?: boolean;
  /** Receives reloads that an operator should see: a rejected one, and the first valid one after it. */
  readonly reloadReported?: (outcome: ReloadOutcome) => void;
}

export interface Gateway {
  /** Listens. Rejects when an address cannot be bound. */
  start(): Promise<{ readonly url: string; readonly adminUrl: string | undefined }>;
  /** Loads the configuration again; an invalid one is rejected. Reloads are sequential. */
  reload(): Promise<ReloadOutcome>;
  /** Takes no new call, finishes open ones within `drain_timeout_ms`, then closes everything. Idempotent. */
  stop(): Promise<void>;
  /**
   * For an error that no guard has caught, as the process's last resort: logs it, reports not ready, drains and closes
   * as `stop` does. The process should exit when it resolves, since the state after the error is unknown.
   */
  crash(thrown: unknown, origin: string): Promise<void>;
  readonly store: StateStore;
  readonly config: ResolvedConfig;
  readonly warnings: readonly Diagnostic[];
  /** Calls that have not ended. */
  readonly openCalls: number;
}

export { ConfigError } from "./config-error.ts";
export type { ReloadOutcome } from "./reload-outcome.ts";

/** Loads and compiles; nothing listens yet. Rejects with ConfigError. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const asked = await loadFirst(requestOf(options));
  const fallback = asked.config === undefined ? await lastValidOf(asked, options) : undefined;
  const loaded = fallback?.loaded ?? asked;
  if (loaded.config === undefined) throw new ConfigError(asked.errors, asked.warnings);
  const platform = await createPlatform(loaded.config, loaded.registry, options);
  const gateway = new RunningGateway(options, platform, loaded.config);
  try {
    await gateway.begin(loaded, fallback && { asked, savedAt: fallback.savedAt });
  } catch (error) {
    await gateway.stop();
    throw error;
  }
  return gateway;
}

/** With `fallback`: what was kept of the last valid configuration, if it still loads. */
async function lastValidOf(
  asked: Loaded,
  options: GatewayOptions,
): Promise<{ readonly loaded: Loaded; readonly savedAt: string } | undefined> {
  if (options.fallback !== "last-valid") return undefined;
  const directory = asked.stateDirectory ?? DEFAULT_STATE_DIRECTORY;
  const kept = await lastValid(directory, requestOf(options));
  if (kept === undefined) return undefined;
  const loaded = await loadFirst(kept.request);
  return loaded.config === undefined ? undefined : { loaded, savedAt: kept.savedAt };
}

/** Where a configuration that is not even YAML would have its state. */
const DEFAULT_STATE_DIRECTORY = ".sluice";

function requestOf(options: GatewayOptions): LoadRequest {
  return {
    path: options.configPath,
    root: options.root,
    overlays: options.overlays ?? [],
    env: { ...(options.env ?? process.env) },
    secrets: "resolve",
    shows: true,
    strict: false,
  };
}

class RunningGateway implements Gateway, SurfaceGateway {
  readonly rt: GatewayPlatform;
  readonly random: GatewayPlatform["random"];
  readonly open: OpenCalls;
  readonly authFailures: AuthFailures;
  readonly #control: RequestHandler;
  draining = false;
  /** Set when the gateway is about to drain, before calls are refused. */
  leaving = false;

  readonly #started: ResolvedConfig;
  readonly #live: LiveConfig;
  readonly #reloader: Reloader;
  readonly #unwatchOverrides: () => void;
  readonly #leases: Leases;
  readonly #servers: HttpServer[] = [];
  readonly overload: OverloadMonitor;
  readonly #closedConnections: MetricFamily;
  /** undefined: without an admin listener nobody looks at it. */
  #traffic: Traffic | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: GatewayOptions, platform: GatewayPlatform, config: ResolvedConfig) {
    this.rt = platform;
    this.random = platform.random;
    this.#started = config;
    this.#live = new LiveConfig(platform, config);
    const { clock } = platform;
    this.#reloader = new Reloader({
      platform,
      live: this.#live,
      request: () => requestOf(options),
      watch: options.watch !== false,
      keepsLastValid: options.fallback === "last-valid",
      reported: options.reloadReported,
    });
    // A call may be cancelled a tenth of its timeout late, and never more than a second.
    this.open = new OpenCalls(clock, Math.max(10, Math.min(1000, config.server.request_timeout_ms / 10)));
    this.overload = new OverloadMonitor({
      ...{ clock, log: platform.log },
      isBusy: () => this.open.size > 0,
      sampled: (isLast) => this.#traffic?.sample(isLast),
    });
    platform.metrics.gauge(
      "sluice_overloaded",
      "1 while new calls are shed for heap use or event-loop delay",
      () => (this.overload.shedding ? 1 : 0),
    );
    this.#leases = new Leases(this.open, platform);
    this.#unwatchOverrides = platform.store.overrides.watch(() => {
      this.#live.applyOverrides().catch((thrown: unknown) => {
        platform.log.error({ err: thrown }, "overrides could not be applied");
      });
    });
    this.authFailures = new AuthFailures({
      ...{ clock, log: platform.log, metrics: platform.metrics },
      trail: platform.events.trail,
    });
    this.#control = this.#controlPlane();
    platform.metrics.gauge("sluice_open_calls", "Calls that have not ended", () => this.open.size);
    platform.metrics.gauge(
      "sluice_generations",
      "Configuration generations held in memory",
      generationsAlive,
    );
    this.#closedConnections = platform.metrics.counter(
      "sluice_connections_closed_total",
      "Client connections closed for a limit: address_limit, slow_head, slow_body, slow_reader",
      ["reason"],
    );
  }

  /** On the data plane; follows the configuration in use. */
  get control(): RequestHandler | undefined {
    return this.config.control_plane.listener === "public" ? this.#control : undefined;
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

  begin(loaded: Loaded, rejected?: Rejected): Promise<void> {
    return this.#reloader.begin(loaded, rejected);
  }

  async start(): Promise<{ url: string; adminUrl: string | undefined }> {
    const { server, admin } = this.#started;
    const health = {
      readiness: () => this.#readiness(),
      uuid: () => this.random.uuid(),
    };
    // Nothing waits for it: hours of before are added to those that are being counted.
    void this.rt.hours?.begin();
    try {
      const url = await this.#listen(server.host, server.port, publicPlane(this, health));
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
    return this.#reloader.reload();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop(false);
    return this.#stopping;
  }

  crash(thrown: unknown, origin: string): Promise<void> {
    this.rt.log.error({ origin, err: thrown }, "uncaught error: the gateway drains, then exits with code 1");
    this.rt.log.flush();
    this.#stopping ??= this.#stop(true);
    return this.#stopping;
  }

  get #number(): number {
    return this.#live.generation?.number ?? 0;
  }

  #adminPlane(health: Parameters<typeof adminPlane>[0]): GuardedHandler {
    const { rt: platform, open, overload, authFailures: failures } = this;
    this.#traffic = new Traffic(platform);
    const context = adminContext({
      ...{ platform, started: this.#started, live: this.#live, reloader: this.#reloader },
      ...{ traffic: this.#traffic, open, overload, failures },
      control: () => (this.config.control_plane.listener === "admin" ? this.#control : undefined),
      readiness: () => this.#readiness(),
      isDraining: () => this.draining,
    });
    return adminPlane(health, context);
  }

  #controlPlane(): RequestHandler {
    const { clock, log, store, events, buffered } = this.rt;
    const { trail: audit, deliveries, webhooks } = events;
    return controlPlane(
      {
        ...{
          clock,
          log,
          version: VERSION,
          store,
          buffered,
          edits: overrideEdits,
          audit,
          deliveries,
          webhooks,
        },
        config: () => this.#live.config,
        git: () => this.#live.git,
        shownConfig: () => withoutSecrets(this.#live.git),
        applyOverrides: () => this.#live.applyOverrides(),
        reload: () => this.reload(),
      },
      {
        host: () => (this.control === undefined ? this.#started.admin : this.#started.server).host,
        failures: this.authFailures,
        uuid: () => this.random.uuid(),
        clientAddress: (req) => this.#live.generation?.clientAddress(req) ?? "",
        isDraining: () => this.draining,
      },
    );
  }

  async #listen(host: string, port: number, handle: GuardedHandler): Promise<string> {
    const { max_connections_per_address: perAddressMax, trusted_proxies } = this.#started.server;
    const server = httpServer({
      ...{ host, port, handle: guardHandler(handle, this.rt.log), perAddressMax, clock: this.rt.clock },
      isExempt: addressSet(trusted_proxies),
      closed: (reason) => this.#closedConnections.series(reason)(1),
    });
    const bound = await server.listen();
    this.#servers.push(server);
    return `http://${host.includes(":") ? `[${host}]` : host}:${bound}`;
  }

  /** A store that fails here is not healthy. */
  #storeHealth(): MaybePromise<StoreHealth> {
    const failed = (thrown: unknown): StoreHealth => {
      this.rt.log.error({ err: thrown }, "the state store could not say how it is");
      return { ok: false, detail: "the store's health check failed" };
    };
    try {
      const health = this.rt.store.health();
      return isPromise(health) ? health.catch(failed) : health;
    } catch (thrown) {
      return failed(thrown);
    }
  }

  #readiness(): MaybePromise<Readiness> {
    const { generation } = this.#live;
    return andThen(this.#storeHealth(), ({ ok, serving = ok, detail }) => ({
      ready: generation !== undefined && serving && !this.leaving,
      generation: this.#number,
      config_hash: generation?.config.hash ?? "",
      revision: generation?.ref.revision ?? "",
      last_reload: this.#reloader.last,
      store: { driver: this.rt.store.driver, ok, detail },
    }));
  }

  /** Nothing here may throw or wait for good: what is not reached is not flushed. */
  async #stop(crashed: boolean): Promise<void> {
    const { clock, events, traces, http, store, metrics, log } = this.rt;
    this.leaving = true;
    const { drain_timeout_ms: timeoutMs, lame_duck_ms: lameDuckMs } = this.#started.server;
    if (!crashed && lameDuckMs > 0 && this.#servers.length > 0) await this.#lameDuck(lameDuckMs);
    this.draining = true;
    this.#reloader.close();
    this.#unwatchOverrides();
    log.info({ open_calls: this.open.size, drain_timeout_ms: timeoutMs }, "draining");
    const lastMs = clock.monotonicMs() + timeoutMs;
    const { open } = this;
    await drain({ clock, open, servers: this.#servers, timeoutMs, isListening: crashed });
    const closed = async (part: string, close: () => unknown): Promise<void> => {
      try {
        await close();
      } catch (thrown) {
        log.error({ part, err: thrown }, "a part of the gateway could not be closed; the others are");
      }
    };
    await closed("overload", () => this.overload.close());
    await closed("traffic", () => this.#traffic?.close());
    await closed("leases", () => this.#leases.close());
    await closed("configuration", () => this.#live.close());
    const leftMs = lastMs - clock.monotonicMs();
    await Promise.all([
      closed("events", () => events.close(leftMs)),
      closed("traces", () => traces.close(leftMs)),
    ]);
    await closed("history", () => this.rt.hours?.close());
    await closed("http", () => http.close());
    await closed("store", () => store.close());
    await closed("metrics", () => metrics.close());
    log.info({}, "stopped");
    log.flush();
  }

  /** `/readyz` is 503 already; calls are admitted as long as load balancers have not noticed. */
  #lameDuck(ms: number): Promise<void> {
    this.rt.log.info({ lame_duck_ms: ms }, "not ready any more; calls are still admitted");
    return new Promise((resolve) => {
      this.rt.clock.after(ms, resolve);
    });
  }
}
