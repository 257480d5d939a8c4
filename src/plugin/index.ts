/** `sluice/plugin`: the public API of stages, guardrails and stores. Providers use `sluice/provider`. */
export { bearerToken } from "./bearer.ts";
export type { ChatChunk, ChatResult, Message } from "./chat.ts";
export { textChunk } from "./chat.ts";
export { contentLength, contentText, countCharacters } from "./content.ts";
export type {
  Answer,
  AnswerStream,
  ChunkHook,
  ChunkSink,
  Edit,
  Guardrail,
  Hooks,
  Outcome,
  StoreHost,
  Target,
  TextContext,
  Verdict,
} from "./contract.ts";
export { block, replace, STAGES } from "./contract.ts";
export { defineGuardrail, definePlugin, defineProvider, defineStore } from "./define.ts";
export type { GatewayError } from "./errors.ts";
export { isGatewayError, refuse, reject } from "./errors.ts";
export { estimateTokens, formatUsd } from "./estimate.ts";
export type { CallEnd, Exchange, RateClaim, SpendClaim } from "./exchange.ts";
export { conversationOwner, slot } from "./exchange.ts";
export type { Clock, Host, MetricFamily, OpenSession } from "./host.ts";
export type { MaybePromise } from "./maybe-promise.ts";
export { andThen, isPromise } from "./maybe-promise.ts";
export { PRICE_SCHEDULE } from "./price-schedule.ts";
export type { OptionsOf } from "./schema-type.ts";
export type { AuditRecord, Override, Reservation, StateStore, StoreClaim } from "./store.ts";
export { parseTemplate } from "./template.ts";
