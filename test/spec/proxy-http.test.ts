/** Bodies through the proxy: streamed both ways, framed anew on each side, and never ended where they broke off. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { rawUpstream } from "../net/http1/raw-upstream.ts";
import {
  CALLER,
  exchange,
  head,
  proxied,
  proxyParts,
  startProxy,
  upstreamOf,
} from "../surfaces/proxy/kit.ts";
import { assertRefused, at, until } from "./kit/client.ts";
import type { Closer, Harness } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

type Handle = (req: IncomingMessage, res: ServerResponse) => void;

async function behind(t: Closer, handle: Handle, crm: object = {}): Promise<Harness & { url: string }> {
  const server = { max_body_bytes: 100_000_000 };
  const g = await startProxy(t, { upstream_url: await upstreamOf(t, handle), ...crm }, { server });
  return { ...g, url: `${g.client.origin}${proxied()}` };
}

/** What a client has read of an answer so far, and how the connection ended. */
function reader(answer: IncomingMessage) {
  const seen = { text: "", ended: false, failed: false };
  answer.setEncoding("latin1");
  answer.on("data", (text: string) => (seen.text += text));
  answer.on("end", () => (seen.ended = true));
  answer.on("error", () => (seen.failed = true));
  return seen;
}

function open(url: string, headers: Readonly<Record<string, string>> = {}, method = "POST") {
  return request(url, { method, headers: { authorization: `Bearer ${CALLER}`, ...headers }, agent: false });
}

async function answerOf(out: ReturnType<typeof open>): Promise<IncomingMessage> {
  // A request's event is what its type says.
  return ((await once(out, "response")) as [IncomingMessage])[0];
}

verifies(
  "proxy.stream",
  "both bodies pass piece by piece, while the other one is still under way",
  async (t) => {
    const { url } = await behind(t, (req, res) => {
      res.writeHead(200);
      req.on("data", (part: Buffer) => res.write(`<${part.toString()}>`));
      req.on("end", () => res.end("."));
    });
    const out = open(url);
    out.write("one");
    const seen = reader(await answerOf(out));
    await until(() => seen.text === "<one>", "the first piece comes back");
    out.write("two");
    await until(() => seen.text === "<one><two>", "the second piece comes back");
    out.end();
    await until(() => seen.ended, "the end comes back");
    assert.equal(seen.text, "<one><two>.");
  },
);

verifies("proxy.stream", "a head comes through before any of its body", async (t) => {
  const { url } = await behind(t, (_req, res) => res.writeHead(202).flushHeaders());
  const out = open(url, {}, "GET");
  out.end();
  assert.equal((await answerOf(out)).statusCode, 202);
  out.on("error", () => {});
  out.destroy();
});

verifies("proxy.stream", "a slow reader holds the upstream back, a slow upstream the client", async (t) => {
  const size = 64 * 1024 * 1024;
  const piece = Buffer.alloc(65_536, "x");
  let written = 0;
  let slow: IncomingMessage | undefined;
  const { url } = await behind(t, (req, res) => {
    if (req.method === "POST") {
      slow = req;
      return;
    }
    const more = (): void => {
      while (written < size) {
        written += piece.length;
        if (!res.write(piece)) return void res.once("drain", more);
      }
      res.end();
    };
    more();
  });
  const down = open(url, {}, "GET");
  down.end();
  const answer = await answerOf(down);
  const standsStill = async (count: () => number): Promise<number> => {
    for (let before = -1; before !== count(); ) {
      before = count();
      for (let n = 0; n < 200; n++) await new Promise(setImmediate);
    }
    return count();
  };
  assert.ok((await standsStill(() => written)) < size / 2, `${written} bytes were taken from the upstream`);
  let read = 0;
  answer.on("data", (part: Buffer) => (read += part.length));
  await once(answer, "end");
  assert.equal(read, size);

  const up = open(url, { "content-length": String(size) });
  let sent = 0;
  const push = (): void => {
    while (sent < size) {
      sent += piece.length;
      if (!up.write(piece)) return void up.once("drain", push);
    }
    up.end();
  };
  up.on("error", () => {});
  push();
  await until(() => slow !== undefined, "the upstream has the head");
  assert.ok((await standsStill(() => sent)) < size / 2, `${sent} bytes were taken from the client`);
  let received = 0;
  slow?.on("data", (part: Buffer) => (received += part.length));
  await until(() => received === size, "all is there");
  up.destroy();
});

verifies("proxy.body.limit", "a body over the limit is refused, with a length and in chunks", async (t) => {
  const upstream = await upstreamOf(t, (req, res) => {
    req.resume();
    req.on("error", () => {}).on("end", () => res.end("taken"));
  });
  const g = await startProxy(t, { upstream_url: upstream }, { server: { max_body_bytes: 100_000 } });
  const send = (length: number, chunked: boolean): Promise<Response> => {
    const bytes = Buffer.alloc(length, "x");
    const body = chunked
      ? new ReadableStream({
          start(to) {
            to.enqueue(bytes);
            to.close();
          },
        })
      : bytes;
    const headers = { authorization: `Bearer ${CALLER}` };
    // Node's fetch wants to be told that the answer may come before the body has gone; its types do not know of it.
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    return fetch(`${g.client.origin}${proxied()}`, init);
  };
  for (const chunked of [false, true]) {
    const taken = await send(100_000, chunked);
    assert.deepEqual([taken.status, await taken.text()], [200, "taken"]);
    const refused = await send(100_001, chunked);
    assert.equal(refused.status, 413);
    assert.equal(at(await refused.json(), "error"), "Request body exceeds 100000 bytes.");
  }
});

verifies("proxy.framing", "chunks with trailers pass both ways", async (t) => {
  const { url } = await behind(t, (req, res) => {
    req.resume();
    req.on("end", () => {
      res.writeHead(200, { trailer: "x-sum" });
      res.write(JSON.stringify({ raw: req.rawTrailers, trailer: req.headers.trailer, te: req.headers.te }));
      res.addTrailers({ "x-sum": "42", "set-cookie": "late" });
      res.end();
    });
  });
  const answer = await exchange(url, {
    method: "POST",
    headers: { trailer: "x-check", te: "trailers", "transfer-encoding": "chunked" },
    body: ["a", "b"],
    trailers: { "x-check": "7", authorization: "forged", host: "forged" },
  });
  assert.deepEqual(JSON.parse(answer.text), { raw: ["x-check", "7"], trailer: "x-check", te: "trailers" });
  assert.deepEqual({ ...answer.trailers }, { "x-sum": "42" });
  assert.equal(answer.headers.trailer, "x-sum");
});

verifies("proxy.framing", "answers without a body end with their head", async (t) => {
  const { url, client } = await behind(t, (req, res) => {
    if (req.method === "HEAD") res.writeHead(200, { "content-length": "1234" });
    else if (req.url?.endsWith("/304")) res.writeHead(304, { etag: '"a"', "content-length": "99" });
    else res.writeHead(204);
    res.end();
  });
  const headed = await exchange(url, { method: "HEAD" });
  assert.deepEqual([headed.status, headed.headers["content-length"], headed.text], [200, "1234", ""]);
  const none = await client.raw(head(`GET ${proxied()} HTTP/1.1`, "Connection: close"));
  assert.match(none, /^HTTP\/1\.1 204 /);
  assert.doesNotMatch(none, /transfer-encoding|content-length/i);
  const same = await exchange(`${url}/304`);
  assert.deepEqual([same.status, same.headers.etag, same.headers["content-length"]], [304, '"a"', "99"]);
});

verifies("proxy.framing", "hints of the upstream come before its answer", async (t) => {
  const { url } = await behind(t, (_req, res) => {
    res.writeProcessing();
    res.writeEarlyHints({ link: "</a.css>; rel=preload" });
    res.end("done");
  });
  const answer = await exchange(url);
  assert.deepEqual(answer.hints, [
    { status: 102, link: undefined },
    { status: 103, link: "</a.css>; rel=preload" },
  ]);
  assert.equal(answer.text, "done");
});

verifies(
  "proxy.framing",
  "Expect: 100-continue is answered here, once somebody takes the body",
  async (t) => {
    let expected: unknown = "unasked";
    const { url, client } = await behind(t, (req, res) => {
      expected = req.headers.expect;
      req.resume();
      req.on("end", () => res.end("taken"));
    });
    const out = open(url, { expect: "100-continue", "content-length": "4" });
    const go = once(out, "continue");
    out.flushHeaders();
    await go;
    out.end("body");
    const answer = await answerOf(out);
    assert.equal(answer.statusCode, 200);
    answer.resume();
    assert.equal(expected, undefined);
    const refused = await client.raw(
      head(`POST ${proxied("", "none")} HTTP/1.1`, "Expect: 100-continue", "Content-Length: 900000"),
      (received) => received.includes("}"),
    );
    assert.match(refused, /^HTTP\/1\.1 404 /);
  },
);

verifies("proxy.framing", "a request whose lengths contradict each other is refused", async (t) => {
  let asked = 0;
  const { client } = await behind(t, (_req, res) => {
    asked++;
    res.end();
  });
  const bodies: readonly (readonly string[])[] = [
    ["Content-Length: 3", "Content-Length: 4"],
    ["Content-Length: 3", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: gzip"],
    ["Content-Length: -1"],
    ["Content-Length: 3, 4"],
  ];
  for (const headers of bodies) {
    const answer = await client.raw(`${head(`POST ${proxied()} HTTP/1.1`, ...headers)}abc`);
    assert.match(answer, /^HTTP\/1\.1 (?:400|501) /, headers.join());
  }
  const coded = await client.raw(
    `${head(`POST ${proxied()} HTTP/1.1`, "Transfer-Encoding: gzip, chunked")}0\r\n\r\n`,
    (received) => received.includes("}"),
  );
  assert.match(coded, /^HTTP\/1\.1 501 /);
  assert.equal(asked, 0);
});

verifies("proxy.framing", "an answer that is not HTTP, or contradicts itself, is a 502", async (t) => {
  const upstream = await rawUpstream(t);
  const parts = { allow: ["localhost"] };
  const { client } = await startProxy(t, { upstream_url: upstream.url }, parts);
  const answers = [
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    "SSH-2.0-server\r\n",
    "HTTP/1.1 200 OK\r\nX-Bad: a\rb\r\n\r\n",
    `HTTP/1.1 200 OK\r\nX-Long: ${"x".repeat(80_000)}\r\n\r\n`,
  ];
  for (const bytes of answers) {
    const answer = client.send(proxied(), { token: CALLER, method: "GET" });
    const peer = await upstream.connection();
    await peer.request();
    peer.socket.on("error", () => {});
    peer.socket.end(bytes);
    assertRefused(await answer, 502, "Upstream unreachable.");
  }
});

verifies(
  "proxy.framing",
  "nothing a client sends becomes a header or a request of its own upstream",
  async (t) => {
    const upstream = await rawUpstream(t);
    const { client } = await startProxy(t, { upstream_url: upstream.url }, { allow: ["localhost"] });
    const smuggled = [
      head(`GET ${proxied("/a")} HTTP/1.1`, "X-A: b\nX-Injected: 1"),
      head(`GET ${proxied("/a")} HTTP/1.1`, "X-A: b\rX-Injected: 1"),
      head(`GET ${proxied("/a")} HTTP/1.1`, "X-A : b"),
      head(`GET ${proxied("/a")} HTTP/1.1`, "X-A: b", " X-Folded: 1"),
      head(`GET ${proxied("/a b")} HTTP/1.1`),
      head(`GET ${proxied("/a\0")} HTTP/1.1`),
    ];
    for (const bytes of smuggled)
      assert.match(await client.raw(bytes), /^HTTP\/1\.1 400 /, JSON.stringify(bytes));
    assert.equal(upstream.connectionsMade(), 0);
    const encoded = client.send(proxied("/a%0d%0aX-Injected:%201?q=%0d%0a"), {
      token: CALLER,
      method: "GET",
    });
    const peer = await upstream.connection();
    const received = await peer.request();
    assert.match(received, /^GET \/a%0d%0aX-Injected:%201\?q=%0d%0a HTTP\/1\.1\r\n/);
    assert.doesNotMatch(received, /^X-Injected/m);
    await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert.equal((await encoded).status, 200);
  },
);

verifies("proxy.broken", "an upstream that breaks off midway resets the client's connection", async (t) => {
  const upstream = await rawUpstream(t);
  const { client, gateway } = await startProxy(t, { upstream_url: upstream.url }, { allow: ["localhost"] });
  const cases: readonly [version: string, answer: string, then?: string][] = [
    ["1.1", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"],
    ["1.1", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
    ["1.0", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
    ["1.1", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", "nonsense\r\n"],
  ];
  for (const [version, bytes, then = ""] of cases) {
    const { hostname, port } = new URL(client.origin);
    const socket = connect(Number(port), hostname);
    socket.write(head(`GET ${proxied()} HTTP/${version}`));
    let received = "";
    socket.setEncoding("latin1").on("data", (text: string) => (received += text));
    let error: unknown;
    let closed = false;
    socket.on("error", (thrown) => (error = thrown)).on("close", () => (closed = true));
    const peer = await upstream.connection();
    await peer.request();
    peer.socket.on("error", () => {});
    await peer.send(bytes);
    await until(() => received.includes("half") || socket.destroyed, "the first half is there");
    peer.socket.end(then);
    await until(() => closed, "the connection is gone");
    assert.equal(at(error, "code"), "ECONNRESET", bytes);
    assert.doesNotMatch(received, /0\r\n\r\n$/);
  }
  await until(() => gateway.openCalls === 0, "all calls have ended");
});

verifies("proxy.broken", "time that runs out midway resets the client's connection", async (t) => {
  const { url, clock } = await behind(t, (_req, res) => void res.write("half"), { timeout_ms: 5000 });
  const out = open(url, {}, "GET");
  out.on("error", () => {}).end();
  const seen = reader(await answerOf(out));
  await until(() => seen.text === "half", "the first half is there");
  clock.advance(5000);
  await until(() => seen.failed, "the connection breaks");
  assert.equal(seen.ended, false);
});

verifies("proxy.gone", "a client that disconnects closes the upstream connection", async (t) => {
  const upstream = await rawUpstream(t);
  const { client, gateway } = await startProxy(t, { upstream_url: upstream.url }, { allow: ["localhost"] });
  const leavings = [
    { sent: head(`GET ${proxied()} HTTP/1.1`), answer: "" },
    { sent: head(`GET ${proxied()} HTTP/1.1`), answer: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf" },
    { sent: `${head(`POST ${proxied()} HTTP/1.1`, "Content-Length: 100")}half`, answer: "" },
  ];
  for (const { sent, answer } of leavings) {
    const leave = client.abandon(sent);
    const peer = await upstream.connection();
    peer.socket.on("error", () => {});
    if (sent.startsWith("GET")) await peer.request();
    if (answer !== "") await peer.send(answer);
    leave();
    await peer.closed;
    await until(() => gateway.openCalls === 0, "the call has ended");
  }
});

verifies("proxy.stream", "a call continues on its configuration, whatever is reloaded", async (t) => {
  const upstream = await rawUpstream(t);
  const g = await startProxy(t, { upstream_url: upstream.url }, { allow: ["localhost"] });
  const out = open(`${g.client.origin}${proxied()}`, {}, "GET");
  out.end();
  const peer = await upstream.connection();
  await peer.request();
  await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf");
  const seen = reader(await answerOf(out));
  await until(() => seen.text === "half", "the first half is there");
  g.rewrite(proxyParts({ upstream_url: "https://other.example/", slug: "other" }, { allow: [] }));
  assert.ok((await g.gateway.reload()).changed);
  const gone = await g.client.send(proxied(), { token: CALLER, method: "GET" });
  assertRefused(gone, 404, "Endpoint 'crm' not found or inactive.");
  await peer.send("more");
  await until(() => seen.ended, "the answer ends");
  assert.equal(seen.text, "halfmore");
  await peer.closed;
});

verifies(
  "proxy.broken",
  "an answer before the end of the body is passed on, and the rest is not wanted",
  async (t) => {
    const upstream = await rawUpstream(t);
    const { client, gateway } = await startProxy(t, { upstream_url: upstream.url }, { allow: ["localhost"] });
    const asked = client.dialogue(`${head(`POST ${proxied()} HTTP/1.1`, "Content-Length: 900000")}start`);
    await asked.sent;
    const peer = await upstream.connection();
    peer.socket.on("error", () => {});
    await peer.send("HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno");
    await until(() => gateway.openCalls === 0, "the call has ended");
    await peer.closed;
    asked.write("more");
  },
);

verifies(
  "proxy.broken",
  "a kept connection that was closed meanwhile costs a harmless call nothing",
  async (t) => {
    const upstream = await rawUpstream(t);
    const { client } = await startProxy(t, { upstream_url: upstream.url }, { allow: ["localhost"] });
    const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    const first = client.send(proxied(), { token: CALLER, method: "GET" });
    const one = await upstream.connection();
    one.socket.on("error", () => {});
    await one.request();
    await one.send(ok);
    assert.equal((await first).status, 200);
    const second = client.send(proxied("/again"), { token: CALLER, method: "PUT", body: "kept" });
    await one.request();
    one.reset();
    const two = await upstream.connection();
    let sent = "";
    two.socket.on("data", (bytes) => (sent += bytes.toString("latin1")));
    await two.request();
    await until(() => sent.endsWith("kept"), "the body has come again");
    assert.match(sent, /^PUT \/again /);
    await two.send(ok);
    assert.equal((await second).status, 200);
    const third = client.send(proxied(), { token: CALLER, method: "POST", body: "x" });
    await two.request();
    two.reset();
    assertRefused(await third, 502, "Upstream unreachable.");
  },
);
