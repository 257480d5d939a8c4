/**
 * The channel between the gateway and the process of an isolated guardrail, used by both ends: structured clone
 * (`v8.serialize`), preceded by the length. Node's own IPC channel is not used because it buffers a message of any
 * length and throws an uncatchable error in the gateway when the bytes are not a message.
 */
import type { Socket } from "node:net";
import { deserialize, serialize } from "node:v8";

/** The descriptor of the channel in the guardrail's process. */
export const CHANNEL_FD = 3;
const LENGTH_BYTES = 4;
/** Longest message of a guardrail's process. A verdict holds at most the judged text once more. */
const CHILD_FRAME_BYTES_MAX = 16 * 1_048_576;
/** Longest message to the process: a judged text, or an answer to `host.fetch`. */
const GATEWAY_FRAME_BYTES_MAX = 256 * 1_048_576;

export interface ChannelEvents {
  /** A message of the other end; nothing about it has been checked. */
  received(message: unknown): void;
  /** The other end sent bytes that are not a message, or `received` has thrown. The channel is unusable after it. */
  failed(thrown: unknown): void;
}

/** One end of the channel: `Sent` are the messages that it writes. */
export class Channel<Sent> {
  readonly #socket: Socket;
  readonly #sentBytesMax: number;

  constructor(end: "gateway" | "child", socket: Socket, events: ChannelEvents) {
    this.#socket = socket;
    this.#sentBytesMax = end === "gateway" ? GATEWAY_FRAME_BYTES_MAX : CHILD_FRAME_BYTES_MAX;
    const reader = new FrameReader(end === "gateway" ? CHILD_FRAME_BYTES_MAX : GATEWAY_FRAME_BYTES_MAX);
    socket.on("data", (chunk: Buffer) => {
      try {
        for (const message of reader.read(chunk)) events.received(message);
      } catch (thrown) {
        events.failed(thrown);
      }
    });
  }

  get isOver(): boolean {
    return this.#socket.readableEnded || this.#socket.destroyed;
  }

  /** Throws when the message is too long or cannot be cloned. */
  post(message: Sent): void {
    const frame = encodeFrame(message, this.#sentBytesMax);
    if (!this.#socket.destroyed) this.#socket.write(frame);
  }

  /** `sent` is called when everything posted has been written. */
  end(sent: () => void): void {
    this.#socket.end(sent);
  }
}

/** Throws when the message is too long, or holds something that cannot be cloned. */
export function encodeFrame(message: unknown, bytesMax: number): Buffer {
  const body = serialize(message);
  if (body.length > bytesMax) throw new RangeError(`a message of ${body.length} bytes exceeds ${bytesMax}`);
  const head = Buffer.allocUnsafe(LENGTH_BYTES);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

/** Takes bytes as they arrive and returns the messages that they complete. */
export class FrameReader {
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Of the message whose length has been read. */
  #length: number | undefined;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Throws when the bytes are not a message, or its length exceeds the limit; the channel is unusable after that. */
  *read(chunk: Buffer): Generator<unknown> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (;;) {
      if (this.#length === undefined) {
        if (this.#bytes < LENGTH_BYTES) return;
        this.#length = this.#take(LENGTH_BYTES).readUInt32BE();
        if (this.#length > this.#bytesMax) {
          throw new RangeError(`a message of ${this.#length} bytes exceeds ${this.#bytesMax}`);
        }
      }
      if (this.#bytes < this.#length) return;
      const body = this.#take(this.#length);
      this.#length = undefined;
      const message: unknown = deserialize(body);
      yield message;
    }
  }

  #take(length: number): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks, this.#bytes);
    const bytes = all ?? Buffer.alloc(0);
    this.#chunks = [bytes.subarray(length)];
    this.#bytes -= length;
    return bytes.subarray(0, length);
  }
}
