/** What one call did, under the keys of `expect`. */

import type { OfflineResult } from "../offline/result.ts";
import { asObject, parseJson } from "../provider-kit/index.ts";

const NANO_PER_USD = 1e9;

/** Keys without a value are absent. */
export type Observed = Readonly<Record<string, unknown>>;

export function observedOf(result: OfflineResult): Observed {
  const { answer, error, usage, headers, status } = result;
  const all = {
    ...{ status, headers, body: bodyOf(result), stage: result.refusedAt },
    error: error?.message,
    detail: error?.detail,
    scope: error?.scope,
    retry_after: error?.retryAfterSeconds ?? numberOf(headers["retry-after"]),
    content: answer?.content,
    finish_reason: answer?.finishReason,
    tool_calls:
      answer === undefined || answer.toolCalls.length === 0 ? undefined : answer.toolCalls.map(toolCallOf),
    usage: usage && {
      prompt: usage.promptTokens,
      completion: usage.completionTokens,
      total: usage.totalTokens,
    },
    cost_usd: result.costNanoUsd / NANO_PER_USD,
    sent: sentOf(result),
    guardrails: guardrailsOf(result),
    session_id: sessionOf(result),
    request_id: headers["x-request-id"],
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function bodyOf({ json, events, body }: OfflineResult): unknown {
  return events ?? json ?? body.toString("utf8");
}

function toolCallOf(call: {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}): object {
  return { id: call.id, name: call.name, arguments: parseJson(call.arguments) ?? call.arguments };
}

/** Of the provider that answered, which is the last that was asked, or of the upstream of a proxied call. */
function sentOf({ sent, upstream }: OfflineResult): object | undefined {
  const last = sent.at(-1);
  if (last !== undefined) {
    const { settings, options } = last;
    return {
      ...{ target: last.target, messages: last.messages, stream: last.streamed, method: last.method },
      ...{ path: new URL(last.url).pathname, body: parseJson(last.body) ?? last.body },
      temperature: options?.temperature ?? settings?.temperature,
      top_p: options?.topP ?? settings?.topP,
      max_output_tokens: options?.maxOutputTokens ?? settings?.maxOutputTokens,
      options,
    };
  }
  const passed = upstream.at(-1);
  if (passed === undefined) return undefined;
  const { method, path, headers, body } = passed;
  return { method, path, headers, body: body === "" ? undefined : (parseJson(body) ?? body) };
}

/** `pii[1]` is `pii`. */
function guardrailsOf({ guardrails }: OfflineResult): Readonly<Record<string, string>> {
  return Object.fromEntries(
    guardrails.flatMap(({ name, verdict }) =>
      name.endsWith("]")
        ? [[name, verdict]]
        : [
            [name, verdict],
            [`${name}[1]`, verdict],
          ],
    ),
  );
}

/** Everything that went over the wire, of all attempts. */
export function bytesSent({ sent, upstream }: OfflineResult): readonly string[] {
  return [
    ...sent.map(({ url, body }) => `${url}\n${body}`),
    ...upstream.map(({ path, headers, body }) => `${path}\n${Object.values(headers).join("\n")}\n${body}`),
  ];
}

function sessionOf({ headers, json }: OfflineResult): unknown {
  return headers["x-session-id"] ?? asObject(asObject(json)?.["meta"])?.["session_id"];
}

/** `ok`, `skipped`, `timeout`, `disconnect`, a status, or the failure in short. */
export function attemptWord({ outcome, status }: OfflineResult["attempts"][number]): string {
  if (outcome === "ok") return "ok";
  if (outcome.startsWith("skipped")) return "skipped";
  if (status !== undefined && status !== 200) return String(status);
  if (outcome.includes("timed out")) return "timeout";
  return /unreachable|connection/.test(outcome) ? "disconnect" : outcome;
}

/** A value that `save` names: `session_id`, `content`, `headers.NAME`, `body.PATH`. undefined: there is none. */
export function savedValue(observed: Observed, name: string): unknown {
  const [first = "", ...path] = name.split(".");
  if (first === "headers") return asObject(observed["headers"])?.[path.join(".").toLowerCase()];
  let value: unknown = observed[first];
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text);
}
