/** What the client on undici adds: forward proxies, client certificates and HTTP/2, against real servers. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createSecureServer, type ServerHttp2Session } from "node:http2";
import https from "node:https";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { systemClock } from "../../src/base/clock.ts";
import { environmentProxies, fixedProxy } from "../../src/net/forward-proxy.ts";
import { guardedHttp } from "../../src/net/guarded.ts";
import type { HttpClient } from "../../src/net/http-client.ts";
import { createRequestClient, loadClient, type RequestClientOptions } from "../../src/net/request.ts";
import { fakeUpstream, jsonAnswer } from "../../src/testing/fake-upstream.ts";
import { verifies } from "../spec/verifies.ts";
import { forwardProxy, listen, type Way } from "./forward-proxy.ts";
import { ask } from "./http1/asking.ts";

const fixture = (name: string): string =>
  readFileSync(new URL(`http1/fixtures/${name}`, import.meta.url), "utf8");
const cert = fixture("localhost-cert.pem");
const key = fixture("localhost-key.pem");

function clientOf(t: TestContext, options: Partial<RequestClientOptions>): HttpClient {
  const client = createRequestClient({
    clock: systemClock(),
    proxyFor: () => undefined,
    certificates: { ca: cert },
    ...options,
  });
  t.after(() => client.close());
  return client;
}

/** Answers over TLS with the body that it was sent. */
async function secureEcho(t: TestContext, options: https.ServerOptions = {}): Promise<string> {
  const server = https.createServer({ cert, key, ...options }, (request, response) => {
    request.pipe(response);
  });
  return `https://localhost:${await listen(t, server)}/`;
}

verifies(
  "provider.proxy",
  "calls go through the forward proxy with its password, over TLS to the target",
  async (t) => {
    const url = await secureEcho(t);
    const proxy = await forwardProxy(t);
    const proxyFor = fixedProxy(proxy.url.replace("//", "//ann:se%40cret@"));
    const client = clientOf(t, { proxyFor });
    const body = JSON.stringify({ long: "x".repeat(300_000) });
    assert.equal((await ask(client, url, { body }).over).body, body);
    assert.equal((await ask(client, url).over).body, "{}");
    // One tunnel, kept.
    assert.deepEqual(proxy.asked, [
      { to: new URL(url).host, credentials: `Basic ${Buffer.from("ann:se@cret").toString("base64")}` },
    ]);
    const plain = await fakeUpstream();
    t.after(() => plain.close());
    plain.answer(jsonAnswer({ plain: true }));
    assert.equal((await ask(client, plain.url).over).body, '{"plain":true}');
    assert.equal(proxy.asked.length, 2);
  },
);

verifies(
  "provider.proxy",
  "a proxy that refuses, drops or talks nonsense fails the call and nothing is sent",
  async (t) => {
    let connections = 0;
    const server = https.createServer({ cert, key }).on("connection", () => void connections++);
    const url = `https://localhost:${await listen(t, server)}/`;
    const ways: readonly (readonly [Way, RegExp])[] = [
      ["refuse", /the forward proxy answered 407/],
      ["drop", /the forward proxy closed the connection|socket hang up|ECONNRESET/],
      ["garbage", /malformed HTTP/],
    ];
    for (const [way, why] of ways) {
      const { url: proxy } = await forwardProxy(t, way);
      const { error } = await ask(clientOf(t, { proxyFor: fixedProxy(proxy) }), url).over;
      assert.equal(error?.kind, "unreachable", way);
      assert.match(String(error?.cause), why);
    }
    assert.equal(connections, 0);
    const dead = clientOf(t, { proxyFor: fixedProxy("http://127.0.0.1:1") });
    assert.equal((await ask(dead, url).over).error?.kind, "unreachable");
  },
);

test("a proxy that drops a tunnel in use fails the call", async (t) => {
  const url = await secureEcho(t);
  const { url: proxy } = await forwardProxy(t, "hang up later");
  const { error } = await ask(clientOf(t, { proxyFor: fixedProxy(proxy) }), url).over;
  assert.match(String(error?.kind), /^(?:unreachable|reset)$/);
});

verifies("provider.proxy.environment", "HTTPS_PROXY, HTTP_PROXY and NO_PROXY decide by URL", () => {
  const proxyFor = environmentProxies({
    HTTPS_PROXY: "http://secure.proxy:1",
    http_proxy: "plain.proxy:2",
    NO_PROXY: "internal.example, .corp,10.0.0.0/8 db.example:5432,192.0.2.7,*.wild",
  });
  const via = (url: string): string | undefined => proxyFor(new URL(url))?.host;
  assert.equal(via("https://api.openai.com/v1"), "secure.proxy:1");
  assert.equal(via("http://api.openai.com/v1"), "plain.proxy:2");
  const direct = [
    ...["https://internal.example", "https://a.internal.example:8443", "https://x.corp", "https://corp"],
    ...["https://10.1.2.3", "https://db.example:5432", "https://192.0.2.7", "https://a.wild"],
    ...["https://localhost", "https://127.0.0.1:8080", "https://[::1]"],
  ];
  for (const url of direct) assert.equal(via(url), undefined, url);
  for (const url of [
    "https://notinternal.example",
    "https://db.example",
    "https://11.0.0.1",
    "https://xcorp",
  ])
    assert.equal(via(url), "secure.proxy:1", url);
  assert.equal(
    environmentProxies({ HTTPS_PROXY: "p:1", NO_PROXY: "*" })(new URL("https://a.example")),
    undefined,
  );
  assert.equal(environmentProxies({})(new URL("https://a.example")), undefined);
  assert.throws(() => environmentProxies({ HTTPS_PROXY: "http://:99999" }), /HTTPS_PROXY must be/);
  assert.throws(() => environmentProxies({ HTTPS_PROXY: "socks5://a:1" }), /HTTPS_PROXY must be/);
});

verifies(
  "provider.proxy.guard",
  "the SSRF guard checks a name before a proxy is asked, and the proxy gets the checked address",
  async (t) => {
    const upstream = await fakeUpstream();
    t.after(() => upstream.close());
    upstream.answer(jsonAnswer({}));
    const { port } = new URL(upstream.url);
    const proxy = await forwardProxy(t);
    const address = { now: "10.0.0.1" };
    const open = (allow: readonly string[]) => {
      const out = guardedHttp({
        clock: systemClock(),
        allow,
        resolve: (_name, answer) => answer(null, [{ address: address.now, family: 4 }]),
        proxyFor: fixedProxy(proxy.url),
      });
      t.after(() => out.close());
      return out;
    };
    const url = `http://crm.example:${port}/`;
    const blocked = await open([]).fetch(url);
    assert.ok("failed" in blocked && blocked.failed === "blocked", JSON.stringify(blocked));
    assert.equal(proxy.asked.length, 0);
    address.now = "93.184.215.14";
    assert.ok("status" in (await open([]).fetch(url)));
    // A name that is allowed, whatever its address, is resolved by the proxy.
    assert.ok("status" in (await open(["crm.example"]).fetch(url)));
    assert.deepEqual(
      proxy.asked.map(({ to }) => to),
      [`93.184.215.14:${port}`, `crm.example:${port}`],
    );
    assert.equal(upstream.requests[0]?.headers.host, `crm.example:${port}`);
  },
);

interface Authority {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** An authority and a client certificate that it has signed. */
function authority(t: TestContext): Authority {
  const folder = mkdtempSync(join(tmpdir(), "sluice-certificates-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string): string => join(folder, name);
  const openssl = (...words: readonly string[]): void =>
    void execFileSync("openssl", [...words], { stdio: "pipe" });
  const elliptic = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"] as const;
  openssl(
    "req",
    "-x509",
    ...elliptic,
    "-keyout",
    at("ca.key"),
    "-out",
    at("ca.pem"),
    "-subj",
    "/CN=test-ca",
    "-days",
    "2",
  );
  openssl("req", ...elliptic, "-keyout", at("client.key"), "-out", at("client.csr"), "-subj", "/CN=sluice");
  openssl(
    ...["x509", "-req", "-in", at("client.csr"), "-CA", at("ca.pem"), "-CAkey", at("ca.key")],
    ...["-CAcreateserial", "-out", at("client.pem"), "-days", "2"],
  );
  const read = (name: string): string => readFileSync(at(name), "utf8");
  return { ca: read("ca.pem"), cert: read("client.pem"), key: read("client.key") };
}

verifies(
  "provider.certificates",
  "a client certificate is shown to a server that requires one",
  async (t) => {
    const { ca, ...own } = authority(t);
    const names: unknown[] = [];
    const server = https.createServer(
      { cert, key, ca, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        // A request of an https server has a TLS socket.
        names.push((request.socket as TLSSocket).getPeerCertificate().subject.CN);
        response.end("welcome");
      },
    );
    const url = `https://localhost:${await listen(t, server)}/`;
    const known = clientOf(t, { certificates: { ca: cert, ...own } });
    assert.equal((await ask(known, url).over).body, "welcome");
    assert.deepEqual(names, ["sluice"]);
    assert.notEqual((await ask(clientOf(t, {}), url).over).error, undefined);
    const untrusting = clientOf(t, { certificates: own });
    assert.equal((await ask(untrusting, url).over).error?.kind, "unreachable");
    assert.equal(names.length, 1);
    assert.throws(() =>
      createRequestClient({
        clock: systemClock(),
        proxyFor: () => undefined,
        certificates: { cert: "x", key: "y" },
      }),
    );
  },
);

interface Http2Server {
  readonly url: string;
  readonly sessions: ServerHttp2Session[];
  readonly versions: string[];
}

/** Answers with the body that it was sent, over HTTP/2 where the client offers it. */
async function http2Server(t: TestContext): Promise<Http2Server> {
  const sessions: ServerHttp2Session[] = [];
  const versions: string[] = [];
  const server = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion);
    const status = Number(request.headers["x-status"] ?? 200);
    if (request.url === "/reset") return void request.stream.close(2);
    if (request.url === "/never") return;
    response.writeHead(status, { "x-kind": "h2" });
    request.pipe(response);
  });
  server.on("session", (session) => sessions.push(session));
  return { url: `https://localhost:${await listen(t, server)}/`, sessions, versions };
}

verifies("provider.http2", "calls share an HTTP/2 connection where the server offers it", async (t) => {
  const server = await http2Server(t);
  const client = clientOf(t, { http2: true });
  const long = "x".repeat(400_000);
  const first = await ask(client, server.url, { body: long }).over;
  assert.deepEqual([first.status, first.headers["x-kind"], first.error], [200, "h2", undefined]);
  assert.equal(first.body, long);
  const many = await Promise.all(
    Array.from({ length: 20 }, (_, n) => ask(client, server.url, { body: `${n}` }).over),
  );
  assert.deepEqual(
    many.map(({ body }) => body),
    Array.from({ length: 20 }, (_, n) => `${n}`),
  );
  assert.equal(server.sessions.length, 1);
  assert.deepEqual(new Set(server.versions), new Set(["2.0"]));
  const [counts] = client.connections();
  assert.equal(counts?.inUse, 0);
});

verifies("provider.http2", "a stream that is reset or cancelled costs its call and no other", async (t) => {
  const server = await http2Server(t);
  const client = clientOf(t, { http2: true });
  assert.equal((await ask(client, server.url).over).status, 200);
  const never = ask(client, `${server.url}never`);
  const { error } = await ask(client, `${server.url}reset`).over;
  assert.equal(error?.kind, "reset");
  const other = ask(client, `${server.url}never`);
  never.call.cancel();
  assert.equal((await ask(client, server.url, { headers: { "x-status": "429" } }).over).status, 429);
  assert.deepEqual([other.heard.error, server.sessions.length], [undefined, 1]);
  other.call.cancel();
});

verifies(
  "provider.http2",
  "a server that closes its connection fails open calls, and the next call opens another",
  async (t) => {
    const server = await http2Server(t);
    const client = clientOf(t, { http2: true });
    assert.equal((await ask(client, server.url).over).status, 200);
    const open = [ask(client, `${server.url}never`), ask(client, `${server.url}never`)];
    while (server.versions.length < 3) await new Promise(setImmediate);
    server.sessions[0]?.destroy();
    for (const { over } of open) assert.equal((await over).error?.kind, "reset");
    assert.equal((await ask(client, server.url).over).status, 200);
    assert.equal(server.sessions.length, 2);
  },
);

test("a server without HTTP/2 is spoken to over HTTP/1.1", async (t) => {
  const client = clientOf(t, { http2: true });
  assert.equal((await ask(client, await secureEcho(t)).over).body, "{}");
});

test("undici's Client is loaded alone, and with all of undici where a version has moved it", () => {
  const load = createRequire(import.meta.url);
  const { Client } = load("undici");
  const loaded: string[] = [];
  const alone = loadClient((id) => {
    loaded.push(id);
    return load(id);
  });
  assert.equal(alone, Client);
  // Not a fault, but three times the load time: see whether the module has a new place.
  assert.deepEqual(loaded, ["undici/lib/dispatcher/client.js"]);
  const moved = (id: string): unknown => (id === "undici" ? load(id) : assert.fail("no such module"));
  assert.equal(loadClient(moved), Client);
  assert.equal(
    loadClient((id) => (id === "undici" ? load(id) : { Client })),
    Client,
  );
});
