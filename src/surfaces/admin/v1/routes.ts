/** The table of the admin API: every route of `/admin/v1/`, from which they are served and described. */
import type { AdminRoute } from "../access.ts";
import { type ApiRoute, adminRouteOf } from "./api-route.ts";
import { getCall, getCallStream, getCalls } from "./calls.ts";
import { getConfig } from "./config.ts";
import { getOverview } from "./overview.ts";
import { postReload } from "./reload.ts";
import { getSeries } from "./series.ts";
import { getUsage } from "./usage.ts";

export const apiRoutes: readonly ApiRoute[] = [
  getOverview,
  postReload,
  getCalls,
  getCallStream,
  getCall,
  getSeries,
  getConfig,
  getUsage,
];

export const apiAdminRoutes: readonly AdminRoute[] = apiRoutes.map(adminRouteOf);
