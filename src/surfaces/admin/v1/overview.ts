/** `GET /admin/v1/overview`. */
import type { ApiRoute } from "./api-route.ts";
import { overview } from "./overview-schema.ts";

export const getOverview: ApiRoute = {
  ...{ method: "GET", path: "/admin/v1/overview" },
  summary: "How the gateway is: configuration, last reload, traffic, spend, overrides, budgets, circuits.",
  responses: { 200: { description: "The overview.", schema: overview } },
  async handler(ctx) {
    return { status: 200, content: await ctx.overview() };
  },
};
