// The mock provider that every target is measured against: canned answers over bare sockets, OpenAI's or (on
// `…/v1/messages`) Anthropic's, so cheap that it is never what is measured. It understands just enough HTTP/1.1 for that, and must not be used for anything else.
//
// The first path segment says how a stream is sent: `/c50-b1-i0/v1/…` is 50 content chunks, 1 event a write, 0 ms
// between writes. With `-t` behind it each chunk says when it was sent, in microseconds of the machine's monotonic
// clock. A body with `"stream":true` gets a stream, any other a JSON answer.
import { createServer } from "node:net";

const HEAD_END = Buffer.from("\r\n\r\n");
const STREAM_FLAG = Buffer.from('"stream":true');
const REQUEST_BYTES_MAX = 1 << 20;

const completion = {
  id: "chatcmpl-bench0000000000000000000000",
  object: "chat.completion",
  created: 1767225600,
  model: "gpt-5-mini",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: JSON.stringify({
          summary:
            "The customer's parcel was handed to the carrier nine days ago and has not moved since. They ask for a " +
            "new delivery date and would accept a replacement sent by express at no further charge.",
          mood: "annoyed",
          urgent: true,
          next_steps: ["open a trace with the carrier", "offer the replacement", "confirm the address"],
        }),
        refusal: null,
        annotations: [],
      },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: {
    prompt_tokens: 342,
    completion_tokens: 88,
    total_tokens: 430,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  },
  service_tier: "default",
  system_fingerprint: null,
};

const jsonAnswer = (() => {
  const body = JSON.stringify(completion);
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.from(head + body);
})();

function event(choices, usage = null) {
  const { id, created, model } = completion;
  const chunk = { id, object: "chat.completion.chunk", created, model, service_tier: "default" };
  return `data: ${JSON.stringify({ ...chunk, system_fingerprint: null, choices, usage })}\n\n`;
}

function openAiEvents(words) {
  const choice = (delta, finish_reason = null) => [{ index: 0, delta, logprobs: null, finish_reason }];
  return [
    event(choice({ role: "assistant", content: "", refusal: null })),
    ...words.map((content) => event(choice({ content }))),
    event(choice({}, "stop")),
    event([], completion.usage),
    "data: [DONE]\n\n",
  ];
}

/** Anthropic pads its events with spaces before the last brace, a different number each. */
function anthropicEvents(words) {
  const named = (type, rest, pad = 0) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...rest }).slice(0, -1)}${" ".repeat(pad)}}\n\n`;
  const usage = {
    input_tokens: 342,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
  };
  const message = {
    id: "msg_bench0000",
    type: "message",
    role: "assistant",
    model: "claude-bench",
    content: [],
    usage,
  };
  return [
    named("message_start", { message }),
    named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    named("ping", {}),
    ...words.map((text, n) =>
      named("content_block_delta", { index: 0, delta: { type: "text_delta", text } }, n % 12),
    ),
    named("content_block_stop", { index: 0 }),
    named("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: words.length } }),
    named("message_stop", {}),
  ];
}

/** A stream as the writes it is sent in: the first carries the head, the last the end of the body. */
/** Where a chunk says when it was sent. */
const STAMP = "sent@0000000000000000";
const STAMP_AT = Buffer.from("sent@0");
const STAMP_DIGITS = 16;

/** The bytes of a write with the time in it. */
function stampedNow(bytes) {
  const at = bytes.indexOf(STAMP_AT);
  if (at < 0) return bytes;
  const copy = Buffer.from(bytes);
  copy.write(
    String(process.hrtime.bigint() / 1000n).padStart(STAMP_DIGITS, "0"),
    at + STAMP.length - STAMP_DIGITS,
    "latin1",
  );
  return copy;
}

function streamWrites({ chunks, eventsPerWrite, events: eventsOf, stamped }) {
  const events = eventsOf(Array.from({ length: chunks }, (_, n) => (stamped ? STAMP : ` word${n}`)));
  const writes = ["HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"];
  events.forEach((text, n) => {
    const frame = `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
    if (n > 0 && n % eventsPerWrite === 0) writes.push(frame);
    else writes[writes.length - 1] += frame;
  });
  writes[writes.length - 1] += "0\r\n\r\n";
  return writes.map((text) => Buffer.from(text));
}

/** What a path asks for. One entry a distinct first segment: the harness uses a handful. */
const behaviours = new Map();

function behaviourOf(head) {
  const path = head.slice(head.indexOf("/") + 1, head.indexOf(" HTTP/"));
  const segment = path.slice(0, path.indexOf("/"));
  let behaviour = behaviours.get(path);
  if (behaviour === undefined) {
    const match = /^c(\d+)-b(\d+)-i(\d+)(-t)?$/.exec(segment);
    const [chunks, eventsPerWrite, pauseMs] = match ? match.slice(1, 4).map(Number) : [50, 1, 0];
    const stamped = match?.[4] !== undefined;
    const events = path.endsWith("/messages") ? anthropicEvents : openAiEvents;
    behaviour = { writes: streamWrites({ chunks, eventsPerWrite, events, stamped }), pauseMs, stamped };
    if (behaviours.size < 100) behaviours.set(path, behaviour);
  }
  return behaviour;
}

/** One connection: gathers a request, answers it, waits for the next. No pipelining. */
class Connection {
  pending = null;
  timer = null;

  constructor(socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (bytes) => this.read(bytes));
    socket.on("close", () => clearTimeout(this.timer));
    socket.on("error", () => socket.destroy());
  }

  read(bytes) {
    const request = this.pending === null ? bytes : Buffer.concat([this.pending, bytes]);
    this.pending = request;
    const headEnd = request.indexOf(HEAD_END);
    if (request.length > REQUEST_BYTES_MAX) this.socket.destroy();
    if (headEnd < 0) return;
    const head = request.toString("latin1", 0, headEnd);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (length === null) {
      this.socket.end("HTTP/1.1 411 Length Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
      return;
    }
    if (request.length < headEnd + 4 + Number(length[1])) return;
    this.pending = null;
    if (request.indexOf(STREAM_FLAG, headEnd) < 0) this.socket.write(jsonAnswer);
    else this.stream(behaviourOf(head), 0);
  }

  stream(behaviour, from) {
    const { writes, pauseMs, stamped } = behaviour;
    if (pauseMs === 0) {
      for (const bytes of writes) this.socket.write(bytes);
      return;
    }
    this.socket.write(stamped ? stampedNow(writes[from]) : writes[from]);
    if (from + 1 < writes.length) this.timer = setTimeout(() => this.stream(behaviour, from + 1), pauseMs);
  }
}

const server = createServer((socket) => new Connection(socket));
server.listen({ port: Number(process.env.PORT ?? 0), host: "127.0.0.1", backlog: 4096 }, () => {
  process.stdout.write(`${server.address().port}\n`);
});
