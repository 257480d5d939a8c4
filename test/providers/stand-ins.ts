/** What providers and stage `call` are handed in their tests: a real call, and a host with nothing behind it. */
import { ByteBudget } from "../../src/base/byte-budget.ts";
import { Call } from "../../src/pipeline/call.ts";
import type { ProviderRequest } from "../../src/plugin/chat.ts";
import type { ChatChunk, Clock, Host, Message } from "../../src/plugin/index.ts";
import type { ProviderFailure, ProviderSink } from "../../src/provider-kit/index.ts";
import { memoryStore } from "../../src/state/memory/memory.ts";

/** A call as it stands when stage `call` is reached. `cancel` it as the core would. */
export function callAt(
  clock: Clock,
  about: {
    readonly headers?: Record<string, string>;
    readonly stream?: boolean;
    readonly messages?: readonly Message[];
  } = {},
): Call {
  const { log, random } = hostWith(clock);
  const call = new Call({
    rt: {
      clock,
      log,
      buffered: new ByteBudget(1_000_000),
      store: memoryStore({ clock, random, maxSessions: 1 }),
    },
    requestId: "11111111-1111-4111-8111-111111111111",
    surface: "chat",
    scope: "chat",
    method: "POST",
    path: "/api/p/slug",
    headers: about.headers ?? {},
    clientAddress: "127.0.0.1",
    project: { uuid: "p", id: 1, name: "P" },
    nowMs: clock.nowMs(),
    monotonicMs: clock.monotonicMs(),
  });
  call.stream = about.stream ?? false;
  call.messages = about.messages ?? [{ role: "user", content: "Is the kettle on?" }];
  return call;
}

export interface LoggedWarning {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A host for plugins that want a clock, a log and ids, and nothing else. Warnings are kept. */
export function hostWith(clock: Clock): Host & { readonly warnings: LoggedWarning[] } {
  const warnings: LoggedWarning[] = [];
  const nothing = (): never => {
    throw new Error("not part of this test");
  };
  const silent = (): void => {};
  return {
    warnings,
    plugin: "test",
    clock,
    log: {
      debug: silent,
      info: silent,
      warn: (fields, message) => void warnings.push({ fields, message }),
      error: silent,
    },
    random: { uuid: () => "22222222-2222-4222-8222-222222222222", fraction: () => 0.5 },
    schemas: { compile: nothing },
    sessions: { open: nothing, historyCharacters: nothing, delete: nothing },
    metrics: { counter: nothing, histogram: nothing, gauge: () => ({ series: () => () => undefined }) },
    requestLog: { enabled: false, write: nothing },
    redact: nothing,
    fetch: nothing,
    store: { get: nothing, set: nothing, delete: nothing, increment: nothing },
  };
}

export function requestFor(model: string, about: Partial<ProviderRequest> = {}): ProviderRequest {
  return {
    model,
    messages: [{ role: "user", content: "Is the kettle on?" }],
    temperature: undefined,
    topP: undefined,
    maxOutputTokens: undefined,
    responseSchema: undefined,
    options: undefined,
    ...about,
  };
}

/** A sink that keeps what it is given; `over` resolves with the failure, or undefined after a clean end. */
export interface KeepingSink extends ProviderSink {
  readonly begun: { readonly id: string; readonly model: string }[];
  readonly batches: (readonly ChatChunk[])[];
  readonly over: Promise<ProviderFailure | undefined>;
  text(): string;
  /** The last chunk that ends the answer. */
  finish(): ChatChunk | undefined;
  /** Resolves with the next batch. */
  nextBatch(): Promise<readonly ChatChunk[]>;
}

export function keepingSink(): KeepingSink {
  const begun: { readonly id: string; readonly model: string }[] = [];
  const batches: (readonly ChatChunk[])[] = [];
  let settle: (failed: ProviderFailure | undefined) => void = () => {};
  let next: (chunks: readonly ChatChunk[]) => void = () => {};
  const over = new Promise<ProviderFailure | undefined>((resolve) => (settle = resolve));
  const chunks = (): ChatChunk[] => batches.flat();
  return {
    begun,
    batches,
    over,
    text: () =>
      chunks()
        .map(({ text }) => text)
        .join(""),
    finish: () => chunks().findLast(({ finishReason }) => finishReason !== undefined),
    nextBatch: () => new Promise((resolve) => (next = resolve)),
    begin: (id, model) => void begun.push({ id, model }),
    batch: (added) => {
      batches.push(added);
      next(added);
    },
    end: () => settle(undefined),
    fail: settle,
  };
}
