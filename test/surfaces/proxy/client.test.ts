/** The proxy's own HTTP client: whose TLS it trusts, and which address it connects to. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { createServer, type Server } from "node:net";
import { type TestContext, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { systemClock } from "../../../src/base/clock.ts";
import { type ProxyClient, proxyClient, proxyFailure } from "../../../src/net/proxy-client.ts";
import type { Resolve } from "../../../src/net/ssrf.ts";
import { patterned } from "./kit.ts";

const fixture = (name: string): string =>
  readFileSync(new URL(`../../net/http1/fixtures/${name}`, import.meta.url), "utf8");
const cert = fixture("localhost-cert.pem");
const key = fixture("localhost-key.pem");

const onLoopback: Resolve = (_name, answer) => answer(null, [{ address: "127.0.0.1", family: 4 }]);

interface ClientParts {
  readonly allow?: readonly string[];
  readonly resolve?: Resolve;
  readonly ca?: string;
}

function clientOf(t: TestContext, parts: ClientParts): ProxyClient {
  const client = proxyClient({ clock: systemClock(), allow: ["127.0.0.1"], resolve: onLoopback, ...parts });
  t.after(() => client.close());
  return client;
}

async function portOf(t: TestContext, server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  t.after(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return address.port;
}

/** Answers over TLS with what it was sent, and keeps the names that it was asked by. */
async function secureEcho(t: TestContext) {
  const names: unknown[] = [];
  const seen = { requests: 0 };
  const server = createSecureServer({ cert, key }, (req, res) => {
    seen.requests++;
    req.pipe(res);
  });
  server.on("secureConnection", (socket: TLSSocket) => names.push(socket.servername));
  return { names, seen, port: await portOf(t, server) };
}

/** One request. Rejects as the request does. */
async function ask(client: ProxyClient, url: string, body: Buffer = Buffer.alloc(0)): Promise<Buffer> {
  const origin = client.check(url);
  assert.ok(origin instanceof URL, String(origin));
  const headers = ["Host", origin.host, "Content-Length", String(body.length)];
  const out = client.open(origin, { method: "POST", path: "/", headers });
  out.end(body);
  // A request's event is what its type says.
  const [answer] = (await once(out, "response")) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) {
    // The slower side of the two, so that pieces wait.
    await new Promise(setImmediate);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

async function failureOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => assert.fail("it was answered"),
    (error: unknown) => proxyFailure(error),
  );
}

test("an upstream over TLS is asked by its name, on a connection that is kept", async (t) => {
  const { names, seen, port } = await secureEcho(t);
  const client = clientOf(t, { ca: cert });
  const long = patterned(3_000_000);
  assert.equal((await ask(client, `https://localhost:${port}`, Buffer.from("first"))).toString(), "first");
  assert.ok((await ask(client, `https://localhost:${port}`, long)).equals(long));
  assert.deepEqual([names, seen.requests], [["localhost"], 2]);
});

test("a server whose certificate is untrusted, or of another name, is sent nothing", async (t) => {
  const { seen, port } = await secureEcho(t);
  assert.deepEqual(await failureOf(ask(clientOf(t, {}), `https://localhost:${port}`)), {
    unreachable: "DEPTH_ZERO_SELF_SIGNED_CERT",
  });
  assert.deepEqual(await failureOf(ask(clientOf(t, { ca: cert }), `https://crm.example:${port}`)), {
    unreachable: "ERR_TLS_CERT_ALTNAME_INVALID",
  });
  assert.equal(seen.requests, 0);
});

test("a name is resolved once a connection, and what was checked is what is connected to", async (t) => {
  let connections = 0;
  const port = await portOf(
    t,
    createServer((socket) => {
      connections++;
      socket.on("error", () => {});
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhere"));
    }),
  );
  let asked = 0;
  // At first a block that is allowed, then another one, as rebinding attacks do.
  const client = clientOf(t, {
    resolve(_name, answer) {
      asked++;
      answer(null, [{ address: asked === 1 ? "127.0.0.1" : "127.0.0.2", family: 4 }]);
    },
  });
  const url = `http://crm.example:${port}`;
  assert.equal((await ask(client, url)).toString(), "here");
  assert.equal(asked, 1);
  assert.deepEqual(await failureOf(ask(client, url)), {
    blocked: "crm.example: 127.0.0.2 is a loopback address",
  });
  assert.deepEqual([asked, connections], [2, 1]);
});

test("one address among several that is not public blocks them all", async (t) => {
  let connections = 0;
  const port = await portOf(
    t,
    createServer((socket) => {
      connections++;
      socket.destroy();
    }),
  );
  const client = clientOf(t, {
    allow: [],
    resolve: (_name, answer) =>
      answer(null, [
        { address: "8.8.8.8", family: 4 },
        { address: "::ffff:127.0.0.1", family: 6 },
      ]),
  });
  for (const scheme of ["http", "https"]) {
    const failure = await failureOf(ask(client, `${scheme}://crm.example:${port}`));
    assert.match(JSON.stringify(failure), /"blocked":".*127\.0\.0\.1.*loopback/);
  }
  assert.equal(connections, 0);
});
