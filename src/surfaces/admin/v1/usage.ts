/** `GET /admin/v1/usage`: who is affected by a change, for `sluice plan --usage`. */
import type { ApiRoute } from "./api-route.ts";
import { usage } from "./usage-schema.ts";

export const getUsage: ApiRoute = {
  ...{ method: "GET", path: "/admin/v1/usage" },
  summary: "Who is affected by a change: calls and tokens of 30 days, spend of the month, overrides.",
  responses: { 200: { description: "The usage.", schema: usage } },
  async handler(ctx) {
    return { status: 200, content: await ctx.usage() };
  },
};
