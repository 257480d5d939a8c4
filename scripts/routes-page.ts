// The page docs/routes.md, written from the route tables that the listeners serve.
import { adminRoutes } from "../src/surfaces/admin/admin.ts";
import type { Route } from "../src/surfaces/route.ts";
import { type OperatorRoute, sharedRoutes } from "../src/surfaces/shared-routes.ts";
import { SURFACES } from "../src/surfaces/surfaces.ts";

/** What a route's body has to be, for clients. */
const BODIES: Readonly<Record<Route["body"], string>> = {
  none: "",
  json: "JSON object",
  bytes: "JSON",
  streamed: "any, streamed",
};

export function routesPage(written: string): string {
  const calls = SURFACES.flatMap(({ routes }) => routes).map(
    ({ method, path, scope, projectType, body, summary }) =>
      `| ${method} | \`${path}\` | \`${scope}\` | ${projectType === "any" ? "any" : `\`${projectType}\``} | ${BODIES[body]} | ${summary} |`,
  );
  return `${written}

# Routes

\`{name}\` is one segment of a path, \`{name+}\` all that follows. A path without a route is answered 404 \`Not found.\`, another
method of a path 405 with \`Allow\`; ANY routes check the method themselves.

## Public listener: calls of projects

A call needs a token of the project with the route's scope (401, 403), and a project of the route's type (400). The body is
read after that.

| Method | Path | Scope | Project type | Body | What it does |
|---|---|---|---|---|---|
${calls.join("\n")}

## Both listeners

GET routes of health answer HEAD as well.

${operatorTable(sharedRoutes)}

## Admin listener

A control-plane token is sent as a bearer token, or as the cookie of a session.

${operatorTable(adminRoutes)}
`;
}

function operatorTable(routes: readonly OperatorRoute[]): string {
  const rows = routes.map(
    ({ method, path, access, summary }) => `| ${method} | \`${path}\` | ${access} | ${summary} |`,
  );
  return `| Method | Path | Access | What it does |\n|---|---|---|---|\n${rows.join("\n")}`;
}
