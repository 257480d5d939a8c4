/**
 * JSON lines: the operational log and the request log, in one stream. Buffered, so that a call costs no system call;
 * written out a few times a second and, whole, at the end.
 */
import { pino } from "pino";
import type { Logger } from "../plugin/index.ts";

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** Bytes gathered before a write (less than the 16 KiB that one write takes); beyond `BUFFER_MAX_BYTES` unwritten (a stuck pipe) lines are dropped. */
const BUFFER_BYTES = 16_000;
const BUFFER_MAX_BYTES = 16 * 1024 * 1024;
const FLUSH_MS = 250;

export interface Log extends Logger {
  /** The request log: a finished JSON line, without its newline. */
  readonly requests: { write(line: string): void };
  /** Changes the level, with the next reload. */
  setLevel(level: LogLevel): void;
  /** Writes out what is buffered. */
  flush(): void;
}

/** `write` takes lines in the place of stdout (tests, embedding). */
export function createLog(level: LogLevel, write?: (line: string) => void): Log {
  const buffered =
    write === undefined
      ? pino.destination({
          dest: 1,
          sync: false,
          minLength: BUFFER_BYTES,
          maxLength: BUFFER_MAX_BYTES,
          periodicFlush: FLUSH_MS,
        })
      : undefined;
  const destination = buffered ?? { write: (line: string) => write?.(line) };
  const log = pino(
    {
      level,
      base: undefined,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err },
    },
    destination,
  );
  let requestsOn = log.isLevelEnabled("info");
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: (fields, message) => log.warn(fields, message),
    error: (fields, message) => log.error(fields, message),
    requests: {
      write(line) {
        if (requestsOn) destination.write(`${line}\n`);
      },
    },
    setLevel(next) {
      log.level = next;
      requestsOn = log.isLevelEnabled("info");
    },
    flush: () => buffered?.flushSync(),
  };
}
