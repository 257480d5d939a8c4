/** Control-plane tools for records: spend, audit events, webhook deliveries. */
import { auditFields } from "../../audit/audit.ts";
import type { JsonMap } from "../../base/json.ts";
import { NANO_PER_USD } from "../../base/money.ts";
import { monthOf } from "../../base/month.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { SpendSum } from "../../plugin/store.ts";
import { type RpcOutcome, structured } from "../jsonrpc/jsonrpc.ts";
import {
  type ControlContext,
  type ControlTool,
  LIMIT,
  limitOf,
  ofProject,
  PROJECT_UUID,
  refusedArgument,
  shownTokenId,
  textOf,
} from "./tool.ts";

const OF_ALL: JsonMap = { ...PROJECT_UUID, description: "UUID of a project. Left out: all projects." };
const WEBHOOK: JsonMap = { type: "string", description: "Name of a webhook." };

export const getSpend: ControlTool = {
  name: "gw_get_spend",
  title: "Spend of a month",
  description:
    "Spend of endpoints and tokens in a calendar month (UTC), and what is reserved for open calls.",
  args: {
    project_uuid: OF_ALL,
    month: {
      ...{ type: "string", pattern: "^[0-9]{4}-(?:0[1-9]|1[0-2])$" },
      description: "YYYY-MM. Left out: the current month.",
    },
  },
  required: [],
  effect: "reads",
  isIdempotent: true,
  run: ofProjects(async (wanted, ctx, args) => {
    const month = textOf(args, "month") || monthOf(ctx.clock.nowMs());
    const sums = (await ctx.store.sums())
      .filter((sum) => sum.month === month)
      .flatMap((sum) => spentBy(sum) ?? []);
    const mine = sums.filter(({ projectUuid }) => wanted === undefined || projectUuid === wanted);
    const endpoints = mine.filter(({ isToken }) => !isToken);
    return structured({
      month,
      // A call is charged to its endpoint and to its token: both lists contain its cost.
      settled_usd: usd(endpoints.reduce((total, { sum }) => total + sum.settledNanoUsd, 0)),
      reserved_usd: usd(endpoints.reduce((total, { sum }) => total + sum.reservedNanoUsd, 0)),
      endpoints: endpoints.map(({ projectUuid, name, sum }) => ({
        project_uuid: projectUuid,
        slug: name,
        ...amounts(sum),
      })),
      tokens: mine
        .filter(({ isToken }) => isToken)
        .map(({ projectUuid, name, sum }) => ({
          project_uuid: projectUuid,
          token_id: shownTokenId(name),
          ...amounts(sum),
        })),
    });
  }),
};

interface Spent {
  readonly projectUuid: string;
  /** Slug of an endpoint, or id of a token. */
  readonly name: string;
  readonly isToken: boolean;
  readonly sum: SpendSum;
}

/** Keys of stage budget: `spend:<project>/<slug>`, `spend:token:<project>/<id>`. */
function spentBy(sum: SpendSum): Spent | undefined {
  const [, token, projectUuid, name] = /^spend:(token:)?([^/]*)\/(.*)$/s.exec(sum.key) ?? [];
  if (projectUuid === undefined || name === undefined) return undefined;
  return { projectUuid, name, isToken: token !== undefined, sum };
}

function amounts({ settledNanoUsd, reservedNanoUsd }: SpendSum): JsonMap {
  return { settled_usd: usd(settledNanoUsd), reserved_usd: usd(reservedNanoUsd) };
}

/** Exact to the nano-dollar below nine million dollars. */
function usd(nanoUsd: number): number {
  return nanoUsd / NANO_PER_USD;
}

export const listAuditEvents: ControlTool = {
  name: "gw_list_audit_events",
  title: "List audit events",
  description: "Changes of configuration and tokens, guardrail blocks, failed sign-ins.",
  args: {
    project_uuid: OF_ALL,
    event: { type: "string", description: "Only events of this key, e.g. token.revoked." },
    limit: LIMIT,
  },
  required: [],
  effect: "reads",
  isIdempotent: true,
  run: ofProjects(async (projectUuid, ctx, args) => {
    const event = textOf(args, "event") || undefined;
    const records = await ctx.store.audit.query({ projectUuid, event, limit: limitOf(args) });
    // Fields of a record are JSON, which their type does not say.
    return structured({
      events: records.map((record) => ({ id: record.id, ...auditFields(record) }) as JsonValue),
    });
  }),
};

export const listDeliveries: ControlTool = {
  name: "gw_list_webhook_deliveries",
  title: "List webhook deliveries",
  description: "Attempts to deliver webhooks, with the request sent and the response.",
  args: { project_uuid: OF_ALL, webhook: WEBHOOK, limit: LIMIT },
  required: [],
  effect: "reads",
  isIdempotent: true,
  run: ofProjects(async (projectUuid, ctx, args) => {
    const webhook = textOf(args, "webhook") || undefined;
    const deliveries = await ctx.deliveries.query({ projectUuid, webhook, limit: limitOf(args) });
    return structured({ deliveries: deliveries.map((record) => ({ ...record })) });
  }),
};

export const sendTestWebhook: ControlTool = {
  name: "gw_send_test_webhook",
  title: "Send a test webhook",
  description: "Sends a webhook.test event to a webhook and returns the delivery.",
  args: { project_uuid: PROJECT_UUID, webhook: WEBHOOK },
  required: ["project_uuid", "webhook"],
  effect: "reads",
  isIdempotent: false,
  run: ofProject(async (project, ctx, args, { name: actor, ipAddress }) => {
    const webhook = textOf(args, "webhook");
    const sent = ctx.webhooks.sendTest(project.uuid, webhook, { actor, ipAddress });
    if (sent === "unknown")
      return refusedArgument("webhook", `there is no webhook '${webhook.slice(0, 128)}' in this project`);
    if (sent === "inactive") return refusedArgument("webhook", `webhook '${webhook}' is inactive`);
    return structured({ delivery: { ...(await sent) } });
  }),
};

/** The `run` of a tool for the project that `project_uuid` names, or for all projects (undefined) when it is left out. */
function ofProjects(
  run: (projectUuid: string | undefined, ctx: ControlContext, args: JsonMap) => Promise<RpcOutcome>,
): ControlTool["run"] {
  const ofOne = ofProject(({ uuid }, ctx, args) => run(uuid, ctx, args));
  return (ctx, args, caller) =>
    args["project_uuid"] === undefined ? run(undefined, ctx, args) : ofOne(ctx, args, caller);
}
