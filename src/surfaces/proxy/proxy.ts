/** The proxy surface: its routes, and what a request's head must satisfy. The exchange with the upstream is exchange.ts. */
import type { CompiledProject, CompiledProxy } from "../../compile/model.ts";
import { type GatewayError, reject } from "../../plugin/index.ts";
import type { RequestContext } from "../request-context.ts";
import type { Route, SurfaceModule } from "../route.ts";
import { ProxyExchange } from "./exchange.ts";
import { joinPath } from "./path.ts";

const root: Route<undefined, CompiledProxy> = {
  ...{ method: "ANY", path: "/api/{project_uuid}/proxy/{slug}" },
  summary: "Passes a request on to the proxy endpoint's upstream.",
  ...{ surface: "proxy", scope: "proxy", projectType: "proxy", body: "streamed" },
  target: endpointOf,
  handler: callUpstream,
};

const below: Route<undefined, CompiledProxy> = {
  ...root,
  path: "/api/{project_uuid}/proxy/{slug}/{path+}",
  summary: "The same for a path below the upstream's.",
};

export const proxy: SurfaceModule = { routes: [root, below] };

function endpointOf(
  { proxies }: CompiledProject,
  _input: undefined,
  { target }: RequestContext,
): CompiledProxy | GatewayError {
  const { param: slug } = target;
  const endpoint = proxies.get(slug);
  return endpoint?.isActive === true ? endpoint : reject("endpoint_not_found", { slug });
}

function callUpstream(context: RequestContext, endpoint: CompiledProxy): undefined {
  context.call.endpoint = endpoint.ref;
  const path = pathOn(endpoint, context.target.rest, context.req.url ?? "");
  const exchange = new ProxyExchange(context, endpoint, path ?? "");
  const refusal = refusedByHead(context, endpoint, path);
  if (refusal === undefined) exchange.begin();
  else exchange.refuse(refusal);
}

function pathOn({ upstream }: CompiledProxy, rest: string, target: string): string | undefined {
  // A blocked upstream is refused later; the path is checked before.
  const base = typeof upstream === "string" ? NOWHERE : upstream;
  const question = target.indexOf("?");
  return joinPath(base, rest, question < 0 ? "" : target.slice(question));
}

const NOWHERE = new URL("http://blocked.invalid/");

function refusedByHead(
  { req, call, generation }: RequestContext,
  { allowedMethods }: CompiledProxy,
  path: string | undefined,
): GatewayError | undefined {
  const { method } = call;
  if (!allowedMethods.includes(method))
    return reject("method_not_allowed", { method }, { headers: { Allow: allowedMethods.join(", ") } });
  const { upgrade, "content-length": length } = req.headers;
  const { max_body_bytes: max } = generation.config.server;
  if (length !== undefined && Number(length) > max) return reject("body_too_large", { max });
  // Any other upgrade is an offer, which may be ignored (RFC 9110, section 7.8).
  if (upgrade !== undefined && /\bwebsocket\b/i.test(upgrade))
    return reject("unsupported", { feature: "WebSocket" });
  if (path === undefined)
    return reject("invalid_field", { field: "path", expected: "a path that stays below the endpoint's" });
  return undefined;
}
