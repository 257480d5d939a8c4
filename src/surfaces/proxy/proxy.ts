/**
 * The proxy surface: `ANY /api/{project_uuid}/proxy/{slug}[/rest][?query]`. Lets calls in and walks the chain; what goes
 * to the upstream and comes back is proxy-exchange.ts.
 */
import type { CompiledProject, CompiledProxy } from "../../compile/model.ts";
import { type GatewayError, reject } from "../../plugin/index.ts";
import type { Visit } from "../arrival.ts";
import { ProxyExchange } from "./exchange.ts";
import { joinPath } from "./path.ts";

/** `rest`: what follows the slug, empty or from its slash on. */
export function serveProxy(visit: Visit, slug: string, rest: string): void {
  visit.admit(
    "proxy",
    () => reject("not_proxy_project", {}),
    (project) => callUpstream(visit, project, slug, rest),
  );
}

function callUpstream(visit: Visit, project: CompiledProject, slug: string, rest: string): void {
  const endpoint = project.proxies.get(slug);
  if (endpoint === undefined || !endpoint.isActive)
    return visit.refuse(reject("endpoint_not_found", { slug }));
  visit.call.endpoint = endpoint.ref;
  const path = pathOn(endpoint, rest, visit.req.url ?? "");
  const exchange = new ProxyExchange(visit, endpoint, path ?? "");
  const refusal = refusedByHead(visit, endpoint, path);
  if (refusal === undefined) exchange.begin();
  else exchange.refuse(refusal);
}

function pathOn({ upstream }: CompiledProxy, rest: string, target: string): string | undefined {
  // A blocked upstream is refused further on; until then the path counts all the same.
  const base = typeof upstream === "string" ? NOWHERE : upstream;
  const question = target.indexOf("?");
  return joinPath(base, rest, question < 0 ? "" : target.slice(question));
}

const NOWHERE = new URL("http://blocked.invalid/");

function refusedByHead(
  { req, call, generation }: Visit,
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
