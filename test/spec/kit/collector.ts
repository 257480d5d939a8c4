/** An OTLP collector: a fake upstream that takes traces, and what it got in plain objects. */
import { type FakeUpstream, fakeUpstream, jsonAnswer } from "../../../src/testing/fake-upstream.ts";
import { at } from "./at.ts";
import type { Closer } from "./gateway.ts";

export interface SeenSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** "" where there is none. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  /** What went wrong; "" where nothing did. */
  readonly error: string;
  /** Values in whatever type they were sent as; numbers of OTLP's text form as numbers. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface Collector extends FakeUpstream {
  /** All that came, in order. */
  spans(): readonly SeenSpan[];
}

/** Takes everything. */
export async function startCollector(closer: Closer): Promise<Collector> {
  const upstream = await fakeUpstream();
  closer.after(() => upstream.close());
  upstream.answer(jsonAnswer({ partialSuccess: {} }));
  return { ...upstream, spans: () => upstream.requests.flatMap(({ body }) => spansIn(body)) };
}

export function spansIn(body: string): readonly SeenSpan[] {
  return list(at(JSON.parse(body), "resourceSpans")).flatMap((resource) =>
    list(at(resource, "scopeSpans")).flatMap((scope) => list(at(scope, "spans")).map(seen)),
  );
}

function seen(span: unknown): SeenSpan {
  const text = (key: string): string => String(at(span, key) ?? "");
  return {
    traceId: text("traceId"),
    spanId: text("spanId"),
    parentId: text("parentSpanId"),
    name: text("name"),
    kind: Number(at(span, "kind")),
    startMs: Number(text("startTimeUnixNano")) / 1e6,
    endMs: Number(text("endTimeUnixNano")) / 1e6,
    error: at(span, "status", "code") === 2 ? String(at(span, "status", "message")) : "",
    attributes: Object.fromEntries(
      list(at(span, "attributes")).map((one) => [String(at(one, "key")), heldBy(at(one, "value"))]),
    ),
  };
}

function heldBy(value: unknown): unknown {
  const number = at(value, "intValue");
  if (number !== undefined) return Number(number);
  const values = at(value, "arrayValue", "values");
  if (values !== undefined) return list(values).map(heldBy);
  return at(value, "stringValue") ?? at(value, "doubleValue") ?? at(value, "boolValue");
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
