/** What the admin listener is given of the running gateway. */
import type { ResolvedConfig } from "../config/model.ts";
import type { RequestHandler } from "../http/server.ts";
import type { OpenCalls } from "../pipeline/open-calls.ts";
import { andThen, type MaybePromise } from "../plugin/index.ts";
import type { AdminContext } from "../surfaces/admin/access.ts";
import type { AuthFailures } from "../surfaces/auth-failures.ts";
import type { Readiness } from "../surfaces/shared-routes.ts";
import type { Traffic } from "../telemetry/traffic.ts";
import type { LiveConfig } from "./live-config.ts";
import type { OverloadMonitor } from "./overload.ts";
import { overviewOf } from "./overview.ts";
import { unpackConfig } from "./packed-config.ts";
import type { GatewayPlatform } from "./platform.ts";
import type { Reloader } from "./reloader.ts";
import { usageOf } from "./usage.ts";

export interface AdminSources {
  readonly platform: GatewayPlatform;
  /** As the gateway was started. */
  readonly started: ResolvedConfig;
  readonly live: LiveConfig;
  readonly reloader: Reloader;
  readonly traffic: Traffic;
  readonly open: OpenCalls;
  readonly overload: OverloadMonitor;
  readonly failures: AuthFailures;
  /** undefined: the control plane is on the public listener. */
  control(): RequestHandler | undefined;
  readiness(): MaybePromise<Readiness>;
  isDraining(): boolean;
}

export function adminContext(sources: AdminSources): AdminContext {
  const { platform, started, live, reloader, traffic, open, overload, failures } = sources;
  const { clock, events, metrics, store } = platform;
  const startedAtMs = clock.nowMs();
  const startedMonotonicMs = clock.monotonicMs();
  return {
    ...{ metrics, host: started.admin.host, metricsToken: started.admin.metrics_token, failures },
    tokens: () => live.config.control_plane.tokens,
    control: () => sources.control(),
    reload: (reviewed) => reloader.reload(reviewed),
    history: platform.recorded,
    overview: () =>
      andThen(sources.readiness(), (readiness) =>
        overviewOf({
          ...{ platform, startedAtMs, startedMonotonicMs, readiness, config: live.config },
          ...{ findings: reloader.findings, traffic: traffic.view(), draining: sources.isDraining() },
          calls: { open: open.size, streams: open.streams, shedding: overload.shedding },
        }),
      ),
    usage: () => usageOf({ clock, store, history: platform.recorded, hash: live.generation?.ref.hash ?? "" }),
    config: async () => {
      const { generation } = live;
      const packed = await live.packed;
      return packed && generation && unpackConfig(packed, generation.ref);
    },
    records: {
      clock,
      audit: store.audit,
      deliveries: events.deliveries,
      clientAddress: (req) => live.generation?.clientAddress(req) ?? "",
    },
  };
}
