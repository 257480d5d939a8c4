/** The load generator counts right: it is what every figure of the bench rests on. Nothing here is timed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { afterEach, test } from "node:test";
import { Load, type LoadPlan } from "../../bench/load.ts";
import { ResponseReader } from "../../bench/response-reader.ts";

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Runs the calls against a server that answers so, to their end. */
async function run(answer: RequestListener, plan: Omit<LoadPlan, "port">): Promise<Load> {
  server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object");
  const load = new Load({ ...plan, port: address.port });
  await load.finished;
  return load;
}

function get(path: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
}

test("every call is counted once, and the requests take turns", async () => {
  const seen: Record<string, number> = {};
  const load = await run(
    (request, response) => {
      seen[request.url ?? ""] = (seen[request.url ?? ""] ?? 0) + 1;
      response.end("{}");
    },
    { requests: [get("/a"), get("/b")], connections: 4, callsMax: 24 },
  );
  assert.deepEqual(load.tally(), { calls: 24, events: 0, failed: 0, incomplete: 0 });
  assert.deepEqual(seen, { "/a": 12, "/b": 12 });
});

test("an answer other than 200 is a failure, and the first one's text is kept", async () => {
  const load = await run(
    (request, response) => response.writeHead(request.url === "/bad" ? 429 : 200).end("Rate limit exceeded."),
    { requests: [get("/good"), get("/bad")], connections: 1, callsMax: 6 },
  );
  assert.deepEqual(load.tally(), { calls: 3, events: 0, failed: 3, incomplete: 0 });
  assert.equal(load.firstFailure, "429 Rate limit exceeded.");
});

test("a stream counts only with all its events and [DONE]", async () => {
  const streams: Record<string, string> = {
    "/whole": "data: 1\n\n: a comment\n\ndata: 2\n\ndata: [DONE]\n\n",
    "/short": "data: 1\n\ndata: [DONE]\n\n",
    "/undone": "data: 1\n\ndata: 2\n\n",
  };
  const load = await run(
    (request, response) => {
      for (const byte of streams[request.url ?? ""] ?? "") response.write(byte);
      response.end();
    },
    { requests: Object.keys(streams).map(get), connections: 1, callsMax: 3, eventsMin: 2 },
  );
  assert.deepEqual(load.tally(), { calls: 1, events: 5, failed: 0, incomplete: 2 });
});

test("a connection that closes in the middle of a call is a failure, and the load continues with a new one", async () => {
  const load = await run(
    (request, response) => {
      if (request.url === "/cut") request.socket.destroy();
      else response.end("{}");
    },
    { requests: [get("/cut"), get("/fine")], connections: 1, callsMax: 4 },
  );
  assert.deepEqual(load.tally(), { calls: 2, events: 0, failed: 2, incomplete: 0 });
});

test("a load without a server ends by itself", async () => {
  const load = new Load({ port: 1, requests: [get("/")], connections: 2 });
  await load.finished;
  assert.equal(load.firstFailure, "no connection");
});

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
const answers = {
  sized: `${head}Content-Length: 10\r\n\r\n0123456789`,
  empty: `${head}content-length: 0\r\n\r\n`,
  chunked: `${head}Transfer-Encoding: chunked\r\n\r\nd\r\ndata: one\n\nda\r\nA\r\nta: [DONE]\r\n2\r\n\n\n\r\n0\r\n\r\n`,
};

for (const [kind, text] of Object.entries(answers)) {
  test(`a ${kind} answer cut in two at any byte is complete with its last byte`, () => {
    const bytes = Buffer.from(text);
    for (let cut = 1; cut < bytes.length; cut++) {
      const reader = new ResponseReader();
      assert.equal(reader.push(bytes, cut), false, `complete after ${cut} bytes`);
      const rest = bytes.subarray(cut);
      assert.equal(reader.push(rest, rest.length), true, `not complete, cut after ${cut} bytes`);
      assert.deepEqual([reader.malformed, reader.status], [false, 200]);
      assert.deepEqual(
        [reader.events.events, reader.events.done],
        kind === "chunked" ? [1, true] : [0, false],
      );
    }
  });
}

test("bytes that are no single HTTP answer of known length are malformed", () => {
  for (const text of [
    `${head}\r\nuntil the end`,
    `${answers.empty}more`,
    `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
  ]) {
    const bytes = Buffer.from(text);
    const reader = new ResponseReader();
    assert.equal(reader.push(bytes, bytes.length), true);
    assert.equal(reader.malformed, true, text);
  }
});
