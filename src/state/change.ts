/**
 * One thing that changed in a store, as the file driver writes it down: a journal is changes in the order they happened,
 * a snapshot the fewest that give the same state, an export either as it stands. Knows no file and no table.
 */
import { isJsonObject } from "../base/json.ts";
import { isNanoUsdJson, type NanoUsdJson } from "../base/money.ts";
import type { Message } from "../plugin/index.ts";
import type { AuditRecord, Override, Rename } from "../plugin/store.ts";

/** Money held for a call under way. */
export interface Hold {
  /** Unique within its folder, unlike the caller's call ids. */
  readonly number: number;
  readonly callId: string;
  /** `YYYY-MM`. */
  readonly month: string;
  /** [key, estimate, input estimate], amounts in nano-dollars. */
  readonly sums: readonly (readonly [string, number, number])[];
}

/** [key, all that was settled so far, in nano-dollars]: totals and not costs, so that none can count twice. */
export type Totals = readonly (readonly [string, NanoUsdJson])[];

/** A conversation as one call left it. */
export interface SavedSession {
  readonly id: string;
  readonly owner: string;
  readonly ttlMs: number;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
  /** The same moment in milliseconds since the machine's start; absent: version 0.1 wrote it. */
  readonly expiresUpMs?: number;
  /** Counts its turns, so that one that is missing is noticed. */
  readonly revision: number;
  /** Messages of the turn before that have gone from its beginning, and that stand after them. */
  readonly dropped: number;
  readonly kept: number;
  /** What comes after those. With `kept` 0 the whole conversation, whatever was known of it. */
  readonly messages: readonly Message[];
}

export type Change =
  /** `rates`: [key, window in milliseconds, limit]. `upMs`: as `expiresUpMs`. */
  | {
      readonly type: "admit";
      readonly atMs: number;
      readonly upMs?: number;
      readonly rates: readonly (readonly [string, number, number])[];
      readonly hold?: Hold;
    }
  /** `recovered`: it was found open after a crash, and its input estimate was settled. */
  | {
      readonly type: "settle";
      readonly number: number;
      readonly month: string;
      readonly totals: Totals;
      readonly recovered?: true;
    }
  | { readonly type: "release"; readonly number: number }
  | ({ readonly type: "session" } & SavedSession)
  | { readonly type: "session-end"; readonly id: string }
  | { readonly type: "override"; readonly override: Override }
  | { readonly type: "override-end"; readonly key: string }
  | { readonly type: "audit"; readonly records: readonly AuditRecord[] }
  /** See `StateStore.rename`. Of snapshots: those that stand, with all else under the present names. */
  | { readonly type: "rename"; readonly begin: readonly Rename[]; readonly end: readonly Rename[] }
  /** Of snapshots: sums of a month. */
  | {
      readonly type: "sums";
      readonly month: string;
      readonly totals: Totals;
      /** The last moment that is known to be within the current month, on both clocks. */
      readonly atMs?: number;
      readonly upMs?: number;
    }
  /**
   * Of snapshots: what a rate window counts, as [Unix milliseconds, calls]. Less `upOffsetMs` these are milliseconds
   * since the machine's start; absent: version 0.1 wrote it.
   */
  | {
      readonly type: "window";
      readonly key: string;
      readonly windowMs: number;
      readonly upOffsetMs?: number;
      readonly runs: readonly (readonly [number, number])[];
    };

/**
 * What is lost with a line, one letter each: `m` money, `o` an override (a revocation, say), `s` a conversation, `a` audit
 * records, `r` calls that rate windows count.
 */
export function kindsOf(changes: readonly Change[]): string {
  const kinds = new Set<string>();
  for (const change of changes)
    for (const kind of KIND_OF[change.type] ?? (change.type === "admit" ? admitKind(change) : "r"))
      kinds.add(kind);
  return [...kinds].sort().join("");
}

const KIND_OF: Readonly<Partial<Record<Change["type"], string>>> = {
  settle: "m",
  release: "m",
  sums: "m",
  override: "o",
  "override-end": "o",
  session: "s",
  "session-end": "s",
  audit: "a",
  window: "r",
  rename: "mors",
};

/** A reservation is money: when its line is lost, nothing is settled for it after a crash. */
function admitKind({ hold }: Change & { readonly type: "admit" }): string {
  return hold === undefined ? "r" : "m";
}

type Is = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Is>>;

const text: Is = (value) => typeof value === "string";
const count: Is = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const given: Is = (value) => value !== undefined;
const month: Is = (value) => typeof value === "string" && /^\d{4}-(?:0[1-9]|1[0-2])$/.test(value);
const yes: Is = (value) => value === true;
const list =
  (item: Is): Is =>
  (value) =>
    Array.isArray(value) && value.every(item);
const row =
  (...cells: readonly Is[]): Is =>
  (value) =>
    Array.isArray(value) && value.length === cells.length && cells.every((is, index) => is(value[index]));
const either =
  (...options: readonly Is[]): Is =>
  (value) =>
    options.some((is) => is(value));
const whole: Is = (value) => Number.isSafeInteger(value);
const optional = (is: Is): Is => either((value) => value === undefined, is);
const map =
  (shape: Shape): Is =>
  (value) =>
    isJsonObject(value) && Object.entries(shape).every(([key, is]) => is(value[key]));

const totals = list(row(text, isNanoUsdJson));
const hold = map({ number: count, callId: text, month, sums: list(row(text, count, count)) });
const message = map({ role: text, content: either(text, Array.isArray) });
const override = map({
  ...{ key: text, value: given, replaced: given, actor: text, setAtMs: count },
  formerly: optional(list(text)),
});
const kindOfName: Is = (value) =>
  value === "rate" || value === "spend" || value === "sessions" || value === "override";
const rename = map({ kind: kindOfName, windowMs: optional(count), from: text, to: text });
const project = map({ id: count, name: text, uuid: text });
const auditRecord = map({
  id: text,
  event: text,
  severity: (value) => value === "info" || value === "warn" || value === "critical",
  actor: text,
  project,
  target: text,
  metadata: isJsonObject,
  ipAddress: text,
  occurredAtMs: count,
});

const SHAPES: Readonly<Record<Change["type"], Is>> = {
  admit: map({
    atMs: count,
    upMs: optional(whole),
    rates: list(row(text, count, count)),
    hold: optional(hold),
  }),
  settle: map({ number: count, month, totals, recovered: optional(yes) }),
  release: map({ number: count }),
  session: map({
    id: text,
    owner: text,
    ttlMs: count,
    expiresAtMs: count,
    expiresUpMs: optional(whole),
    revision: count,
    dropped: count,
    kept: count,
    messages: list(message),
  }),
  "session-end": map({ id: text }),
  override: map({ override }),
  "override-end": map({ key: text }),
  audit: map({ records: list(auditRecord) }),
  rename: map({ begin: list(rename), end: list(rename) }),
  sums: map({ month, totals, atMs: optional(count), upMs: optional(whole) }),
  window: map({ key: text, windowMs: count, upOffsetMs: optional(whole), runs: list(row(whole, count)) }),
};

/** What was read, when it is a change. */
export function changeOf(value: unknown): Change | undefined {
  if (!isJsonObject(value) || typeof value["type"] !== "string") return undefined;
  // The name was found among those of SHAPES, whose keys these are.
  const type = (Object.hasOwn(SHAPES, value["type"]) ? value["type"] : undefined) as
    | Change["type"]
    | undefined;
  if (type === undefined || !SHAPES[type](value)) return undefined;
  // SHAPES has checked every field of the type.
  return value as Change;
}

/** Those of one line, when all of them are changes. */
export function changesOf(value: unknown): Change[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const changes: Change[] = [];
  for (const item of value) {
    const change = changeOf(item);
    if (change === undefined) return undefined;
    changes.push(change);
  }
  return changes;
}
