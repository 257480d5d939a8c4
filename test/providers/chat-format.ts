/** Speaks OpenAI's chat format without a wire, for the tests of those who speak it: what goes out, what is made of what comes back. */
import assert from "node:assert/strict";
import type { ProviderRequest } from "../../src/plugin/chat.ts";
import type { ChatChunk, ChatResult, Host, MaybePromise } from "../../src/plugin/index.ts";
import {
  isFailure,
  type Provider,
  type ProviderFailure,
  type WireFormat,
} from "../../src/provider-kit/index.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { hostWith, requestFor } from "./stand-ins.ts";

export const CREDENTIAL = { name: "main", apiKey: "sk-test", baseUrl: "https://api.example/v1" };

/** A host whose ids are 1, 2, 3 … */
export function countingHost(): Host {
  let made = 0;
  return { ...hostWith(virtualClock()), random: { uuid: () => `made-${++made}`, fraction: () => 0.5 } };
}

/** The wire format that a provider's setup gave. */
export async function formatOf(setup: MaybePromise<WireFormat | Provider>): Promise<WireFormat> {
  const given = await setup;
  assert.ok("encode" in given);
  return given;
}

export interface Asked {
  readonly model?: string;
  readonly about?: Partial<ProviderRequest>;
  readonly stream?: boolean;
}

/** The body of a call. */
export function bodyOf(format: WireFormat, asked: Asked = {}): Record<string, unknown> {
  const { model = "tea-1", about = {}, stream = false } = asked;
  return JSON.parse(format.encode(requestFor(model, about), CREDENTIAL, stream).body);
}

export interface Choice {
  readonly message?: object;
  readonly finish_reason?: unknown;
  /** Beside the choices. */
  readonly rest?: object;
}

/** A whole answer as read. */
export function answerOf(format: WireFormat, choice: Choice = {}): ChatResult {
  const { message = { content: "Tea." }, finish_reason = "stop", rest = {} } = choice;
  const answer = { id: "answer-1", model: "tea-1-large", choices: [{ index: 0, message, finish_reason }] };
  const decoded = format.decode(JSON.stringify({ ...answer, ...rest }));
  assert.ok(!isFailure(decoded));
  return decoded;
}

/** An event; a list of them is what `streamOf` reads. */
export function event(delta: object, finish_reason: string | null = null, rest: object = {}): object {
  return { id: "answer-1", model: "tea-1-large", choices: [{ index: 0, delta, finish_reason }], ...rest };
}

export interface Streamed {
  readonly chunks: readonly ChatChunk[];
  readonly complete: boolean;
  readonly failed: ProviderFailure | undefined;
}

/** Feeds events, or their texts, to a fresh decoder. */
export function streamOf(format: WireFormat, events: readonly unknown[]): Streamed {
  const decoder = format.decoder();
  const chunks: ChatChunk[] = [];
  let failed: ProviderFailure | undefined;
  for (const one of events) {
    failed ??= decoder.event("", typeof one === "string" ? one : JSON.stringify(one), chunks);
  }
  return { chunks, complete: decoder.complete, failed };
}

/** Text, reason, the provider's own word for it, and whether the event passes as it came. */
export const brief = ({ text, finishReason, providerFinishReason, native }: ChatChunk): unknown[] => [
  text,
  finishReason,
  providerFinishReason,
  native !== undefined,
];

/** Why a text with an error status failed, as people are told. */
export function reasonOf(format: WireFormat, text: string, status = 400): string {
  return format.failure(status, {}, text).reason;
}
