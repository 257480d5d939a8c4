/** The table of the admin API: every route of `/admin/v1/`, from which they are served and described. */
import type { AdminRoute } from "../access.ts";
import { type ApiRoute, adminRouteOf } from "./api-route.ts";
import { getOverview } from "./overview.ts";
import { postReload } from "./reload.ts";

export const apiRoutes: readonly ApiRoute[] = [getOverview, postReload];

export const apiAdminRoutes: readonly AdminRoute[] = apiRoutes.map(adminRouteOf);
