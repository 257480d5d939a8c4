/** The proxy surface behind a forward proxy: http and https upstreams through real tunnels, guard and limits as without. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../../src/base/clock.ts";
import { fixedProxy } from "../../../src/net/forward-proxy.ts";
import {
  type ProxyClient,
  type ProxyClientOptions,
  proxyClient,
  proxyFailure,
} from "../../../src/net/proxy-client.ts";
import { forwardProxy, listen } from "../../net/forward-proxy.ts";
import { exchange, patterned, proxied, startProxy, upstreamOf } from "./kit.ts";

const fixture = (name: string): string =>
  readFileSync(new URL(`../../net/http1/fixtures/${name}`, import.meta.url), "utf8");
const cert = fixture("localhost-cert.pem");
const key = fixture("localhost-key.pem");

/** Sets the environment's forward proxy while the test runs; a gateway reads it at its start. */
function throughEnvironment(t: TestContext, proxy: string): void {
  for (const name of ["http_proxy", "https_proxy", "no_proxy"]) {
    const before = process.env[name];
    process.env[name] = name === "no_proxy" ? "" : proxy;
    t.after(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}

function clientOf(t: TestContext, options: Omit<ProxyClientOptions, "clock" | "allow">): ProxyClient {
  const client = proxyClient({ clock: systemClock(), allow: ["127.0.0.1", "localhost"], ...options });
  t.after(() => client.close());
  return client;
}

async function ask(client: ProxyClient, url: string, body: Buffer): Promise<Buffer> {
  const origin = client.check(url);
  assert.ok(origin instanceof URL, String(origin));
  const headers = ["Host", origin.host, "Content-Length", String(body.length)];
  const out = client.open(origin, { method: "POST", path: "/", headers });
  out.end(body);
  // A request's event is what its type says.
  const [answer] = (await once(out, "response")) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part);
  return Buffer.concat(parts);
}

test("calls of a proxy endpoint go through the environment's forward proxy, bodies and trailers included", async (t) => {
  const long = patterned(1_000_000).toString("latin1");
  const seen: IncomingMessage["trailers"][] = [];
  const upstream = await upstreamOf(t, (req, res) => {
    res.writeHead(201, { "x-upstream": "crm", trailer: "x-sum" });
    req.pipe(res, { end: false });
    req.on("end", () => {
      seen.push(req.trailers);
      res.addTrailers({ "x-sum": "7" });
      res.end();
    });
  });
  const { port } = new URL(upstream);
  const proxy = await forwardProxy(t);
  throughEnvironment(t, proxy.url.replace("http://", "http://ada:secret@"));
  const g = await startProxy(t, { upstream_url: `http://crm.internal:${port}` }, { allow: ["crm.internal"] });
  for (let call = 0; call < 2; call++) {
    const answer = await exchange(g.client.origin + proxied("/v1"), {
      method: "POST",
      body: [long],
      trailers: { "x-part": "1" },
    });
    assert.deepEqual(answer.trailers, { "x-sum": "7" });
    assert.deepEqual([answer.status, answer.headers["x-upstream"], answer.text === long], [201, "crm", true]);
  }
  assert.deepEqual(seen, [{ "x-part": "1" }, { "x-part": "1" }]);
  // One tunnel, which is kept; its name is resolved by the proxy, as the operator allows that name.
  const credentials = `Basic ${Buffer.from("ada:secret").toString("base64")}`;
  assert.deepEqual(proxy.asked, [{ to: `crm.internal:${port}`, credentials }]);
});

test("an upstream that the guard refuses is not asked through the forward proxy either", async (t) => {
  const proxy = await forwardProxy(t);
  throughEnvironment(t, proxy.url);
  const g = await startProxy(t, { upstream_url: "http://10.1.2.3" }, { allow: [] });
  const answer = await exchange(g.client.origin + proxied("/v1"));
  assert.equal(answer.status, 422);
  assert.deepEqual(proxy.asked, []);
});

test("a forward proxy that refuses the tunnel is a failure of the upstream's connection", async (t) => {
  const proxy = await forwardProxy(t, "refuse");
  throughEnvironment(t, proxy.url);
  const g = await startProxy(t, { upstream_url: "http://crm.internal" }, { allow: ["crm.internal"] });
  const answer = await exchange(g.client.origin + proxied("/v1"));
  assert.equal(answer.status, 502);
  assert.ok(proxy.asked.length > 0);
});

test("an https upstream is asked through the tunnel, over TLS by its own name, on a connection that is kept", async (t) => {
  const names: unknown[] = [];
  const server = createSecureServer({ cert, key }, (req, res) => void req.pipe(res));
  server.on("secureConnection", (socket) => names.push(socket.servername));
  const port = await listen(t, server);
  const proxy = await forwardProxy(t);
  const client = clientOf(t, { ca: cert, proxyFor: fixedProxy(proxy.url) });
  const long = patterned(2_000_000);
  assert.equal((await ask(client, `https://localhost:${port}`, Buffer.from("first"))).toString(), "first");
  assert.ok((await ask(client, `https://localhost:${port}`, long)).equals(long));
  assert.deepEqual(names, ["localhost"]);
  assert.deepEqual(
    proxy.asked.map(({ to }) => to),
    [`localhost:${port}`],
  );
});

test("an untrusted certificate is refused behind a forward proxy too", async (t) => {
  const server = createSecureServer({ cert, key }, (_req, res) => void res.end("never"));
  const port = await listen(t, server);
  const proxy = await forwardProxy(t);
  const client = clientOf(t, { proxyFor: fixedProxy(proxy.url) });
  const failure = await ask(client, `https://localhost:${port}`, Buffer.alloc(0)).then(
    () => assert.fail("it was answered"),
    (error: unknown) => proxyFailure(error),
  );
  assert.deepEqual(failure, { unreachable: "DEPTH_ZERO_SELF_SIGNED_CERT" });
});
