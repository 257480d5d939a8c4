/** Checks `moved_from`: the name that an endpoint, alias or proxy endpoint had belongs to nothing else. */
import type { Spot } from "../read/tree.ts";
import type { FilledProject } from "../schema/project.ts";
import { RESERVED_SLUGS, slugOf } from "../slug.ts";
import { type Check, each, UniqueNames, under } from "./context.ts";

/** A name by which calls find something. */
interface Named {
  readonly what: string;
  readonly name: string | undefined;
  readonly movedFrom: string | null;
  /** Of the name. */
  readonly at: Spot;
  /** Of `moved_from`. */
  readonly spot: Spot;
}

export function checkMovedFrom(check: Check, project: FilledProject, spot: Spot): void {
  // Endpoints and aliases keep what they count under the same keys, so their names must differ here.
  checkNames(check, [...endpoints(project, spot), ...aliases(project, spot)]);
  checkNames(check, [...proxies(project, spot)]);
}

function checkNames(check: Check, all: readonly Named[]): void {
  if (all.every(({ movedFrom }) => movedFrom === null)) return;
  const inUse = new Map(all.map((named) => [named.name, named]));
  const moved = new UniqueNames(check, "`moved_from`");
  for (const named of all) {
    const { movedFrom, name, what, spot } = named;
    if (movedFrom === null) continue;
    const other = inUse.get(movedFrom);
    if (movedFrom === name) {
      check.report("E0324", spot, `\`moved_from\` is the present name of this ${what}`, {
        help: "remove it, or write the name that it had before",
      });
    } else if (other !== undefined) {
      const message = `\`moved_from\` names ${other.what} \`${movedFrom}\`, which exists: ${check.reporter.place(other.at)}`;
      check.report("E0324", spot, message, { help: `remove \`moved_from\`, or the ${other.what}` });
    } else if (what === "endpoint" && RESERVED_SLUGS.has(movedFrom)) {
      check.report("E0308", spot, `slug \`${movedFrom}\` is the path of another route`);
    } else moved.add(movedFrom, spot);
  }
}

function* endpoints(project: FilledProject, parent: Spot): Generator<Named> {
  for (const [endpoint, spot] of each(project.endpoints, under(project, "endpoints", parent))) {
    const { slug, name, moved_from: movedFrom } = endpoint;
    const own = slug ?? (name === undefined ? undefined : slugOf(name));
    const at = under(endpoint, slug === null ? "name" : "slug", spot);
    yield { what: "endpoint", name: own, movedFrom, at, spot: under(endpoint, "moved_from", spot) };
  }
}

function* aliases(project: FilledProject, parent: Spot): Generator<Named> {
  for (const [alias, spot] of each(project.aliases, under(project, "aliases", parent))) {
    const { alias: name, moved_from: movedFrom } = alias;
    const at = under(alias, "alias", spot);
    yield { what: "alias", name, movedFrom, at, spot: under(alias, "moved_from", spot) };
  }
}

function* proxies(project: FilledProject, parent: Spot): Generator<Named> {
  for (const [proxy, spot] of each(project.proxy_endpoints, under(project, "proxy_endpoints", parent))) {
    const { slug, moved_from: movedFrom } = proxy;
    const at = under(proxy, "slug", spot);
    yield { what: "proxy endpoint", name: slug, movedFrom, at, spot: under(proxy, "moved_from", spot) };
  }
}
