/**
 * A provider that says what a test wants: a real HTTP server on a loopback port of its own, playing scripted answers
 * in order. Nothing in it waits for time to pass: what a test does not let happen does not happen.
 *
 *     const upstream = await fakeUpstream();
 *     upstream.answer(statusAnswer(500), jsonAnswer({ hello: "world" }));   // the second one from then on
 *     … call upstream.url, then look at upstream.requests …
 *     await upstream.close();
 */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A request that came in. @since 0.1.0 */
export interface UpstreamRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Plays one answer. It may keep the response for as long as it likes. @since 0.1.0 */
export type ScriptedAnswer = (response: ServerResponse, request: UpstreamRequest) => void;

/** A service whose answers the test scripts. @since 0.1.0 */
export interface FakeUpstream {
  /** `http://127.0.0.1:<port>`: give it to a credential as its base URL. */
  readonly url: string;
  /** What came in so far, bodies read whole, oldest first. */
  readonly requests: readonly UpstreamRequest[];
  /** Adds answers to the script. Each is played once, the last one for every request after it. */
  answer(...answers: readonly ScriptedAnswer[]): void;
  /** Resolves once `count` requests have come in all. */
  received(count: number): Promise<void>;
  /** Connections open now. */
  connections(): number;
  /** Ends every connection, mid-answer or not. */
  close(): Promise<void>;
}

/** Requests kept in `requests`; a load test that goes beyond it sees the first ones only. */
const REQUESTS_MAX = 10_000;

/** Starts one. Before anything is scripted it answers 500. @since 0.1.0 */
export async function fakeUpstream(): Promise<FakeUpstream> {
  const requests: UpstreamRequest[] = [];
  const waiting: { readonly count: number; readonly go: () => void }[] = [];
  const sockets = new Set<Socket>();
  let received = 0;
  let script: ScriptedAnswer[] = [];
  let last: ScriptedAnswer = statusAnswer(500, { error: { message: "the fake upstream has no script" } });

  const server = createServer((incoming, response) => {
    const pieces: Buffer[] = [];
    incoming.on("data", (piece: Buffer) => pieces.push(piece));
    incoming.on("end", () => {
      const request: UpstreamRequest = {
        method: incoming.method ?? "",
        path: incoming.url ?? "",
        headers: incoming.headers,
        body: Buffer.concat(pieces).toString("utf8"),
      };
      if (requests.length < REQUESTS_MAX) requests.push(request);
      received++;
      last = script.shift() ?? last;
      last(response, request);
      for (const { count, go } of waiting) if (received >= count) go();
    });
  });
  server.on("connection", (socket) => {
    sockets.add(socket.setNoDelay(true));
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;

  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    answer(...answers) {
      script = [...script, ...answers];
    },
    received: (count) =>
      received >= count ? Promise.resolve() : new Promise((go) => waiting.push({ count, go })),
    connections: () => sockets.size,
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** 200 and `value` as JSON; a string goes out as it is. @since 0.1.0 */
export function jsonAnswer(value: unknown, headers: Readonly<Record<string, string>> = {}): ScriptedAnswer {
  return statusAnswer(200, value, headers);
}

/** Any status, with `value` as JSON; a string goes out as it is. @since 0.1.0 */
export function statusAnswer(
  status: number,
  value: unknown = {},
  headers: Readonly<Record<string, string>> = {},
): ScriptedAnswer {
  const body = typeof value === "string" ? value : JSON.stringify(value);
  return (response) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
}

/**
 * A whole stream at once: each item is one event's `data`, an object as JSON. Ends cleanly after the last.
 * @since 0.1.0
 */
export function sseAnswer(events: readonly unknown[]): ScriptedAnswer {
  const body = events.map(sseEvent).join("");
  return (response) => response.writeHead(200, EVENT_STREAM).end(body);
}

/**
 * The bytes of `text` in writes of `bytesPerWrite`, the event loop turning once between two of them.
 * @since 0.1.0
 */
export function cutAnswer(text: string, bytesPerWrite: number): ScriptedAnswer {
  const bytes = Buffer.from(text, "utf8");
  return (response) => {
    response.writeHead(200, EVENT_STREAM);
    const next = (from: number): void => {
      if (from >= bytes.length) return void response.end();
      response.write(bytes.subarray(from, from + bytesPerWrite), () =>
        setImmediate(next, from + bytesPerWrite),
      );
    };
    next(0);
  };
}

/** Takes the request and never answers. @since 0.1.0 */
export function stallAnswer(): ScriptedAnswer {
  return () => {};
}

/** Ends the connection before any head. @since 0.1.0 */
export function hangUpAnswer(): ScriptedAnswer {
  return (response) => void response.destroy();
}

/** Bytes that need not be HTTP, then the end of the connection. @since 0.1.0 */
export function garbageAnswer(bytes = "\0 this is not HTTP\r\n\r\n"): ScriptedAnswer {
  return (response) => void response.socket?.end(bytes);
}

/** A stream that the test plays by hand. Script `answer`, then use the rest. @since 0.1.0 */
export interface HandPlayedStream {
  readonly answer: ScriptedAnswer;
  /** Resolves when the request has come and the head is out. */
  readonly opened: Promise<void>;
  /** Resolves when the connection is gone: after `end`, `hangUp`, or when the other side left. */
  readonly closed: Promise<void>;
  /** Sends one event; resolves when the system has taken it. Waits for `opened`. */
  send(event: unknown): Promise<void>;
  /** Sends text that need not be whole events. */
  write(text: string): Promise<void>;
  /** A clean end. */
  end(): Promise<void>;
  /** The connection breaks. */
  hangUp(): Promise<void>;
}

/** A stream of one request, event by event. @since 0.1.0 */
export function handPlayedStream(): HandPlayedStream {
  let open: (response: ServerResponse) => void = () => {};
  let close: () => void = () => {};
  const response = new Promise<ServerResponse>((resolve) => (open = resolve));
  const closed = new Promise<void>((resolve) => (close = resolve));
  const write = async (text: string): Promise<void> => {
    const out = await response;
    await new Promise<void>((taken) => out.write(text, () => taken()));
  };
  return {
    answer: (out) => {
      out.on("close", close);
      out.writeHead(200, EVENT_STREAM).flushHeaders();
      open(out);
    },
    opened: response.then(() => {}),
    closed,
    send: (event) => write(sseEvent(event)),
    write,
    end: async () => void (await response).end(),
    hangUp: async () => void (await response).destroy(),
  };
}

const EVENT_STREAM = { "content-type": "text/event-stream; charset=utf-8" };

function sseEvent(event: unknown): string {
  return `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`;
}

/**
 * The chunks of an OpenAI-shaped stream: role, one a text, finish, usage, `[DONE]`. For `sseAnswer`.
 * @since 0.1.0
 */
export function openAiEvents(...texts: readonly string[]): unknown[] {
  const head = {
    id: "chatcmpl-fake",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "fake-1",
  };
  const choice = (delta: object, finish_reason: string | null = null): object => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  });
  return [
    choice({ role: "assistant", content: "" }),
    ...texts.map((content) => choice({ content })),
    choice({}, "stop"),
    { ...head, choices: [], usage: openAiUsage(texts.length) },
    "[DONE]",
  ];
}

/** An OpenAI-shaped whole answer. For `jsonAnswer`. @since 0.1.0 */
export function openAiAnswer(content: string): object {
  return {
    id: "chatcmpl-fake",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "fake-1",
    choices: [{ index: 0, message: { role: "assistant", content, refusal: null }, finish_reason: "stop" }],
    usage: openAiUsage(5),
  };
}

function openAiUsage(completion_tokens: number): object {
  return { prompt_tokens: 10, completion_tokens, total_tokens: 10 + completion_tokens };
}
