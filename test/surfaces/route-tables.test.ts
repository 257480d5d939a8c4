/** The route tables: what derives from them, and that a surface needs nothing but a table. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { TOKEN_SCOPES } from "../../src/base/scopes.ts";
import { httpServer } from "../../src/http/server.ts";
import { reject } from "../../src/plugin/index.ts";
import { publicPlane } from "../../src/surfaces/public-plane.ts";
import type { SurfaceGateway } from "../../src/surfaces/request-context.ts";
import type { Route, SurfaceModule } from "../../src/surfaces/route.ts";
import { Router } from "../../src/surfaces/router.ts";
import { SURFACES } from "../../src/surfaces/surfaces.ts";
import { assertRefused, at, Client } from "../spec/kit/client.ts";
import { PROJECT, TOKENS } from "../spec/kit/config.ts";
import { type Harness, startGateway } from "../spec/kit/gateway.ts";

interface Greeting {
  readonly name: string;
}

const greet: Route<Greeting, string> = {
  ...{ method: "POST", path: "/api/{project_uuid}/greetings/{language}", summary: "Greets." },
  ...{ surface: "chat", scope: "chat", projectType: "ai_gateway", body: "json" },
  read: ({ name }) =>
    typeof name === "string" ? { name } : reject("invalid_field", { field: "name", expected: "a string" }),
  target: (_project, _input, { target }) =>
    target.param === "en" ? "Hello" : reject("endpoint_not_found", { slug: target.param }),
  handler(context, greeting, { name }) {
    context.sendJson(200, JSON.stringify({ ok: true, text: `${greeting}, ${name}` }));
    return void context.end(200, undefined);
  },
};

const ofProxies: Route = {
  ...{ method: "GET", path: "/api/{project_uuid}/greetings/{language}/{rest+}", summary: "Refuses." },
  ...{ surface: "chat", scope: "chat", projectType: "proxy", body: "none" },
  handler: () => reject("internal", {}),
};

/** A surface as a folder would export it. */
const greetings: SurfaceModule = {
  routes: [greet, ofProxies],
  errors: { below: "greetings/", body: () => (error) => `{"greeting_error":"${error.code}"}` },
};

/** The public listener of a running gateway, with these surfaces. */
async function serve(t: TestContext, surfaces: readonly SurfaceModule[]): Promise<Client & { g: Harness }> {
  const g = await startGateway(t);
  // The gateway that createGateway returns is what its listeners are given.
  const gateway = g.gateway as unknown as SurfaceGateway;
  const health = { readiness: () => assert.fail(), uuid: () => "00000000-0000-4000-8000-00000000000b" };
  const handle = publicPlane(gateway, health, surfaces);
  const server = httpServer({ host: "127.0.0.1", port: 0, clock: g.clock, handle });
  const client = new Client(`http://127.0.0.1:${await server.listen()}`);
  t.after(async () => {
    client.close();
    server.destroy();
    await server.drain();
  });
  return Object.assign(client, { g });
}

test("a surface that is nothing but a route table answers, with all the common steps", async (t) => {
  const client = await serve(t, [...SURFACES, greetings]);
  const path = `/api/${PROJECT}/greetings/en`;
  const token = TOKENS.web;
  const greeted = await client.send(path, { token, body: { name: "Ada" } });
  assert.equal(greeted.status, 200);
  assert.equal(at(greeted.json, "text"), "Hello, Ada");
  assert.match(String(greeted.headers["x-request-id"]), /^[0-9a-f-]{36}$/);

  const refused = async (status: number, code: string, answer: ReturnType<Client["send"]>): Promise<void> => {
    const { status: got, json, headers } = await answer;
    assert.deepEqual([got, at(json, "greeting_error"), headers["x-error-code"]], [status, code, code]);
  };
  await refused(401, "missing_bearer", client.send(path, { body: {} }));
  await refused(400, "malformed_json", client.send(path, { token, body: "{" }));
  await refused(400, "invalid_field", client.send(path, { token, body: { name: 1 } }));
  await refused(404, "endpoint_not_found", client.send(`${path}-au`, { token, body: { name: "Ada" } }));
  await refused(400, "not_proxy_project", client.send(`${path}/more`, { method: "GET", token }));
  await refused(404, "not_found", client.send(`/api/${PROJECT}/greetings/`, { token, body: {} }));

  const wrong = await client.send(path, { method: "DELETE", token });
  assertRefused(wrong, 405, "Method 'DELETE' is not allowed for this endpoint.");
  assert.equal(wrong.headers["allow"], "POST");
  const other = await client.send(`/api/${PROJECT}/none`, { token, body: { message: "Hello" } });
  assertRefused(other, 404, "Endpoint 'none' not found or inactive.");
});

test("without its line in the list a surface does not exist", async (t) => {
  const client = await serve(t, SURFACES);
  const answer = await client.send(`/api/${PROJECT}/greetings/en`, { token: TOKENS.web, body: {} });
  assertRefused(answer, 404, "Not found.");
});

test("every route of every table asks for a token, and its path names the methods that it has", async (t) => {
  const client = await serve(t, SURFACES);
  const routes = SURFACES.flatMap((surface) => surface.routes);
  assert.ok(routes.length >= 11);
  for (const { method, path } of routes) {
    const sample = path.replace("{project_uuid}", PROJECT).replace(/\{\w+\+?\}/g, "x");
    const sent = method === "ANY" ? "PATCH" : method;
    assertRefused(await client.send(sample, { method: sent }), 401, "Missing Bearer token.");
    if (method === "ANY") continue;
    const other = await client.send(sample, { method: "PATCH" });
    assertRefused(other, 405, "Method 'PATCH' is not allowed for this endpoint.");
    assert.ok(String(other.headers["allow"]).split(", ").includes(method), path);
  }
});

test("the scopes that tokens can have are those that routes ask for", () => {
  const asked = new Set(SURFACES.flatMap(({ routes }) => routes.map(({ scope }) => scope)));
  assert.deepEqual([...asked].toSorted(), TOKEN_SCOPES.toSorted());
});

const paths = (...list: readonly string[]) =>
  list.map((line) => {
    const [method, path] = line.split(" ");
    return { method: method as "GET", path: `/${path}` }; // a method of the table, as written below
  });

test("an exact path takes precedence over parameters, and longer literals over shorter ones", () => {
  const router = new Router(
    paths("GET a", "POST {one}", "GET b/{one}", "GET b/c/{all+}", "GET b/{one}/{all+}", "POST a"),
    "/",
  );
  const found = (path: string): unknown => {
    const match = router.find(path);
    return match && [match.routes.routes[0]?.path, match.param, match.rest, match.routes.allow];
  };
  assert.deepEqual(found("a"), ["/a", "", "", "GET, POST"]);
  assert.deepEqual(found("b"), ["/{one}", "b", "", "POST"]);
  assert.deepEqual(found("b/x"), ["/b/{one}", "x", "", "GET"]);
  assert.deepEqual(found("b/c/x/y"), ["/b/c/{all+}", "x/y", "", "GET"]);
  assert.deepEqual(found("b/x/y/"), ["/b/{one}/{all+}", "x", "/y/", "GET"]);
  for (const none of ["", "b/", "b//x", "c/x", "a/"]) assert.equal(found(none), undefined, none);
});

test("a table with a path twice, or with one that cannot be matched, is refused when it is made", () => {
  const making =
    (...list: readonly string[]) =>
    () =>
      new Router(paths(...list), "/");
  assert.throws(making("GET {a}", "GET {b}"), /two routes/);
  for (const path of ["GET {a}/b", "GET a/{b}c", "GET a//b", "GET a/", "GET {a+}/b"])
    assert.throws(making(path), /not a path/, path);
});
