/**
 * The offline gateway: runs calls of a configuration without network, without state on disk and without secret values.
 * The configuration is compiled once, as for serving, and requests go through the real surfaces; only what lies below the
 * wire formats is scripted. `sluice test`, `sluice explain` and previews are built on it.
 *
 *     const offline = await openOffline(loaded);      // of `load`; secrets may be skipped
 *     const run = await offline.case({ startMs, given: { spent: [{ subject, nanoUsd }] } });
 *     const request = chatRequest(project, "summarise", { message: "hi" }, offline.token(project, "1"));
 *     const result = await run.call(request, { script: [{ status: 503 }, { reply: "ok" }] });
 *     // result.status, .answer, .error, .refusedAt, .sent, .attempts, .guardrails, .costNanoUsd, .audit, .trace
 *     run.advance(61_000);
 *     for (const { id } of offline.protections) {     // mutation: one endpoint is compiled again, without it
 *       const mutated = await offline.case({ without: id });
 *     }
 *     await offline.close();
 *
 * One case runs at a time: opening a case ends the one before. Every case begins with an empty memory store, closed
 * circuits, the same random numbers and a clock of its own, which moves by `advance` and by scripted timeouts alone. The
 * network is closed for everything else: what asks for it is told so and listed in `OfflineResult.closed`. Upstreams of
 * proxy endpoints are scripted; their OAuth connections hand out a token of no value.
 */
import { auditBlocks, createAuditTrail } from "../audit/audit.ts";
import { ByteBudget } from "../base/byte-budget.ts";
import { virtualClock } from "../base/virtual-clock.ts";
import { type CompileInput, compileConfig } from "../compile/compile.ts";
import { CompileError } from "../compile/context.ts";
import type { CompiledConfig } from "../compile/model.ts";
import type { ResolvedConfig } from "../config/model.ts";
import { ConfigError, setupDiagnostic } from "../gateway/config-error.ts";
import type { Platform } from "../plugins-host/host.ts";
import { InstancePool } from "../plugins-host/instances.ts";
import type { Registry } from "../plugins-host/registry.ts";
import { memoryStore } from "../state/memory/memory.ts";
import { OfflineCase } from "./case.ts";
import { closedOutbound } from "./closed-outbound.ts";
import type { Given } from "./given.ts";
import { CasePlatform, type CaseResources } from "./platform.ts";
import { type PlaceOf, type Protection, protectionsOf } from "./protections.ts";
import { setUpPerCase } from "./stages.ts";
import { CaseSurface } from "./surface.ts";
import { RunTokens } from "./tokens.ts";
import { withoutOne } from "./variants.ts";

export { chatRequest, completionRequest, proxyRequest, toolRequest } from "./requests.ts";

/** A loaded configuration; `load` of gateway/load.ts gives one. */
export interface OfflineSource {
  readonly config: ResolvedConfig;
  readonly registry: Registry;
  readonly hash: string;
  /** Places of single keys; default: protections are shown at the line of their endpoint. */
  readonly placeOf?: PlaceOf;
}

export interface CaseOptions {
  /** Unix milliseconds at which the case begins. Default: noon UTC of 15 May 2026. */
  readonly startMs?: number;
  readonly given?: Given;
  /** A protection that the configuration does without: its `id`. */
  readonly without?: string;
  /** Keep the texts that guardrails judged in the trace. Default: their spans only. */
  readonly keepsTexts?: boolean;
}

export interface OfflineGateway {
  readonly config: ResolvedConfig;
  /** In the order of the configuration. */
  readonly protections: readonly Protection[];
  /** Begins a case, and ends the one before. */
  case(options?: CaseOptions): Promise<OfflineCase>;
  /** The plaintext that stands for a token of the configuration in this run. `token`: its id. */
  token(project: string, token: string): string;
  close(): Promise<void>;
}

/** Compiles the configuration. Rejects with ConfigError when a plugin cannot be set up. */
export async function openOffline(source: OfflineSource): Promise<OfflineGateway> {
  const offline = new Offline(source);
  await offline.compile();
  return offline;
}

/** Bytes that the calls of one case hold in memory. */
const BUFFERED_BYTES_MAX = 256 * 1024 * 1024;

export interface Compiled {
  readonly compiled: CompiledConfig;
  /** As compiled. */
  readonly config: ResolvedConfig;
}

class Offline implements OfflineGateway {
  readonly config: ResolvedConfig;
  readonly protections: readonly Protection[];
  readonly #tokens = new RunTokens();
  readonly #platform: CasePlatform;
  readonly #surface: CaseSurface;
  readonly #input: CompileInput;
  readonly #variants = new Map<string, Promise<Compiled>>();
  #base: Compiled | undefined;
  #case: OfflineCase | undefined;
  #cases = 0;

  constructor({ config, registry, hash, placeOf = () => undefined }: OfflineSource) {
    this.config = config;
    this.protections = protectionsOf(config, registry, placeOf);
    const platform = new CasePlatform(this.#resources(undefined, () => platform));
    this.#platform = platform;
    const { clock, log, random, store } = platform;
    const trail = createAuditTrail({ store, clock, random, log });
    const full: Platform = { ...platformOf(platform), auditBlocks: auditBlocks(trail), audit: trail };
    this.#surface = new CaseSurface({ platform, trail, buffered: new ByteBudget(BUFFERED_BYTES_MAX) });
    const uuid = (): string => random.uuid();
    this.#input = {
      ...{ config: this.#tokens.addedTo(config), hash, registry, platform: full },
      pool: new InstancePool({ clock, log }),
      clients: { acquire: () => Promise.reject(new Error("providers are scripted")) },
      outbound: closedOutbound({
        player: () => this.#running,
        upstream: (request) => this.#running.upstreamAnswer(request),
        ...{ uuid, refused: (what) => platform.refused(what) },
      }),
      setUpStage: setUpPerCase(
        () => this.#cases,
        (plugin) => registry.moduleOf(plugin) !== undefined,
      ),
    };
  }

  async compile(): Promise<void> {
    const { config } = this.#input;
    this.#base = { config, compiled: await compileConfig(this.#input).catch(asConfigError) };
  }

  async case(options: CaseOptions = {}): Promise<OfflineCase> {
    const compiled = await this.#compiled(options.without);
    this.#cases++;
    this.#platform.use(this.#resources(options.startMs, () => this.#platform));
    const next = new OfflineCase({
      ...{ platform: this.#platform, surface: this.#surface, input: this.#input, tokens: this.#tokens },
      ...{ base: compiled, registry: this.#input.registry, options },
      protections: options.without === undefined ? this.protections : [],
    });
    this.#case = next;
    await next.begin();
    return next;
  }

  token(project: string, token: string): string {
    return this.#tokens.of(project, token);
  }

  async close(): Promise<void> {
    const all = await Promise.all(this.#variants.values());
    for (const { compiled } of all) await compiled.close();
    await this.#base?.compiled.close();
  }

  get #running(): OfflineCase {
    if (this.#case === undefined) throw new Error("no case has begun");
    return this.#case;
  }

  #compiled(without: string | undefined): Promise<Compiled> {
    const base = this.#base;
    if (base === undefined) throw new Error("the configuration is not compiled");
    if (without === undefined) return Promise.resolve(base);
    const known = this.#variants.get(without);
    if (known !== undefined) return known;
    const protection = this.protections.find(({ id }) => id === without);
    if (protection === undefined) throw new Error(`there is no protection '${without}'`);
    const made = withoutOne(this.#input, base, protection).catch(asConfigError);
    this.#variants.set(without, made);
    return made;
  }

  /** `platform`: whose clock and random numbers the store goes by. */
  #resources(startMs: number | undefined, platform: () => CasePlatform): CaseResources {
    const { max_sessions: maxSessions } = this.config.state;
    const clock = {
      nowMs: () => platform().clock.nowMs(),
      monotonicMs: () => platform().clock.monotonicMs(),
      after: (delayMs: number, run: () => void) => platform().clock.after(delayMs, run),
    };
    const random = { uuid: () => platform().random.uuid(), fraction: () => platform().random.fraction() };
    const store = memoryStore({ clock, random, maxSessions });
    return { clock: virtualClock(startMs), store, log: [], closed: [] };
  }
}

function platformOf({ clock, random, log, store, metrics, requestLog, http }: CasePlatform): Platform {
  return { clock, random, log, store, metrics, requestLog, http };
}

function asConfigError(thrown: unknown): never {
  throw thrown instanceof CompileError ? new ConfigError([setupDiagnostic(thrown)], []) : thrown;
}
