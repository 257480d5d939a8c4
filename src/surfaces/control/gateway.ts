/** Control-plane tools for the whole gateway: overrides, reloads, backups. */
import { auditFields, GATEWAY_WIDE } from "../../audit/audit.ts";
import type { JsonMap } from "../../base/json.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { Override } from "../../plugin/store.ts";
import { structured } from "../jsonrpc/jsonrpc.ts";
import { reloadFields } from "../shared-routes.ts";
import { type ControlTool, STORE_LOST } from "./tool.ts";

export const listOverrides: ControlTool = {
  name: "gw_list_overrides",
  title: "List overrides",
  description:
    "Differences from git: tokens created, rotated and revoked at run time, endpoints activated or deactivated.",
  args: {},
  required: [],
  effect: "reads",
  isIdempotent: true,
  async run(ctx) {
    const overrides = await ctx.store.overrides.list();
    return overrides === "unavailable" ? STORE_LOST : structured({ overrides: overrides.map(shown) });
  },
};

function shown({ key, value, replaced, actor, setAtMs }: Override): JsonMap {
  const [, kind = "", project_uuid = "", name = ""] = /^([^:]*):([^/]*)\/(.*)$/s.exec(key) ?? [];
  return {
    ...{ key, kind, project_uuid, name, value, replaced, actor },
    set_at: new Date(setAtMs).toISOString(),
  };
}

export const reloadConfig: ControlTool = {
  name: "gw_reload_config",
  title: "Reload the configuration",
  description: "Loads the configuration again. An invalid one changes nothing, and its errors are returned.",
  args: {},
  required: [],
  effect: "changes",
  isIdempotent: true,
  async run(ctx) {
    const reload = await ctx.reload();
    const { result } = structured(reloadFields(reload));
    return { result: { ...result, isError: !reload.ok } };
  },
};

/** Audit events in a backup, at most. */
const EVENTS_MAX = 1000;

export const exportBackup: ControlTool = {
  name: "gw_export_backup",
  title: "Export a backup",
  description:
    "The configuration in use, overrides, spend and the newest audit events. No secrets: only references to them.",
  args: {},
  required: [],
  effect: "reads",
  isIdempotent: true,
  async run(ctx, _args, { name: actor, ipAddress }) {
    const [overrides, sums, records] = await Promise.all([
      ctx.store.overrides.list(),
      ctx.store.sums(),
      ctx.store.audit.query({ limit: EVENTS_MAX }),
    ]);
    if (overrides === "unavailable") return STORE_LOST;
    await ctx.audit.record({
      ...{
        event: "backup.exported",
        severity: "info" as const,
        actor,
        project: GATEWAY_WIDE,
        target: "backup",
      },
      ...{ metadata: { overrides: overrides.length, spend: sums.length }, ipAddress },
    });
    return structured({
      format: 1,
      gateway_version: ctx.version,
      exported_at: new Date(ctx.clock.nowMs()).toISOString(),
      config: ctx.shownConfig(),
      overrides: overrides.map(shown),
      spend: sums.map(({ key, month, settledNanoUsd }) => ({ key, month, settled_nano_usd: settledNanoUsd })),
      // Fields of a record are JSON, which their type does not say.
      audit_events: records.map((record) => ({ id: record.id, ...auditFields(record) }) as JsonValue),
    });
  },
};
