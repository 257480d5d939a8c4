/** The admin API over real HTTP: each answer is held to the schema that its route's table has for its status. */
import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { apiRoutes } from "../../../src/surfaces/admin/v1/routes.ts";
import type { Answer, Client, Sent } from "../../spec/kit/client.ts";

const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true });
addFormats.default(ajv);

const checks = new Map(
  apiRoutes.flatMap(({ method, path, responses }) =>
    Object.entries(responses).map(([status, { schema }]) => [
      `${method} ${path} ${status}`,
      ajv.compile(schema),
    ]),
  ),
);

/** Sends a request to a route of the table; an answer that its schema does not describe fails the test. */
export async function ask(admin: Client, line: string, sent: Sent = {}): Promise<Answer> {
  const [method = "", path = ""] = line.split(" ");
  const answer = await admin.send(path, { method, ...sent });
  const route = routeOf(method, path.split("?", 1)[0] ?? "");
  const check = checks.get(`${method} ${route} ${answer.status}`);
  if (check === undefined) assert.ok(answer.status >= 400, `no schema for ${answer.status} of ${line}`);
  else assert.ok(check(answer.json), `${line} ${answer.status}: ${ajv.errorsText(check.errors)}`);
  return answer;
}

/** The path of the route that serves a path. */
function routeOf(method: string, path: string): string {
  const exact = apiRoutes.find((route) => route.method === method && route.path === path);
  const matches = ({ path: template }: { readonly path: string }): boolean =>
    new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path);
  return (exact ?? apiRoutes.find((route) => route.method === method && matches(route)))?.path ?? path;
}
