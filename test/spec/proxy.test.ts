/** The proxy surface as its clients meet it: which calls are admitted, where they go, what is sent with them, what is returned. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import {
  type FakeUpstream,
  fakeUpstream,
  hangUpAnswer,
  jsonAnswer,
  stallAnswer,
  statusAnswer,
} from "../../src/testing/fake-upstream.ts";
import { CALLER, head, type ProxyParts, proxied, startProxy, upstreamOf } from "../surfaces/proxy/kit.ts";
import { assertRefused, at, until } from "./kit/client.ts";
import { hashOf, PROJECT, TOKENS } from "./kit/config.ts";
import { type Closer, type Harness, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const asCaller = { token: CALLER };

/** The line of the request log of the latest call, once it is there. */
async function lineOf(g: Harness): Promise<unknown> {
  const calls = (): unknown[] =>
    g.lines.map((line): unknown => JSON.parse(line)).filter((line) => at(line, "msg") === "call");
  await until(() => calls().length > 0, "a line of the request log");
  return calls().at(-1);
}

/** In front of an upstream that answers with what it was asked; `crm` is its path /v2. */
async function start(t: Closer, crm: object = {}, parts: ProxyParts = {}): Promise<Harness> {
  const url = await upstreamOf(t, (req, res) => {
    const body: Buffer[] = [];
    req.on("data", (part: Buffer) => body.push(part));
    req.on("end", () => {
      const { method, url: path, rawHeaders: raw, headers } = req;
      const text = JSON.stringify({ method, path, raw, headers, body: Buffer.concat(body).toString("utf8") });
      res.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
      res.end(text);
    });
  });
  return startProxy(t, { upstream_url: `${url}/v2`, ...crm }, parts);
}

/** In front of an upstream that is told what to answer. */
async function startScripted(
  t: Closer,
  crm: object = {},
  parts: ProxyParts = {},
): Promise<Harness & { readonly upstream: FakeUpstream }> {
  const upstream = await fakeUpstream();
  t.after(() => upstream.close());
  return { ...(await startProxy(t, { upstream_url: upstream.url, ...crm }, parts)), upstream };
}

verifies(
  ["proxy.through", "proxy.path"],
  "method, rest, query and body reach the upstream as they are",
  async (t) => {
    const { client } = await start(t);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const body = method === "GET" || method === "OPTIONS" ? undefined : "not { json";
      const answer = await client.send(proxied("/a%20b/?x=1&x=%2F"), {
        ...asCaller,
        method,
        body,
        headers: { "content-type": "text/plain", "x-own": "yes" },
      });
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(
        [at(answer.json, "method"), at(answer.json, "path"), at(answer.json, "body")],
        [method, "/v2/a%20b/?x=1&x=%2F", body ?? ""],
      );
      assert.equal(at(answer.json, "headers", "x-own"), "yes");
      assert.match(String(answer.headers["x-request-id"]), /^[0-9a-f-]{36}$/);
    }
    const bare = await client.send(proxied(), { ...asCaller, method: "GET" });
    assert.equal(at(bare.json, "path"), "/v2");
  },
);

verifies("proxy.cookies", "an upstream sets its own cookies and never the console's", async (t) => {
  const theirs = [
    ...[
      "sluice_session=x; Path=/",
      " sluice_session =x",
      "=sluice_session=x",
      "sluice_session",
      "sluice_session;",
    ],
  ];
  const kept = ["a=sluice_session=1", "sluice_sessions=2", "b=2; sluice_session=x"];
  const url = await upstreamOf(t, (_req, res) => {
    res.writeHead(200, { "Set-Cookie": [...theirs, ...kept] }).end();
  });
  const { client } = await startProxy(t, { upstream_url: url });
  const answer = await client.send(proxied(), { ...asCaller, method: "GET" });
  assert.deepEqual(answer.headers["set-cookie"], kept);
});

verifies("proxy.through", "status, headers and body of the upstream pass unchanged", async (t) => {
  const url = await upstreamOf(t, (_req, res) => {
    res.writeHead(418, "Short and stout", [
      ...["Set-Cookie", "a=1", "X-Odd", "\u00e9", "Set-Cookie", "b=2", "X-Request-Id", "theirs"],
      ...["Content-Encoding", "gzip", "Content-Length", "4", "Location", "http://elsewhere.example/"],
      ...["Connection", "X-Hop", "X-Hop", "1", "Keep-Alive", "timeout=1", "Proxy-Authenticate", "Basic"],
    ]);
    res.end(Buffer.from([0x1f, 0x8b, 0, 255]));
  });
  const { client } = await startProxy(t, { upstream_url: url });
  const answer = await client.raw(head(`GET ${proxied()} HTTP/1.1`, "Connection: close"));
  const [top = "", body = ""] = answer.split("\r\n\r\n");
  const lines = top.split("\r\n");
  assert.equal(lines[0], "HTTP/1.1 418 Short and stout");
  assert.deepEqual(lines.slice(1, 8), [
    ...["Set-Cookie: a=1", "X-Odd: \u00e9", "Set-Cookie: b=2", "X-Upstream-Request-Id: theirs"],
    ...["Content-Encoding: gzip", "Content-Length: 4", "Location: http://elsewhere.example/"],
  ]);
  assert.doesNotMatch(top, /x-hop|timeout=1|proxy-authenticate|should-retry/i);
  assert.equal(body, "\x1f\x8b\x00\xff");
});

verifies("proxy.redirect", "a redirect is passed back and not followed", async (t) => {
  const g = await startScripted(t);
  g.upstream.answer(statusAnswer(302, "", { location: "http://169.254.169.254/" }));
  const answer = await g.client.send(proxied(), { ...asCaller, method: "GET" });
  assert.deepEqual([answer.status, answer.headers["location"]], [302, "http://169.254.169.254/"]);
  assert.equal(g.upstream.requests.length, 1);
});

verifies(
  ["proxy.method", "error.status.405"],
  "methods that are not allowed get 405, with those that are",
  async (t) => {
    const { client } = await start(t, { allowed_methods: ["GET", "POST"] });
    const answer = await client.send(proxied("/x"), { ...asCaller, method: "DELETE" });
    assertRefused(answer, 405, "Method 'DELETE' is not allowed for this endpoint.");
    assert.equal(answer.headers["allow"], "GET, POST");
    const head = await client.send(proxied("/x"), { ...asCaller, method: "HEAD" });
    assert.equal(head.status, 405);
    const odd = await client.send(proxied("/x"), { ...asCaller, method: "PROPFIND" });
    assertRefused(odd, 405, "Method 'PROPFIND' is not allowed for this endpoint.");
  },
);

verifies("proxy.slug", "an unknown or inactive slug is a 404", async (t) => {
  const { client } = await start(
    t,
    {},
    {
      endpoints: [{ slug: "off", upstream_url: "https://off.example/", is_active: false }],
    },
  );
  for (const slug of ["none", "off"]) {
    const answer = await client.send(proxied("", slug), { ...asCaller, method: "GET" });
    assertRefused(answer, 404, `Endpoint '${slug}' not found or inactive.`);
  }
  assertRefused(await client.send(proxied("", ""), { ...asCaller, method: "GET" }), 404, "Not found.");
});

verifies("proxy.admission", "token, scope and project type come first, as on every surface", async (t) => {
  const { client } = await start(t);
  assertRefused(await client.send(proxied(), { method: "GET" }), 401, "Missing Bearer token.");
  assertRefused(
    await client.send(proxied(), { method: "GET", token: TOKENS.web }),
    403,
    "Missing required scope: 'proxy'. Token has: chat.",
  );
  const other = await startGateway(t, {
    tokens: [{ name: "caller", hash: hashOf(CALLER), scopes: ["proxy"] }],
  });
  assertRefused(
    await other.client.send(proxied(), { ...asCaller, method: "GET" }),
    400,
    "This project is not a Proxy. Use /api/{uuid}/{endpoint_slug} for AI Gateway projects.",
  );
});

verifies("proxy.path", "no path leads out of the upstream's", async (t) => {
  const { client } = await start(t);
  for (const rest of ["/../admin", "/%2e%2e/admin", "/..%2fadmin", "/a/../../../admin", "/..;/admin"]) {
    const answer = await client.raw(head(`GET ${proxied(rest)} HTTP/1.1`, "Connection: close"));
    assert.match(answer, /^HTTP\/1\.1 400 /, rest);
    assert.match(answer, /"error":"Field 'path' must be a path that stays below the endpoint's\."/);
  }
  const inside = await client.raw(head(`GET ${proxied("/a/../b")} HTTP/1.1`, "Connection: close"));
  assert.match(inside, /"path":"\/v2\/b"/);
});

verifies("proxy.headers", "the gateway's token and what is of one connection stay here", async (t) => {
  const { client } = await start(t, { headers: { "X-Api-Key": "ours", Authorization: "Basic dXM=" } });
  const answer = await client.raw(
    `${head(
      `POST ${proxied("/x")} HTTP/1.1`,
      ...["Connection: close, X-Secret-Hop", "X-Secret-Hop: 1", "Keep-Alive: 5", "TE: gzip", "Upgrade: h2c"],
      ...["X-API-KEY: forged", "X_Api_Key: forged", "Proxy-Authorization: Basic forged", "Via: 1.0 theirs"],
      ...["X-Forwarded-For: 10.0.0.1", "X_Forwarded_For: 10.0.0.1", "Forwarded: for=10.0.0.1"],
      ...["Cookie: a=1; sluice_session=secret; b=2", "Content-Length: 2", "X-Twice: 1", "X-Twice: 2"],
    )}hi`,
  );
  const received: unknown = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
  assert.equal(at(received, "body"), "hi");
  const raw = at(received, "raw");
  assert.ok(Array.isArray(raw));
  const text = raw.join("\n");
  assert.doesNotMatch(text, /forged|secret|gw_live|10\.0\.0\.1|h2c|gzip|gateway\.example/i);
  assert.equal(at(received, "headers", "authorization"), "Basic dXM=");
  assert.equal(at(received, "headers", "x-api-key"), "ours");
  assert.equal(at(received, "headers", "cookie"), "a=1; b=2");
  assert.equal(at(received, "headers", "via"), "1.0 theirs, 1.1 sluice");
  assert.match(String(at(received, "headers", "host")), /^127\.0\.0\.1:\d+$/);
  assert.match(text, /X-Twice\n1\nX-Twice\n2/);
});

verifies("proxy.upgrade", "WebSocket upgrades are refused, in words", async (t) => {
  const { client } = await start(t);
  const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
  const asked = head(`GET ${proxied("/ws")} HTTP/1.1`, "Connection: Upgrade", "Upgrade: websocket", key);
  const answer = await client.raw(asked, (received) => received.includes("}"));
  assert.match(answer, /^HTTP\/1\.1 501 /);
  assert.match(answer, /"error":"WebSocket is not supported by the proxy\."/);
});

verifies(
  ["proxy.ssrf", "error.status.422.ssrf"],
  "upstreams that the guard refuses get 422, and no connection",
  async (t) => {
    let connections = 0;
    const listener = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((listening) => listener.listen(0, "127.0.0.1", listening));
    t.after(() => void listener.close());
    const address = listener.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const hosts = [
      ...["127.0.0.1", "localhost", "2130706433", "0177.0.0.1", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"],
      ...["[64:ff9b::7f00:1]", "0.0.0.0", "10.0.0.1", "169.254.169.254", "100.64.0.1", "192.168.1.1"],
    ];
    const endpoints = hosts.map((host, n) => ({ slug: `h${n}`, upstream_url: `http://${host}:${port}/` }));
    const { client } = await start(t, {}, { endpoints, allow: [] });
    for (const [n, host] of hosts.entries()) {
      const answer = await client.send(proxied("", `h${n}`), { ...asCaller, method: "GET" });
      assertRefused(answer, 422, "Upstream URL blocked by SSRF guard.");
      assert.match(String(at(answer.json, "detail")), /^it leads to an? [a-z- ]+ address$/i, host);
      assert.equal(answer.headers["x-should-retry"], "false");
    }
    assert.equal(connections, 0);
  },
);

verifies(
  "proxy.unreachable",
  "a connection that fails, or an answer that does not come, is a 502",
  async (t) => {
    const g = await startScripted(
      t,
      { timeout_ms: 700 },
      {
        endpoints: [{ slug: "gone", upstream_url: "http://127.0.0.1:1/" }],
      },
    );
    const gone = await g.client.send(proxied("", "gone"), { ...asCaller, body: "x" });
    assertRefused(gone, 502, "Upstream unreachable.");
    assert.equal(at(gone.json, "detail"), "ECONNREFUSED");
    assert.equal(gone.headers["x-should-retry"], "true");
    g.upstream.answer(hangUpAnswer());
    assertRefused(await g.client.send(proxied(), { ...asCaller, body: "x" }), 502, "Upstream unreachable.");
    g.upstream.answer(stallAnswer());
    const late = g.client.send(proxied(), { ...asCaller, body: "x" });
    await g.upstream.received(2);
    g.clock.advance(699);
    g.clock.advance(1);
    assertRefused(await late, 502, "Upstream unreachable.");
    await until(() => g.upstream.connections() === 0, "the upstream's connection is closed");
  },
);

verifies("proxy.limits", "rate limits hold, and say when to come again", async (t) => {
  const { client } = await start(t, { rate_limit_per_minute: 2 });
  const call = () => client.send(proxied(), { ...asCaller, method: "GET" });
  assert.deepEqual([(await call()).status, (await call()).status], [200, 200]);
  const third = await call();
  assertRefused(third, 429, "Rate limit exceeded.");
  assert.deepEqual([at(third.json, "scope"), third.headers["retry-after"]], ["minute", "60"]);
});

verifies(
  ["proxy.cap", "budget.token.every-surface"],
  "a token whose month is used up is refused here too",
  async (t) => {
    const { client, gateway } = await start(t, {}, { token: { id: 9, monthly_budget_usd_cap: 1 } });
    const call = () => client.send(proxied(), { ...asCaller, method: "GET" });
    assert.equal((await call()).status, 200);
    const key = `spend:token:${PROJECT}/9`;
    const claim = {
      ...{ key, capNanoUsd: undefined, estimateNanoUsd: 1e9, inputNanoUsd: 0 },
      kind: "spend",
      costNanoUsd: () => 0,
      refuse: () => assert.fail("there is no cap"),
    } as const;
    const admission = await gateway.store.admit("00000000-0000-4000-8000-000000000001", [claim]);
    assert.ok(admission.admitted && admission.reservation !== undefined);
    await gateway.store.settle(admission.reservation, 1e9);
    assertRefused(
      await call(),
      402,
      "Token monthly budget would be exceeded: ~$1.0000 spent + ~$0.0000 estimated for this request, cap $1. Resets at the start of next month.",
    );
    assert.deepEqual(gateway.openCalls, 0);
  },
);

verifies("proxy.log", "calls are logged, whatever became of them", async (t) => {
  const g = await startScripted(t);
  g.upstream.answer(statusAnswer(404, "gone"), jsonAnswer({}));
  const answer = await g.client.send(proxied("/x?secret=1"), { ...asCaller, method: "GET" });
  assert.deepEqual([answer.status, answer.text], [404, "gone"]);
  const line = await lineOf(g);
  assert.deepEqual(
    [
      at(line, "surface"),
      at(line, "endpoint"),
      at(line, "status"),
      at(line, "outcome"),
      at(line, "cost_usd"),
    ],
    ["proxy", "crm", 404, "done", 0],
  );
  assert.doesNotMatch(g.lines.join("\n"), /secret=1|caller0Proxy9/);
});
