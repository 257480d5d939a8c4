/**
 * Files in `state.directory` with ends of calls that Redis could not be told: written when the process ends, or has no
 * room for more, while Redis is away; read by the next process that starts with the same Redis and key prefix.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Logger } from "../../plugin/host.ts";

/** The end of a call: what it cost, and which reservation it settles. */
export interface End {
  readonly id: string;
  /** One amount for all sums, or one for each. */
  readonly costNanoUsd: number | readonly number[];
  readonly month: string;
  readonly sums: readonly string[];
  /** The epoch in which Redis holds the reservation; "": it may hold none. */
  readonly epoch: string;
}

/** All files of this process together. */
const SPILL_BYTES_MAX = 268_435_456;

export class SpillFiles {
  readonly #directory: string;
  readonly #begin: string;
  readonly #instance: string;
  readonly #log: Logger;
  readonly #damaged = new Set<string>();
  #count = 0;
  #bytes = 0;

  /** `server`: which Redis, database and key prefix; files of others are left alone. */
  constructor(about: {
    readonly directory: string;
    readonly server: string;
    readonly instance: string;
    readonly log: Logger;
  }) {
    this.#directory = about.directory;
    this.#begin = `redis-ends-${createHash("sha256").update(about.server).digest("hex").slice(0, 16)}-`;
    this.#instance = about.instance;
    this.#log = about.log;
  }

  /** Paths of what earlier processes have left. */
  list(): readonly string[] {
    try {
      return readdirSync(this.#directory)
        .filter((name) => name.startsWith(this.#begin) && name.endsWith(".jsonl"))
        .sort()
        .map((name) => join(this.#directory, name));
    } catch (error) {
      if (!isMissing(error)) this.#failed(error, "could not be read");
      return [];
    }
  }

  /** The path; undefined when it could not be written. A file is there whole or not at all. */
  write(ends: readonly End[]): string | undefined {
    const text = ends.map((end) => `${JSON.stringify(end)}\n`).join("");
    const bytes = Buffer.byteLength(text);
    if (this.#bytes + bytes > SPILL_BYTES_MAX) return undefined;
    this.#count += 1;
    const path = join(this.#directory, `${this.#begin}${this.#instance}-${this.#count}.jsonl`);
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      const file = openSync(`${path}.tmp`, "w", 0o600);
      try {
        writeFileSync(file, text);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(`${path}.tmp`, path);
    } catch (error) {
      this.#failed(error, "could not be written");
      return undefined;
    }
    this.#bytes += bytes;
    this.#log.warn(
      { path, ends: ends.length },
      "costs of calls were written to a file: redis does not answer; they are sent when it does, after a restart too",
    );
    return path;
  }

  /** undefined: it could not be read, and stays. */
  read(path: string): readonly End[] | undefined {
    try {
      const lines = readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line !== "");
      const ends = lines.map(endOf).filter((end) => end !== undefined);
      if (ends.length < lines.length) {
        this.#damaged.add(path);
        const kept = `${path}.damaged`;
        this.#log.error({ path, kept, lines: lines.length - ends.length }, "kept costs are damaged in part");
      }
      return ends;
    } catch (error) {
      this.#failed(error, "could not be read");
      return undefined;
    }
  }

  /** Redis has all of it. A file with damaged lines is renamed instead. */
  remove(path: string): void {
    try {
      if (this.#damaged.delete(path)) renameSync(path, `${path}.damaged`);
      else rmSync(path, { force: true });
    } catch (error) {
      this.#failed(error, "could not be removed");
    }
  }

  #failed(error: unknown, what: string): void {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    this.#log.error({ directory: this.#directory, code }, `costs kept in state.directory ${what}`);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function endOf(line: string): End | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  // Every member is checked below.
  const { id, costNanoUsd, month, sums, epoch } = value as Partial<Record<keyof End, unknown>>;
  if (typeof id !== "string" || typeof month !== "string" || typeof epoch !== "string") return undefined;
  if (!/^\d{4}-\d\d$/.test(month) || !isListOf(sums, (sum) => typeof sum === "string")) return undefined;
  const isAmounts = isListOf(costNanoUsd, isAmount) && costNanoUsd.length === sums.length;
  if (!isAmounts && !isAmount(costNanoUsd)) return undefined;
  return { id, costNanoUsd, month, sums, epoch };
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isListOf<T>(value: unknown, is: (one: unknown) => one is T): value is T[] {
  return Array.isArray(value) && value.every(is);
}
