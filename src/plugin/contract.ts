/**
 * The plugin contract. Every stage, guardrail and provider of the gateway, built in or a third party's, is an object
 * of one of these shapes, made with its `define` function. This folder imports nothing of src, and plugins import
 * nothing else of it.
 */
import type { ChatChunk, ChatResult, JsonSchema, ProviderRequest, Role } from "./chat.ts";
import type { GatewayError } from "./errors.ts";
import type { CallEnd, Exchange } from "./exchange.ts";
import type { Clock, Host, Logger, Random } from "./host.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import type { Provider, SettingConstraint, WireFormat } from "./provider.ts";
import type { StateStore } from "./store.ts";

/** The ordered chain. A request walks down it, an answer walks back up. @since 0.1.0 */
export const STAGES = [
  "authenticate",
  "limit",
  "budget",
  "guard",
  "validate",
  "prepare",
  "call",
  "check",
  "record",
] as const;

export type Stage = (typeof STAGES)[number];

/** undefined: go on. GatewayError: refuse. ChatResult: answer without asking a provider. @since 0.1.0 */
export type Outcome = undefined | GatewayError | ChatResult;

/** What every plugin has. */
export interface PluginBase {
  /** Version of this contract. */
  readonly api: 1;
  /** What configs call it: kebab-case or snake_case, unique per kind. */
  readonly name: string;
  /** One sentence, for `sluice schema` and editors. */
  readonly description: string;
  /** JSON Schema (2020-12) of its options. Checked at load; errors show the line in the YAML. */
  readonly schema: JsonSchema;
  /** Options that the schema accepts, for docs and for the tester. */
  readonly examples: readonly unknown[];
}

/** Keys by name, with their schemas: `type`, and for a key that is declared here `description` and `default`. */
export type ConfigKeys = Readonly<Record<string, { readonly [keyword: string]: unknown }>>;

/** A plugin that stands at one stage of the chain. */
export interface StagePlugin<C = unknown> extends PluginBase {
  readonly kind: "stage";
  readonly stage: Stage;
  /**
   * Keys of endpoints that it reads: `setup` is handed their values among its options. A schema with a description
   * declares the key; one without names the type of a key that is declared elsewhere. Built-in stages only.
   * @since 0.2.0
   */
  readonly endpointKeys?: ConfigKeys;
  /** True: aliases have the keys that it declares as well. Default: endpoints alone. @since 0.2.0 */
  readonly areAliasKeys?: boolean;
  /** Called once per different config and generation; build tables, patterns and pools here. */
  setup(config: C, host: Host): MaybePromise<Hooks>;
}

/**
 * What a stage does. All optional: presence is registration. Request hooks run down the chain, the others up it.
 * @since 0.1.0
 */
export interface Hooks {
  /** Before the provider is asked. In stage authenticate the body has not been read yet. */
  request?(x: Exchange): MaybePromise<Outcome>;
  /** Stage `call` only, and exactly one: asks the targets, in order. */
  call?(x: Exchange, targets: readonly Target[]): MaybePromise<Answer>;
  /** A whole answer came: return it, another one, or a refusal. Not called for streams. */
  response?(x: Exchange, result: ChatResult): MaybePromise<ChatResult | GatewayError>;
  /** A streamed answer begins: return a hook for its chunks, or undefined to see none. */
  stream?(x: Exchange): ChunkHook | undefined;
  /**
   * The answer is final, as the client sees it. What is stored here is stored before the client has its last byte; an
   * error refuses the answer when it cannot be stored.
   */
  commit?(x: Exchange, result: ChatResult): MaybePromise<void> | MaybePromise<GatewayError | undefined>;
  /** Always, once, however the call ended. Runs up the chain; what it returns is awaited but delays no client. */
  finish?(x: Exchange, end: CallEnd): MaybePromise<void>;
  /**
   * False: `commit` and `finish` do not read the texts of the answer (`content`, arguments of tool calls). Where no hook
   * of a chain reads them a stream does not keep them, and they are empty in `end.result`. Default: true.
   * @since 0.2.0
   */
  readonly readsAnswer?: boolean;
  /** The last generation that uses this instance has retired. */
  close?(): MaybePromise<void>;
}

/** Per-stream state of one hook. @since 0.1.0 */
export interface ChunkHook {
  /** Return the chunk, another one, null to hold it back, or a refusal that ends the stream. */
  chunk(c: ChatChunk): MaybePromise<ChatChunk | GatewayError | null>;
  /** The answer is complete: return what was held back, if anything, or a refusal. */
  end?(): MaybePromise<ChatChunk | GatewayError | null>;
}

/** What stage `call` returns: a whole answer, a stream that has begun, or a refusal. @since 0.1.0 */
export type Answer = ChatResult | AnswerStream | GatewayError;

/** A streamed answer whose first content has come. @experimental @since 0.1.0 */
export interface AnswerStream {
  readonly kind: "stream";
  readonly id: string;
  readonly model: string;
  /** Provider key, for log and metrics. */
  readonly provider: string;
  /** Takes over delivery: what has come so far is given at once, in order. Called once. */
  attach(sink: ChunkSink): void;
  /** Holds back the provider (a slow client). */
  pause(): void;
  resume(): void;
  /** Ends the provider's call. No further event comes. Harmless after the end. */
  cancel(): void;
}

/**
 * Where the events of a streamed answer go. Exactly one of `end` and `fail` comes, last.
 * @experimental
 * @since 0.1.0
 */
export interface ChunkSink {
  /** All events of one network read, in order: written to the client in one piece. */
  batch(chunks: readonly ChatChunk[]): void;
  /** The provider's completion signal was seen. */
  end(): void;
  fail(failure: GatewayError): void;
}

/**
 * One entry of the ordered list of models to try: the primary first, then the failover entries.
 * @since 0.1.0
 */
export interface Target {
  /** Key of the provider, e.g. `openai`. */
  readonly provider: string;
  /** Label for messages, e.g. `OpenAI`. */
  readonly label: string;
  readonly model: string;
  readonly credential: string;
  /** False when `providers.<key>.enabled` is. */
  readonly enabled: boolean;
  /** False when the credential's `is_active` is. */
  readonly active: boolean;
  readonly client: Provider;
  /** The endpoint's settings with this target's model, ready but for its messages. */
  readonly settings: Omit<ProviderRequest, "messages" | "options">;
  /** Brings what a call wants in their place to what the model takes; absent: it takes everything. */
  fit?(wanted: Target["settings"]): Target["settings"];
  /** The most tokens that the model writes in one answer; undefined: not known. @since 0.2.0 */
  readonly outputTokensMax?: number | undefined;
}

/** A provider plugin: how one vendor's models are asked. */
export interface ProviderPlugin<C = unknown> extends PluginBase {
  readonly kind: "provider";
  /** For messages: `Provider call failed: <label> 500: …`. */
  readonly label: string;
  /** Where requests go when neither credential nor `providers.<key>` says; undefined: one must say. */
  readonly defaultBaseUrl: string | undefined;
  /** False: a credential needs no `api_key`. */
  readonly needsApiKey: boolean;
  /** Settings that its models refuse; all that match count, in their order. Default: none. */
  readonly constraints?: readonly SettingConstraint[] | ((config: C) => readonly SettingConstraint[]);
  /**
   * The limit that it sends for a model whose maximum is not known, where neither the configuration nor the call sets
   * one: for vendors that require a limit. Budgets reserve as much. Default: it sends none. @since 0.2.0
   */
  readonly outputTokensDefault?: number;
  /**
   * Returns a `WireFormat` (pure translation; sockets, timeouts and framing are the gateway's) or a `Provider` of its
   * own. `config` is a credential's `options`, checked against `schema`.
   */
  setup(config: C, host: Host): MaybePromise<WireFormat | Provider>;
}

/** A guardrail: judges texts on their way in and out. */
export interface GuardrailPlugin<C = unknown> extends PluginBase {
  readonly kind: "guardrail";
  /** Says before `setup` that its window is "whole", so that `sluice validate` can warn of held streams. Default: it is not. */
  buffersStream?(config: C): boolean;
  /** What the schema cannot say of options that it accepts. Asked at load, before `setup`. Default: nothing. */
  validateOptions?(config: C, use: GuardrailPlacement): readonly OptionError[];
  /** Which way its options change what it catches. Default: not known. @since 0.2.0 */
  readonly strength?: GuardrailStrength;
  setup(config: C, host: Host): MaybePromise<Guardrail>;
}

/** Where a guardrail is put to use. */
export interface GuardrailPlacement {
  readonly on: readonly ("input" | "output")[];
}

/**
 * Which way a change of an option goes, so that `sluice plan` can tell a protection that is weakened from one that is made
 * stricter. `more`: a larger number, `true`, or a list or map that gains entries, is stricter. `less`: the opposite.
 * `neutral`: the option decides nothing about what is caught. A list: the values, weakest first. A function: compares two
 * values (undefined: absent and without a default); it is pure and does not throw.
 * @since 0.2.0
 */
export type OptionStrength =
  | "more"
  | "less"
  | "neutral"
  | readonly (string | number | boolean)[]
  | ((before: unknown, after: unknown) => "stricter" | "weaker" | "same" | "unknown");

/**
 * By option of the plugin's schema; the direction of one that is absent is unknown, and counts as stricter and as weaker.
 * Where the values of a listed option include `mask`, a guardrail with that value masks; all others block.
 * @since 0.2.0
 */
export type GuardrailStrength = Readonly<Record<string, OptionStrength>>;

/** Something wrong with an option, shown at its place in the YAML. */
export interface OptionError {
  /** Name of the option; undefined: all of them together. */
  readonly option: string | undefined;
  readonly message: string;
  /** What to do about it. */
  readonly help?: string;
}

/** What `setup` of a guardrail returns. @since 0.1.0 */
export interface Guardrail {
  /** Says what to do with one text. Sync or async; an async one is bounded by `timeout_ms`. */
  judge(text: string, about: TextContext): MaybePromise<Verdict>;
  /**
   * The longest match it can find, in UTF-16 code units: on a stream so much text is held back, so that a match
   * across chunks is seen whole. At most 8192. "whole" (the default): the answer is held to its end.
   */
  readonly window?: number | "whole";
  /**
   * Code units that `judge` takes at most 5 ms for, whatever the text (or for this one). A longer text is then judged in pieces of this
   * size, as a stream is, and other calls are served in between. Needs a numeric `window`. Default: texts are judged
   * whole. Ignored with `isolate: true`.
   */
  readonly slice?: number | ((text: string) => number);
  /**
   * `call`: verdicts depend on what is known of the call (`totalCharacters`, for example) and not on the text. The
   * guardrail is then asked once for each call, whatever `roles` says. Default `text`.
   */
  readonly subject?: "text" | "call";
  /**
   * False: the verdict depends on more than the text and its role, so that verdicts of earlier turns of a conversation
   * are not reused. Default true.
   */
  readonly cacheable?: boolean;
  /**
   * True: of adjacent texts of one role, the end of one and the beginning of the next are judged together as well, each
   * as long as `window`, so that a phrase split over two messages is found. Only blocks count there. Default false.
   */
  readonly joinsTexts?: boolean;
  close?(): MaybePromise<void>;
}

/** What is known about a judged text beside the text. @since 0.2.0 */
export interface TextContext {
  readonly side: "input" | "output";
  readonly role: Role;
  /** Code units of this side in all: of all messages of the call, or of the answer up to the end of this text. */
  readonly totalCharacters: number;
  /** True when more text follows this piece: the window of a stream, or a piece of a long text. */
  readonly partial: boolean;
  /** Code units of the same text that precede this piece. Default 0: the text begins here. */
  readonly offset?: number;
  /** With `isolate: true` reduced to what says whose call it is; reading anything else throws. */
  readonly exchange: Exchange;
}

/** undefined: pass. @since 0.1.0 */
export type Verdict = undefined | Block | Replace;

export interface Block {
  readonly verdict: "block";
  /** What the client gets. Made with `reject` or `refuse`. */
  readonly error: GatewayError;
  /** For the log: which rule, which kind; none of the text. */
  readonly reason: string;
  /**
   * What it was refused for: ascending, not overlapping, in code units of the judged text. For `sluice explain` and
   * traces; nothing is replaced. Default: the guardrail does not say. @since 0.2.0
   */
  readonly spans?: readonly Span[];
}

/** A piece of a text: from `start` up to, not including, `end`, in UTF-16 code units. @since 0.2.0 */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Replace {
  readonly verdict: "replace";
  /** Spans to replace: ascending, not overlapping, in code units of the judged text. */
  readonly edits: readonly Edit[];
  /**
   * On input: the replacements are numbered (`[NAME]` becomes `[NAME_1]`), and where the answer says one, the client
   * sees what it stands for. The model, log, store and conversations see the replacement. Default false.
   */
  readonly restore?: boolean;
  /** For the log: which rule, which kind; none of the text. */
  readonly reason: string;
}

/** One span of a text and what replaces it, in UTF-16 code units. @since 0.1.0 */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A store: where limits, spend, sessions, overrides and the audit log are kept. `state.driver` names it. */
export interface StorePlugin<C = unknown> extends PluginBase {
  readonly kind: "store";
  /** Keys of `state` that it reads: `setup` is handed their values among its options. Built-in stores only. @since 0.2.0 */
  readonly stateKeys?: ConfigKeys;
  /** Called once, at start, with `state.options`; reloads leave the store as it is. Throws when it cannot be had. */
  setup(config: C, host: StoreHost): MaybePromise<StateStore>;
}

/** What is handed to a store. @since 0.1.0 */
export interface StoreHost {
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
  /** `state.max_sessions`. */
  readonly maxSessions: number;
}

/** Any plugin that a module may export. */
export type Plugin = StagePlugin<never> | ProviderPlugin<never> | GuardrailPlugin<never> | StorePlugin<never>;

/**
 * A verdict that refuses. `error` is what the client gets, `reason` what the log says. `spans`: see `Block`.
 * @since 0.1.0
 */
export function block(error: GatewayError, reason: string, spans?: readonly Span[]): Block {
  return spans === undefined
    ? { verdict: "block", error, reason }
    : { verdict: "block", error, reason, spans };
}

/**
 * A verdict that replaces spans of the text. `edits`: ascending, not overlapping. `restore`: see `Replace`.
 * @since 0.1.0
 */
export function replace(edits: readonly Edit[], reason: string, restore = false): Replace {
  return { verdict: "replace", edits, reason, restore };
}
