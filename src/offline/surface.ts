/** The data plane's own request handler, made once: what it needs of a gateway is that of the case that is running. */
import type { AuditTrail } from "../audit/audit.ts";
import type { ByteBudget } from "../base/byte-budget.ts";
import type { CompiledConfig } from "../compile/model.ts";
import { type ClientAddress, clientAddress } from "../http/client-address.ts";
import type { RequestHandler } from "../http/server.ts";
import type { Call, Runtime } from "../pipeline/call.ts";
import { OpenCalls } from "../pipeline/open-calls.ts";
import { CallTrace } from "../pipeline/trace.ts";
import type { ConfigRef } from "../plugin/exchange.ts";
import type { Clock } from "../plugin/index.ts";
import { AuthFailures } from "../surfaces/auth-failures.ts";
import { publicPlane } from "../surfaces/public-plane.ts";
import type { Generation, SurfaceGateway } from "../surfaces/request-context.ts";
import type { CasePlatform } from "./platform.ts";

/** How late a call may be cancelled, by the case's clock. */
const PERIOD_MS = 10;

export interface SurfaceOptions {
  readonly platform: CasePlatform;
  readonly trail: AuditTrail;
  readonly buffered: ByteBudget;
}

export class CaseSurface implements SurfaceGateway {
  readonly rt: Runtime;
  readonly random: CasePlatform["random"];
  readonly draining = false;
  readonly control = undefined;
  readonly overload = { admits: () => true };
  readonly authFailures: AuthFailures;
  readonly handler: RequestHandler;
  open: TracedCalls;
  #generation: Generation | undefined;

  constructor({ platform, trail, buffered }: SurfaceOptions) {
    const { clock, log, store, random, metrics } = platform;
    this.rt = { buffered, clock, log, store };
    this.random = random;
    this.authFailures = new AuthFailures({ clock, log, metrics, trail });
    this.open = new TracedCalls(clock, false);
    this.handler = publicPlane(this, {
      readiness: () => READY,
      uuid: () => random.uuid(),
    });
  }

  /** The case that begins. */
  use(config: CompiledConfig, keepsTexts: boolean): void {
    this.open = new TracedCalls(this.rt.clock, keepsTexts);
    this.#generation = new CaseGeneration(config);
  }

  acquire(): Generation {
    if (this.#generation === undefined) throw new Error("no case has begun");
    return this.#generation;
  }
}

const READY = {
  ...{ ready: true, generation: 1, config_hash: "", revision: "" },
  last_reload: { at: "", ok: true, errors: [] },
  store: { driver: "memory", ok: true, detail: "in memory" },
};

class CaseGeneration implements Generation {
  readonly config: CompiledConfig;
  readonly ref: ConfigRef;
  readonly clientAddress: ClientAddress;

  constructor(config: CompiledConfig) {
    this.config = config;
    this.ref = Object.freeze({ hash: config.hash, generation: 1, revision: "" });
    this.clientAddress = clientAddress(config.server.trusted_proxies);
  }

  release(): void {}
}

/** The open calls, each of which is traced from its arrival. */
export class TracedCalls extends OpenCalls {
  /** Those of the request that runs, in order of arrival. */
  readonly calls: Call[] = [];
  readonly #keepsTexts: boolean;

  constructor(clock: Clock, keepsTexts: boolean) {
    super(clock, PERIOD_MS);
    this.#keepsTexts = keepsTexts;
  }

  override add(call: Call): void {
    call.trace = new CallTrace({ spans: true, texts: this.#keepsTexts });
    this.calls.push(call);
    super.add(call);
  }
}
