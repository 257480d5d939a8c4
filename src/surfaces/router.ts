/**
 * Finds the route of a path by slices of it and maps made once from the route tables: no URL parser, which costs forty
 * times as much on every call, and no pattern per route.
 */
import { type GatewayError, reject } from "../plugin/index.ts";

/** What the router needs to know of a route. */
export interface RoutePath {
  /** `ANY`: the handler checks the method. */
  readonly method: "GET" | "HEAD" | "POST" | "DELETE" | "ANY";
  /**
   * Literal segments, then at most one `{name}`, which is one segment, then at most one `{name+}`, which is all that
   * follows. Longer literals take precedence.
   */
  readonly path: string;
}

/** The routes of one path, by method. */
export class PathRoutes<R extends RoutePath> {
  readonly routes: R[] = [];
  readonly #byMethod = new Map<string, R>();

  add(route: R): void {
    if (this.#byMethod.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`);
    this.routes.push(route);
    this.#byMethod.set(route.method, route);
  }

  /** undefined: the method is not allowed. */
  of(method: string): R | undefined {
    return this.#byMethod.get(method) ?? this.#byMethod.get("ANY");
  }

  /** The value of `Allow`. */
  get allow(): string {
    return this.routes.map(({ method }) => method).join(", ");
  }
}

export interface PathMatch<R extends RoutePath> {
  readonly routes: PathRoutes<R>;
  readonly param: string;
  readonly rest: string;
}

/** Routes whose literal segments are the same, by the parameters behind these. */
interface Branch<R extends RoutePath> {
  /** `{name}` */
  one?: PathRoutes<R>;
  /** `{name}/{name+}` */
  deep?: PathRoutes<R>;
  /** `{name+}` */
  all?: PathRoutes<R>;
}

const TEMPLATE = /^((?:[^{}/]+\/)*)(?:([^{}/]+)|(\{\w+\})|(\{\w+\}\/\{\w+\+\})|(\{\w+\+\}))$/;

export class Router<R extends RoutePath> {
  readonly #exact = new Map<string, PathMatch<R>>();
  /** By literal segments, each with its slash. */
  readonly #branches = new Map<string, Branch<R>>();
  /** Slashes in the longest of them. */
  #depth = 0;

  /** `base`: what the paths of all routes begin with; `find` is given what follows. */
  constructor(routes: readonly R[], base: string) {
    for (const route of routes) this.#add(route, route.path.slice(base.length), base);
  }

  /** `path`: what follows the base, without a query. undefined: no route has it, whatever the method. */
  find(path: string): PathMatch<R> | undefined {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return exact;
    let found: PathMatch<R> | undefined;
    let end = 0;
    for (let depth = 0; depth <= this.#depth; depth++) {
      const branch = this.#branches.get(path.slice(0, end));
      if (branch !== undefined) found = matchOf(branch, path.slice(end)) ?? found;
      end = path.indexOf("/", end) + 1;
      if (end === 0) break;
    }
    return found;
  }

  #add(route: R, path: string, base: string): void {
    const [, literals = "", literal, one, deep, all] = TEMPLATE.exec(path) ?? [];
    if (!route.path.startsWith(base) || (literal ?? one ?? deep ?? all) === undefined)
      throw new Error(`not a path of a route: ${route.path}`);
    if (literal !== undefined) return this.#exactRoutes(path).add(route);
    const branch = this.#branches.get(literals) ?? {};
    this.#branches.set(literals, branch);
    this.#depth = Math.max(this.#depth, literals.split("/").length - 1);
    const kind = one !== undefined ? "one" : deep !== undefined ? "deep" : "all";
    (branch[kind] ??= new PathRoutes<R>()).add(route);
  }

  #exactRoutes(path: string): PathRoutes<R> {
    const known = this.#exact.get(path);
    if (known !== undefined) return known.routes;
    const routes = new PathRoutes<R>();
    this.#exact.set(path, { routes, param: "", rest: "" });
    return routes;
  }
}

function matchOf<R extends RoutePath>({ one, deep, all }: Branch<R>, path: string): PathMatch<R> | undefined {
  if (path === "") return undefined;
  const slash = path.indexOf("/");
  if (slash < 0 && one !== undefined) return { routes: one, param: path, rest: "" };
  if (slash > 0 && deep !== undefined)
    return { routes: deep, param: path.slice(0, slash), rest: path.slice(slash) };
  return all && { routes: all, param: path, rest: "" };
}

export function wrongMethod(method: string, allow: string): GatewayError {
  return reject("method_not_allowed", { method }, { headers: { Allow: allow } });
}

/** The path without its query; an absolute-form target (a proxy's request line) loses its origin. */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  const whole = query < 0 ? target : target.slice(0, query);
  if (whole.startsWith("/")) return whole;
  const scheme = whole.indexOf("://");
  const slash = scheme < 0 ? -1 : whole.indexOf("/", scheme + 3);
  return slash < 0 ? "/" : whole.slice(slash);
}
