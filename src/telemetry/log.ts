/**
 * JSON lines: the operational log and the request log, in one stream. Buffered, so that a call costs no system call;
 * written out a few times a second and, whole, at the end.
 */
import { pino } from "pino";
import type { Logger, RequestLog } from "../plugin/host.ts";

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** Bytes that may wait for a stuck pipe; beyond them lines are dropped. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024;

export interface Log extends Logger {
  readonly requests: RequestLog;
  /** Changes the level, with the next reload. */
  setLevel(level: LogLevel): void;
  /** Writes out what is buffered. */
  flush(): void;
}

/** `write` takes lines in the place of stdout (tests, embedding). */
export function createLog(level: LogLevel, write?: (line: string) => void): Log {
  const out = write === undefined ? standardOutput() : embedded(write);
  const log = pino(
    {
      level,
      base: undefined,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err },
    },
    { write: (line: string) => out.write(line.slice(0, -1)) },
  );
  let requestsOn = log.isLevelEnabled("info");
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: (fields, message) => log.warn(fields, message),
    error: (fields, message) => log.error(fields, message),
    requests: {
      get enabled() {
        return requestsOn;
      },
      write: (line) => out.write(line),
    },
    setLevel(next) {
      log.level = next;
      requestsOn = log.isLevelEnabled("info");
    },
    flush: () => out.flush(),
  };
}

interface LineSink {
  write(line: string): void;
  flush(): void;
}

function standardOutput(): LineSink {
  const stream = pino.destination({
    dest: 1,
    sync: false,
    contentMode: "buffer",
    maxLength: WAITING_BYTES_MAX,
  });
  // Of mode "buffer", so it takes what its types do not know of.
  const lines = new LineBuffer((block) => void stream.write(block as unknown as string));
  return {
    write: (line) => lines.write(line),
    flush() {
      lines.flush();
      stream.flushSync();
    },
  };
}

function embedded(write: (line: string) => void): LineSink {
  return { write: (line) => write(`${line}\n`), flush: () => undefined };
}

/** Where blocks go. */
export type Deliver = (block: Buffer) => void;

const BLOCK_BYTES = 65_536;
const LINGER_MS = 250;
/** UTF-8 takes at most three bytes for one UTF-16 code unit. */
const BYTES_PER_UNIT_MAX = 3;

class LineBuffer {
  readonly #deliver: Deliver;
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #at = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(deliver: Deliver) {
    this.#deliver = deliver;
  }

  /** Takes one line, without its newline. */
  write(line: string): void {
    const mostBytes = line.length * BYTES_PER_UNIT_MAX + 1;
    if (mostBytes > BLOCK_BYTES - this.#at) {
      this.flush();
      if (mostBytes > BLOCK_BYTES) return this.#deliver(Buffer.from(`${line}\n`));
    }
    this.#at += this.#block.write(line, this.#at);
    this.#block[this.#at++] = 0x0a;
    this.#timer ??= setTimeout(() => this.flush(), LINGER_MS).unref();
  }

  /** Hands on what there is. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#at === 0) return;
    const full = this.#block.subarray(0, this.#at);
    this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#at = 0;
    this.#deliver(full);
  }
}
