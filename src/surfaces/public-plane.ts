/**
 * The request handler of the public listener: finds the route of a path and starts its call. What has no route is answered here;
 * it is no call, so it is not recorded.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorBody, sendErrorAs } from "../http/respond.ts";
import type { RequestHandler } from "../http/server.ts";
import type { GatewayError } from "../plugin/index.ts";
import { reject } from "../plugin/index.ts";
import { RequestContext, type SurfaceErrors, type SurfaceGateway } from "./request-context.ts";
import type { Route, SurfaceModule } from "./route.ts";
import { pathOf, Router, wrongMethod } from "./router.ts";
import { runRoute } from "./run-route.ts";
import { type HealthReport, type Shared, serveShared } from "./shared-routes.ts";
import { SURFACES } from "./surfaces.ts";

/** What the paths of all calls begin with. */
const PROJECT = "/api/{project_uuid}/";
const API = "/api/";

/** `surfaces`: by default all of them. */
export function publicPlane(
  gateway: SurfaceGateway,
  health: HealthReport,
  surfaces: readonly SurfaceModule[] = SURFACES,
): RequestHandler {
  const plane = new PublicPlane(gateway, surfaces);
  const shared: Shared = { health, hasDetails: false, control: () => gateway.control };
  return (req, res) => {
    const path = pathOf(req.url ?? "/");
    if (plane.serve(req, res, path) || serveShared(req, res, path, shared)) return;
    plane.refuse(req, res, reject("not_found", {}));
  };
}

class PublicPlane {
  readonly #gateway: SurfaceGateway;
  readonly #router: Router<Route>;
  readonly #errors = new Map<Route, SurfaceErrors>();
  readonly #formats: readonly SurfaceErrors[];

  constructor(gateway: SurfaceGateway, surfaces: readonly SurfaceModule[]) {
    this.#gateway = gateway;
    this.#router = new Router(
      surfaces.flatMap(({ routes }) => routes),
      PROJECT,
    );
    this.#formats = surfaces.flatMap(({ errors = [] }) => errors);
    for (const { routes, errors } of surfaces)
      if (errors !== undefined) for (const route of routes) this.#errors.set(route, errors);
  }

  /** Paths of projects; false: it is none. */
  serve(req: IncomingMessage, res: ServerResponse, path: string): boolean {
    const slash = path.startsWith(API) ? path.indexOf("/", API.length) : -1;
    if (slash <= API.length) return false;
    const { method = "" } = req;
    const below = path.slice(slash + 1);
    // A UUID is the same in either case; configurations keep it in lower case.
    const projectUuid = path.slice(API.length, slash).toLowerCase();
    const found = this.#router.find(below);
    const route = found?.routes.of(method);
    if (found === undefined) this.#notFound(req, res, projectUuid, below);
    else if (route === undefined) this.refuse(req, res, wrongMethod(method, found.routes.allow));
    else {
      const { param, rest } = found;
      const target = { rules: route, errors: this.#errors.get(route), projectUuid, path, param, rest };
      runRoute(new RequestContext(this.#gateway, req, res, target), route);
    }
    return true;
  }

  refuse(req: IncomingMessage, res: ServerResponse, error: GatewayError, body = errorBody(error)): void {
    sendErrorAs(req, res, error, { headers: ["X-Request-Id", this.#gateway.random.uuid()], body });
  }

  /** In the format of the surface that the path would belong to. */
  #notFound(req: IncomingMessage, res: ServerResponse, projectUuid: string, below: string): void {
    const error = reject("not_found", {});
    const format = this.#formats.find((errors) => below.startsWith(errors.below));
    if (format === undefined) return this.refuse(req, res, error);
    const generation = this.#gateway.acquire();
    const body = format.body(generation.config.projects.get(projectUuid), req.headers)(error);
    generation.release();
    this.refuse(req, res, error, body);
  }
}
