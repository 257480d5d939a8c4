/** An answer that leaves in one write is, byte for byte, the answer that Node would have written. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, test } from "node:test";
import { KEEP_ALIVE_MS, prepareAnswer, writePrepared } from "../../src/http/one-write.ts";

const written: boolean[] = [];
let server: Server;

/** Answers `/one/…` in one write where that is possible, and `/node/…` as Node does. */
function answer(res: ServerResponse, path: string, fields: readonly string[], body: string): void {
  const length = Buffer.byteLength(body);
  const all = ["Content-Type", "application/json", "Content-Length", String(length), ...fields];
  const prepared = path.startsWith("/one") ? prepareAnswer(res, 200, all, { body, length }) : undefined;
  if (path.startsWith("/one")) written.push(prepared !== undefined);
  if (prepared !== undefined) return writePrepared(res, prepared);
  res.writeHead(200, all);
  res.end(body);
}

const bodies: Readonly<Record<string, string>> = {
  ascii: '{"ok":true}',
  unicode: '{"text":"Grüße, 世界 🌍"}',
  long: JSON.stringify({ text: "x".repeat(100_000) }),
};

before(async () => {
  server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
    const [, , kind = "", field] = (req.url ?? "").split("/");
    const fields = [
      "X-Request-Id",
      "1",
      ...(field === undefined ? [] : ["X-Name", decodeURIComponent(field)]),
    ];
    req.resume();
    try {
      answer(
        res,
        req.url ?? "",
        kind === "close" ? [...fields, "Connection", "close"] : fields,
        bodies[kind] ?? "{}",
      );
    } catch (error) {
      res.writeHead(500, ["Content-Length", "0", "X-Error", error instanceof Error ? error.name : ""]).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

after(() => {
  server.closeAllConnections();
  server.close();
});

/** What one connection receives for these bytes before it is closed, the time of day aside. */
async function received(request: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  // The server keeps connections; a second request that asks for the end ends this one.
  socket.write(request, "latin1");
  await once(socket, "close");
  return Buffer.concat(chunks)
    .toString("utf8")
    .replaceAll(/^Date: .*$/gm, "Date: now");
}

const last = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
const kept = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

for (const kind of Object.keys(bodies)) {
  test(`an answer with a body that is ${kind} has the bytes of Node's`, async () => {
    written.length = 0;
    const one = await received(kept(`/one/${kind}`) + last(`/one/${kind}`));
    const node = await received(kept(`/node/${kind}`) + last(`/node/${kind}`));
    assert.equal(one, node);
    // The second asks for the connection's end, which Node writes.
    assert.deepEqual(written, [true, false]);
    assert.match(one, /^Keep-Alive: timeout=72\r$/m);
  });
}

test("requests that are sent ahead are answered in their order", async () => {
  const request = (surface: string): string =>
    [
      kept(`/${surface}/ascii`),
      kept(`/${surface}/long`),
      kept(`/${surface}/unicode`),
      last(`/${surface}/x`),
    ].join("");
  assert.equal(await received(request("one")), await received(request("node")));
});

test("Node writes the answer to HEAD, to HTTP/1.0, and one that closes its connection", async () => {
  for (const request of [
    (surface: string) => last(`/${surface}/ascii`).replace("GET", "HEAD"),
    (surface: string) => `GET /${surface}/ascii HTTP/1.0\r\nHost: a\r\n\r\n`,
    (surface: string) => kept(`/${surface}/close`),
  ]) {
    written.length = 0;
    assert.equal(await received(request("one")), await received(request("node")));
    assert.deepEqual(written, [false]);
  }
});

test("a field that would break the head is refused as Node refuses it", async () => {
  const field = encodeURIComponent("a\r\nX-Injected: 1");
  const one = await received(kept(`/one/ascii/${field}`) + last("/one/ascii"));
  assert.doesNotMatch(one, /X-Injected/);
  assert.match(one, /^HTTP\/1\.1 500 /);
  assert.equal(one, await received(kept(`/node/ascii/${field}`) + last("/node/ascii")));
});

test("a connection serves many answers in one write, one after another", async () => {
  written.length = 0;
  const one = await received(kept("/one/ascii").repeat(200) + last("/one/ascii"));
  assert.equal(one.match(/HTTP\/1\.1 200 OK/g)?.length, 201);
  assert.equal(written.filter(Boolean).length, 200);
});
