/** One case of an offline run: the state it begins with, its requests one after the other, and the time between them. */

import type { CompileInput } from "../compile/compile.ts";
import { endpointOf } from "../compile/endpoint.ts";
import type { CompiledConfig } from "../compile/model.ts";
import { CompiledBase, compileOverrides } from "../compile/overrides.ts";
import type { EndpointConfig, ResolvedConfig } from "../config/model.ts";
import { applyOverrides } from "../config/overrides.ts";
import type { Call } from "../pipeline/call.ts";
import type { AuditRecord, Override } from "../plugin/store.ts";
import type { Registry } from "../plugins-host/registry.ts";
import { type OfflineRequest, type OpenExchange, openExchange } from "./exchange.ts";
import {
  type Given,
  giveCalls,
  giveOpenCircuits,
  giveSessions,
  giveSpent,
  type RateLimits,
  type SubjectRef,
} from "./given.ts";
import type { CasePlatform } from "./platform.ts";
import type { Protection } from "./protections.ts";
import {
  answerOf,
  attemptsOf,
  eventsOf,
  guardrailOutcomes,
  jsonOf,
  type OfflineResult,
  refusalOf,
  shownBy,
} from "./result.ts";
import { DEFAULT_ENTRY, isReply, type ScriptEntry, type UpstreamAnswer } from "./script.ts";
import type { ScriptedAnswer, ScriptedRequest, ScriptPlayer } from "./scripted-client.ts";
import { type SentRequest, sentRequest } from "./sent.ts";
import { numberOf, rateLimitsOf } from "./settings.ts";
import type { CaseSurface } from "./surface.ts";
import type { RunTokens } from "./tokens.ts";
import type { UpstreamRequest } from "./upstream.ts";

export interface CallScript {
  /** Answers of providers, one for each request that is sent to one. Default: each answers `ok`. */
  readonly script?: readonly ScriptEntry[];
  /** What the upstream of a proxy endpoint answers. Default: 200 with an empty body. */
  readonly upstream?: UpstreamAnswer;
}

export interface CaseParts {
  readonly platform: CasePlatform;
  readonly surface: CaseSurface;
  readonly input: CompileInput;
  readonly tokens: RunTokens;
  readonly registry: Registry;
  readonly base: { readonly compiled: CompiledConfig; readonly config: ResolvedConfig };
  readonly options: {
    readonly startMs?: number;
    readonly given?: Given;
    readonly keepsTexts?: boolean;
  };
  /** Empty: what the calls show of them is not of interest. */
  readonly protections: readonly Protection[];
}

/** Iterations of the event loop without an end, after which the clock runs as the machine's does: a plugin is at work. */
const IDLE_TURNS = 64;
/** Audit records that one request may raise. */
const AUDIT_MAX = 1000;
/** Default dimensions of scripted embeddings. */
const DIMENSIONS = 8;

export class OfflineCase implements ScriptPlayer {
  readonly #parts: CaseParts;
  /** Ids of the given conversations. */
  sessions: readonly string[] = [];
  #config: CompiledConfig;
  #mode: "given" | "running" = "given";
  #script: readonly ScriptEntry[] | undefined;
  #upstream: UpstreamAnswer = {};
  #played = 0;
  #missing = 0;
  #sent: SentRequest[] = [];
  #upstreamRequests: UpstreamRequest[] = [];
  #waitingUntilMs: number | undefined;
  #lastAudit: string | undefined;

  constructor(parts: CaseParts) {
    this.#parts = parts;
    this.#config = parts.base.compiled;
  }

  get clock(): ScriptPlayer["clock"] {
    return this.#parts.platform.current.clock;
  }

  /** Unix milliseconds of the case's clock. */
  get nowMs(): number {
    return this.clock.nowMs();
  }

  /** Lets time pass. */
  advance(ms: number): void {
    this.clock.advance(ms);
  }

  /** Brings about what is given. Called once, before anything else. */
  async begin(): Promise<void> {
    const { surface, options, base } = this.#parts;
    const { given = {} } = options;
    await this.#giveCalls(given.calls ?? []);
    if (given.spent !== undefined) await giveSpent(surface.rt, given.spent);
    if (given.revoked !== undefined || given.overrides !== undefined) await this.#giveOverrides(given);
    surface.use(this.#config, options.keepsTexts === true);
    if (given.openCircuits !== undefined)
      await this.#driven(giveOpenCircuits(surface.rt, this.#config, given.openCircuits));
    if (given.sessions !== undefined) {
      this.sessions = await giveSessions(surface.rt, given.sessions, (uuid, slug) => {
        const project = base.config.projects.find((one) => one.uuid === uuid);
        const endpoint = project?.endpoints.find((one) => one.slug === slug);
        return (endpoint === undefined ? 3600 : (numberOf(endpoint, "session_ttl_seconds") ?? 3600)) * 1000;
      });
    }
    this.#mode = "running";
  }

  /** Sends one request to the data plane and waits for its end. One at a time. */
  async call(request: OfflineRequest, { script, upstream = {} }: CallScript = {}): Promise<OfflineResult> {
    const { surface, platform } = this.#parts;
    const { current } = platform;
    this.#script = script;
    this.#upstream = upstream;
    this.#played = 0;
    this.#missing = 0;
    this.#sent = [];
    this.#upstreamRequests = [];
    current.log.length = 0;
    current.closed.length = 0;
    surface.open.calls.length = 0;
    const startedMs = this.clock.monotonicMs();
    const open = openExchange(surface.handler, request);
    await this.#run(() => open.isOver && surface.open.size === 0);
    return this.#result(open, this.clock.monotonicMs() - startedMs);
  }

  next({ request, streamed, dialect }: ScriptedRequest): ScriptedAnswer | string {
    if (this.#mode === "given") return { entry: DISCONNECT, model: "", number: 0, vectors: undefined };
    const call = this.#parts.surface.open.calls.findLast(
      ({ ended, attempts }) => !ended && attempts.length > 0,
    );
    if (call === undefined) return "no call asks for it";
    const sent = sentRequest(request, streamed, call);
    this.#sent.push(sent);
    const entry = this.#script === undefined ? DEFAULT_ENTRY : this.#script[this.#played];
    if (entry === undefined) {
      this.#missing++;
      return "the script has no answer left";
    }
    this.#played++;
    if (isReply(entry) && dialect === undefined)
      this.#parts.platform.refused(
        `a reply of provider '${sent.provider}', whose wire format is its own: script it as json or as a recording`,
      );
    const { embed } = call.options ?? {};
    const vectors = embed && { count: call.messages.length, dimensions: embed.dimensions ?? DIMENSIONS };
    return { entry, model: sent.model, number: this.#sent.length, vectors };
  }

  upstreamAnswer(request: UpstreamRequest): UpstreamAnswer | string {
    this.#upstreamRequests.push(request);
    return this.#upstream;
  }

  waitingUntil(monotonicMs: number | undefined): void {
    this.#waitingUntilMs = monotonicMs;
  }

  /**
   * Lets the event loop run until it is over. Where a scripted answer waits for time to pass, time passes at once. Where a
   * plugin takes its own time, the case's clock runs as the machine's does, so that its deadlines hold.
   */
  async #run(isOver: () => boolean): Promise<void> {
    let turns = 0;
    let machineMs = 0;
    while (!isOver()) {
      const dueMs = this.#waitingUntilMs;
      if (dueMs !== undefined) {
        this.#waitingUntilMs = undefined;
        this.clock.advance(Math.max(0, dueMs - this.clock.monotonicMs()));
        turns = 0;
      }
      if (turns++ < IDLE_TURNS) {
        await new Promise(setImmediate);
        machineMs = performance.now();
        continue;
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
      const nowMs = performance.now();
      this.clock.advance(nowMs - machineMs);
      machineMs = nowMs;
    }
  }

  async #driven(work: Promise<void>): Promise<void> {
    let isOver = false;
    const done = work.finally(() => {
      isOver = true;
    });
    await this.#run(() => isOver);
    await done;
  }

  /** The oldest first; the case's clock begins that much earlier. */
  async #giveCalls(calls: NonNullable<Given["calls"]>): Promise<void> {
    const { rt } = this.#parts.surface;
    const oldestFirst = calls.toSorted((a, b) => (b.agoMs ?? 0) - (a.agoMs ?? 0));
    const longestMs = oldestFirst[0]?.agoMs ?? 0;
    const { clock } = this;
    const startMs = clock.nowMs();
    clock.step(-longestMs);
    for (const given of oldestFirst) {
      const dueMs = startMs - (given.agoMs ?? 0);
      clock.advance(Math.max(0, dueMs - clock.nowMs()));
      await giveCalls(rt, given, this.#limits(given.subject));
    }
    clock.advance(Math.max(0, startMs - clock.nowMs()));
  }

  #limits({ project: uuid, kind, name }: SubjectRef): RateLimits {
    const { base, registry } = this.#parts;
    const none = { rate_limit_per_minute: null, rate_limit_per_hour: null };
    const project = base.config.projects.find((one) => one.uuid === uuid);
    if (project === undefined || kind === "token") return none;
    if (kind === "proxy") return project.proxy_endpoints.find(({ slug }) => slug === name) ?? none;
    if (kind === "endpoint") {
      const endpoint = project.endpoints.find(({ slug }) => slug === name);
      return endpoint === undefined ? none : rateLimitsOf(endpoint);
    }
    const alias = project.aliases.find((one) => one.alias === name);
    return alias === undefined ? none : rateLimitsOf(endpointOf(registry, project, alias));
  }

  async #giveOverrides({ revoked = [], overrides = [] }: Given): Promise<void> {
    const { base, input, tokens, platform } = this.#parts;
    const about = { actor: "given", setAtMs: this.nowMs };
    const list: Override[] = [
      ...revoked.map(({ project, token }) => {
        const hashes = this.#hashesOf(project, token);
        hashes.push(tokens.hashOf(project, token));
        return { key: `revoked:${project}/${token}`, value: { hashes }, replaced: null, ...about };
      }),
      ...overrides.map(({ project, endpoint, isActive }) => ({
        key: `endpoint:${project}/${endpoint}`,
        value: { is_active: isActive },
        replaced: { is_active: this.#isActive(project, endpoint) },
        ...about,
      })),
    ];
    for (const override of list) await platform.store.overrides.set(override);
    const { config } = applyOverrides(base.config, list);
    const shared = new CompiledBase(base.config, base.compiled);
    this.#config = await compileOverrides(shared, { ...input, config });
  }

  #hashesOf(project: string, token: string): string[] {
    const found = this.#parts.base.config.projects.find(({ uuid }) => uuid === project);
    return (found?.tokens ?? []).filter(({ id }) => id === token).map(({ hash }) => hash);
  }

  #isActive(uuid: string, slug: string): boolean {
    const project = this.#parts.base.config.projects.find((one) => one.uuid === uuid);
    const entries = [...(project?.endpoints ?? []), ...(project?.proxy_endpoints ?? [])];
    return entries.find((one) => one.slug === slug)?.is_active ?? true;
  }

  async #result(open: OpenExchange, durationMs: number): Promise<OfflineResult> {
    const { surface, platform } = this.#parts;
    const { current } = platform;
    const response = open.response();
    const call = mainCall(surface.open.calls);
    const trace = call?.trace;
    const settings = call === undefined ? undefined : this.#settingsOf(call);
    const json = jsonOf(response.body);
    const events = eventsOf(response);
    const guardrails = settings === undefined ? [] : guardrailOutcomes(trace, settings);
    const { log, closed } = current;
    const { length: entries = 0 } = this.#script ?? [];
    return {
      ...response,
      ...{ json, events, durationMs, trace, call, guardrails },
      answer: response.status < 300 ? answerOf(json, events) : undefined,
      error: refusalOf(trace, json),
      refusedAt: trace?.refusedAt,
      attempts: attemptsOf(trace),
      sent: this.#sent,
      upstream: this.#upstreamRequests,
      usage: trace?.end?.usage,
      costNanoUsd: surface.open.calls.reduce((sum, { settledNanoUsd = 0 }) => sum + settledNanoUsd, 0),
      audit: await this.#auditRecords(),
      ...{ log: [...log], closed: [...closed] },
      script: { entries, played: this.#script === undefined ? 0 : this.#played, missing: this.#missing },
      shown: call === undefined || trace === undefined ? [] : this.#shown(call, trace, guardrails),
    };
  }

  #shown(
    call: Call,
    trace: NonNullable<OfflineResult["trace"]>,
    guardrails: OfflineResult["guardrails"],
  ): OfflineResult["shown"] {
    const { protections } = this.#parts;
    if (protections.length === 0) return [];
    const kind = KINDS[call.surface];
    const { uuid } = call.project;
    const own = protections.filter(({ owner }) => {
      if (owner.project !== uuid) return false;
      return owner.kind === "token"
        ? owner.name === call.token.id
        : owner.kind === kind && owner.name === call.endpoint.slug;
    });
    const isTool = call.surface === "mcp";
    return shownBy(trace, call, { protections: own, guardrails, targets: call.targets, isTool });
  }

  /** What the call's endpoint is configured as; undefined: it has none. */
  #settingsOf({ project: { uuid }, endpoint: { slug }, surface }: Call): EndpointConfig | undefined {
    const { base, registry } = this.#parts;
    const project = base.config.projects.find((one) => one.uuid === uuid);
    if (project === undefined || surface === "proxy") return undefined;
    if (surface !== "wrapper") return project.endpoints.find((one) => one.slug === slug);
    const alias = project.aliases.find((one) => one.alias === slug);
    return alias && endpointOf(registry, project, alias);
  }

  /** Those since the request before, oldest first. */
  async #auditRecords(): Promise<readonly AuditRecord[]> {
    const newest = await this.#parts.platform.store.audit.query({ limit: AUDIT_MAX });
    const known = newest.findIndex(({ id }) => id === this.#lastAudit);
    this.#lastAudit = newest[0]?.id ?? this.#lastAudit;
    return (known < 0 ? newest : newest.slice(0, known)).toReversed();
  }
}

const DISCONNECT: ScriptEntry = { disconnect: true };

/** The owner of the protections of a surface's calls. */
const KINDS: Readonly<Record<string, Protection["owner"]["kind"]>> = {
  chat: "endpoint",
  mcp: "endpoint",
  wrapper: "alias",
  proxy: "proxy",
};

/** Of several calls of one request (tools of a batch) the last one that reached an endpoint. */
function mainCall(calls: readonly Call[]): Call | undefined {
  return calls.findLast(({ endpoint }) => endpoint.slug !== "") ?? calls.at(-1);
}
