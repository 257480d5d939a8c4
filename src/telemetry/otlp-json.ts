/** Pieces of OTLP's JSON: attributes, times, spans, and the request around them. Knows the format and no name in it. */

/** OTLP's SpanKind. */
export const SERVER = 2;
export const CLIENT = 3;

/** OTLP's SpanFlags: sampled, and it is known whether the parent is in another process. */
const FLAGS = 0x101;
const PARENT_IS_REMOTE = 0x200;

/** Attributes of one span or resource, written as they are added. Names need no escapes. */
export class Attributes {
  #json = "";

  text(name: string, value: string): this {
    return this.#add(name, `{"stringValue":${JSON.stringify(value)}}`);
  }

  /** Nothing for "": there is none. */
  optional(name: string, value: string | undefined): this {
    return value === undefined || value === "" ? this : this.text(name, value);
  }

  /** A whole number; nothing for undefined. */
  count(name: string, value: number | undefined): this {
    return value === undefined ? this : this.#add(name, `{"intValue":"${value}"}`);
  }

  real(name: string, value: number | undefined): this {
    return value === undefined ? this : this.#add(name, `{"doubleValue":${value}}`);
  }

  flag(name: string, value: boolean): this {
    return this.#add(name, `{"boolValue":${value}}`);
  }

  /** Nothing for an empty list. */
  texts(name: string, values: readonly string[]): this {
    if (values.length === 0) return this;
    const list = values.map((value) => `{"stringValue":${JSON.stringify(value)}}`);
    return this.#add(name, `{"arrayValue":{"values":[${list.join(",")}]}}`);
  }

  /** The list as JSON. */
  json(): string {
    return `[${this.#json}]`;
  }

  #add(name: string, value: string): this {
    this.#json += `${this.#json === "" ? "" : ","}{"key":"${name}","value":${value}}`;
    return this;
  }
}

export interface Span {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** undefined: it is the first of its trace. */
  readonly parentId: string | undefined;
  readonly name: string;
  readonly kind: typeof SERVER | typeof CLIENT;
  /** Unix milliseconds, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** What went wrong; undefined: nothing did. */
  readonly error: string | undefined;
}

export function spanJson(span: Span): string {
  const parent = span.parentId === undefined ? "" : `"parentSpanId":"${span.parentId}",`;
  const flags = span.kind === SERVER && span.parentId !== undefined ? FLAGS | PARENT_IS_REMOTE : FLAGS;
  const status =
    span.error === undefined ? "" : `,"status":{"code":2,"message":${JSON.stringify(span.error)}}`;
  return `{"traceId":"${span.traceId}","spanId":"${span.spanId}",${parent}"flags":${flags},"name":${JSON.stringify(span.name)},"kind":${span.kind},"startTimeUnixNano":"${nanos(span.startMs)}","endTimeUnixNano":"${nanos(span.endMs)}","attributes":${span.attributes.json()}${status}}`;
}

/** An ExportTraceServiceRequest. `spans`: as spanJson writes them. */
export function exportJson(resource: Attributes, version: string, spans: readonly string[]): string {
  return `{"resourceSpans":[{"resource":{"attributes":${resource.json()}},"scopeSpans":[{"scope":{"name":"sluice","version":"${version}"},"spans":[${spans.join(",")}]}]}]}`;
}

/** Nanoseconds in text, since they are beyond what a number holds exactly. */
function nanos(ms: number): string {
  const microseconds = Math.round(ms * 1000);
  return `${microseconds}000`;
}
