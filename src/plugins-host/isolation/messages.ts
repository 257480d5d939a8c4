/**
 * The messages between the gateway and the process of an isolated guardrail, and the check of those that the process
 * sends: its code is a plugin's, so that nothing it sends is used before `readChildMessage` has accepted it.
 */
import type { PluginModule } from "../../config/model.ts";
import type { PlainAbout } from "./plain-values.ts";

/** Which guardrail the process runs. */
export interface GuardrailSource {
  /** Where the guardrail comes from; undefined: it is built in. */
  readonly module: PluginModule | undefined;
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
}

export type GatewayMessage =
  /** The first message. `gatewayPid`: the process ends when its parent is another one. */
  | { readonly kind: "start"; readonly source: GuardrailSource; readonly gatewayPid: number }
  | { readonly kind: "judge"; readonly number: number; readonly text: string; readonly about: PlainAbout }
  | { readonly kind: "reply"; readonly number: number; readonly value: unknown }
  | { readonly kind: "close" };

/** The properties of a guardrail. */
export interface GuardrailTraits {
  readonly window: number | "whole";
  readonly subject: "text" | "call";
  readonly cacheable: boolean;
  readonly joinsTexts: boolean;
}

export type ChildMessage =
  | ({ readonly kind: "ready" } & GuardrailTraits)
  /** It could not be set up. */
  | { readonly kind: "unusable"; readonly message: string }
  /** Sent before `judge` is called, so that the gateway knows which judgement blocks the process. */
  | { readonly kind: "begun"; readonly number: number }
  /** `verdict`: checked by `verdictFrom` and by the caller of the guardrail. */
  | { readonly kind: "judged"; readonly number: number; readonly verdict: unknown }
  | { readonly kind: "failed"; readonly number: number; readonly message: string }
  | HostQuestion
  | LogLine
  | Measurement
  /** The cause of an exit that follows. */
  | { readonly kind: "dying"; readonly message: string };

/** A question to the guardrail's host. */
export interface HostQuestion {
  readonly kind: "ask";
  readonly number: number;
  readonly what: (typeof QUESTIONS)[number];
  readonly args: readonly unknown[];
}

export interface LogLine {
  readonly kind: "log";
  readonly level: (typeof LEVELS)[number];
  /** A JSON object. */
  readonly fields: string;
  readonly message: string;
}

export interface Measurement {
  readonly kind: "measure";
  readonly type: (typeof METRICS)[number];
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets: readonly number[];
  readonly values: readonly string[];
  readonly value: number;
}

const QUESTIONS = ["fetch", "get", "set", "delete", "increment"] as const;
const LEVELS = ["debug", "info", "warn", "error"] as const;
const METRICS = ["counter", "histogram", "gauge"] as const;

/** Questions of one process that may be open; further ones are answered as if nothing were found. */
export const QUESTIONS_MAX = 100;
/** Log lines in a second, and measurements in a second and for each judgement; further ones are dropped. */
export const LOG_LINES_MAX = 100;
export const MEASUREMENTS_MAX = 100;
/** Characters of a log line's fields, and of any message. */
export const LOG_FIELDS_CHARACTERS_MAX = 16_384;
export const TEXT_CHARACTERS_MAX = 2000;
/** Longest window of a stream (`Guardrail.window`). */
const WINDOW_MAX = 8192;
const LABELS_MAX = 10;
const LABEL_CHARACTERS_MAX = 200;
const BUCKETS_MAX = 50;
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/;
/** The gateway's own metrics. */
const RESERVED_NAME = /^(?:sluice|nodejs|process)_/;

/** undefined: it is not a message that a guardrail's process may send. */
export function readChildMessage(value: unknown): ChildMessage | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, "kind")) return undefined;
  // Each field is checked below before the message is used.
  const message = value as Readonly<Record<string, unknown>> & { readonly kind: unknown };
  const accepts = CHECKS.get(message.kind);
  return accepts?.(message) === true ? (value as ChildMessage) : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const CHECKS: ReadonlyMap<unknown, (fields: Fields) => boolean> = new Map([
  ["ready", isReady],
  ["unusable", ({ message }) => isText(message)],
  ["begun", ({ number }) => isNumber(number)],
  ["judged", ({ number }) => isNumber(number)],
  ["failed", ({ number, message }) => isNumber(number) && isText(message)],
  ["ask", isRequest],
  ["log", isLogLine],
  ["measure", isMeasurement],
  ["dying", ({ message }) => isText(message)],
] satisfies readonly (readonly [ChildMessage["kind"], (fields: Fields) => boolean])[]);

function isReady({ window, subject, cacheable, joinsTexts }: Fields): boolean {
  const isWindow = window === "whole" || (isNumber(window) && window <= WINDOW_MAX);
  const areFlags = typeof cacheable === "boolean" && typeof joinsTexts === "boolean";
  return isWindow && (subject === "text" || subject === "call") && areFlags;
}

function isRequest({ number, what, args }: Fields): boolean {
  return isNumber(number) && isOneOf(QUESTIONS, what) && Array.isArray(args) && args.length <= 3;
}

function isLogLine({ level, fields, message }: Fields): boolean {
  return isOneOf(LEVELS, level) && isText(fields, LOG_FIELDS_CHARACTERS_MAX) && isText(message);
}

function isMeasurement({ type, name, help, labels, buckets, values, value }: Fields): boolean {
  return (
    isOneOf(METRICS, type) &&
    isMetricName(name) &&
    isText(help) &&
    isList(labels, LABELS_MAX, isLabelName) &&
    isList(values, LABELS_MAX, isLabelValue) &&
    labels.length === values.length &&
    isList(buckets, BUCKETS_MAX, Number.isFinite) &&
    Number.isFinite(value) &&
    (type !== "counter" || Number(value) >= 0)
  );
}

function isMetricName(name: unknown): boolean {
  return typeof name === "string" && NAME.test(name) && !RESERVED_NAME.test(name);
}

function isLabelName(label: unknown): boolean {
  return typeof label === "string" && NAME.test(label) && !label.startsWith("__");
}

function isLabelValue(value: unknown): boolean {
  return isText(value, LABEL_CHARACTERS_MAX);
}

function isList(
  list: unknown,
  lengthMax: number,
  accepts: (item: unknown) => boolean,
): list is readonly unknown[] {
  return Array.isArray(list) && list.length <= lengthMax && list.every(accepts);
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isText(value: unknown, charactersMax = TEXT_CHARACTERS_MAX): boolean {
  return typeof value === "string" && value.length <= charactersMax;
}

function isOneOf(known: readonly unknown[], value: unknown): boolean {
  return known.includes(value);
}
