/**
 * Guards a request: every message of the roles that the guardrail judges, then everything outside the messages. Texts
 * judged in earlier turns of the conversation are not judged again.
 */
import type { Role } from "../plugin/chat.ts";
import { contentText } from "../plugin/content.ts";
import { coreExchange } from "../plugin/exchange.ts";
import type { Exchange, GatewayError, MaybePromise, Message, TextContext, Verdict } from "../plugin/index.ts";
import { conversationOwner, countCharacters, isGatewayError, isPromise, reject } from "../plugin/index.ts";
import { AdjacentTexts } from "./adjacent.ts";
import { applyVerdict, JUDGED_CHARACTERS_MAX, judge, verdictOn } from "./judge.ts";
import { Pace } from "./pieces.ts";
import { type JudgedText, MessageDraft, requestCharacters, requestTexts } from "./texts.ts";
import { Failure, type GuardContext } from "./verdict.ts";
import { cachedVerdict, cacheVerdict, verdictKey } from "./verdict-cache.ts";

/** Shorter requests are judged without reading the clock. */
const PACED_CHARACTERS = 8192;
const PACED_MESSAGES = 256;

/** Judges requests for one use of a guardrail. */
type InputGuard = (x: Exchange) => MaybePromise<GatewayError | undefined>;

const DEFAULT_ROLES: readonly Role[] = ["user", "tool"];

let uses = 0;

export function inputGuard(context: GuardContext): InputGuard {
  const useId = ++uses;
  const { guardrail, use, judgedCharactersMax: max = JUDGED_CHARACTERS_MAX } = context;
  return (x) => {
    const characters = x.messages === x.received ? x.receivedCharacters : countCharacters(x.messages);
    const judged = characters + requestCharacters(x.options);
    if (judged > max) return use.shadow ? undefined : reject("length_blocked", { n: judged, max });
    if (guardrail.subject === "call") return guardCall(context, x, characters);
    return new InputRun(context, x, { useId, characters }).run();
  };
}

/** For `subject: call`: judged once, with the first message as the text. */
function guardCall(
  context: GuardContext,
  x: Exchange,
  totalCharacters: number,
): MaybePromise<GatewayError | undefined> {
  const [first] = x.messages;
  const text = first === undefined ? "" : contentText(first.content);
  const about = {
    side: "input",
    role: first?.role ?? "user",
    totalCharacters,
    partial: false,
    exchange: x,
  } as const;
  const refusalOf = (judgement: Awaited<ReturnType<typeof judge>>): GatewayError | undefined =>
    isGatewayError(judgement) ? judgement : undefined;
  const judgement = judge(context, text, about);
  return isPromise(judgement) ? judgement.then(refusalOf) : refusalOf(judgement);
}

/** A text to judge. Its origin decides what a cached verdict means. */
interface Candidate {
  readonly text: JudgedText;
  readonly about: TextContext;
  /** `turn`: the newest message, always judged. `history`: an earlier message. `definition`: anything else. */
  readonly part: "turn" | "history" | "definition";
}

class InputRun {
  readonly #context: GuardContext;
  readonly #x: Exchange;
  readonly #useId: number;
  readonly #characters: number;
  readonly #pace: Pace | undefined;
  readonly #usesCache: boolean;
  #owner: string | undefined;
  /** A mutable copy of the messages, once an edit needed one. */
  #messages: Message[] | undefined;
  #message = -1;
  #draft: MessageDraft | undefined;
  #role: Role = "user";
  #texts: readonly JudgedText[] = [];
  #text = 0;
  #inOptions = false;
  readonly #adjacent: AdjacentTexts | undefined;
  /** Judged after the text that it ends with. */
  #seam: JudgedText | undefined;

  constructor(
    context: GuardContext,
    x: Exchange,
    { useId, characters }: { readonly useId: number; readonly characters: number },
  ) {
    this.#context = context;
    this.#x = x;
    this.#useId = useId;
    this.#characters = characters;
    const isLong = characters > PACED_CHARACTERS || x.messages.length > PACED_MESSAGES;
    this.#pace = isLong ? new Pace(context.clock) : undefined;
    this.#adjacent = context.guardrail.joinsTexts ? new AdjacentTexts(context.guardrail) : undefined;
    // Only a client that keeps its transcript sends a text again.
    const keepsTranscript = Array.isArray(x.body["messages"]);
    this.#usesCache = keepsTranscript && context.guardrail.cacheable !== false;
  }

  /** Synchronous until the guardrail returns a promise or the pace requires a yield. */
  run(): MaybePromise<GatewayError | undefined> {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const refusal = this.#judge(next);
      if (isPromise(refusal)) return refusal.then((settled) => settled ?? this.#resume());
      if (refusal !== undefined) return refusal;
      if (this.#pace?.due) return this.#pace.yield().then(() => this.#resume());
    }
    return undefined;
  }

  #resume(): MaybePromise<GatewayError | undefined> {
    return this.#x.ended ? undefined : this.run();
  }

  /** The next text to judge; undefined: all are judged. */
  #next(): Candidate | undefined {
    while (this.#seam === undefined && this.#text >= this.#texts.length) {
      if (this.#inOptions) return undefined;
      this.#leaveMessage();
      if (!this.#enterMessage()) this.#enterOptions();
    }
    const text = this.#seam ?? this.#texts[this.#text++];
    if (text === undefined) return undefined;
    this.#seam = text === this.#seam || this.#inOptions ? undefined : this.#adjacent?.seam(text);
    const isLast = this.#message === this.#x.messages.length - 1;
    const part = this.#inOptions ? "definition" : isLast ? "turn" : "history";
    return { text, part, about: this.#about() };
  }

  #about(): TextContext {
    return {
      side: "input",
      role: this.#role,
      totalCharacters: this.#characters,
      partial: false,
      exchange: this.#x,
    };
  }

  /** Stores the edited message in the list, which is copied once. */
  #leaveMessage(): void {
    const message = this.#draft?.finished();
    this.#draft = undefined;
    if (message === undefined || message === this.#x.messages[this.#message]) return;
    if (this.#messages === undefined) {
      this.#messages = [...this.#x.messages];
      this.#x.replaceMessages(this.#messages);
    }
    this.#messages[this.#message] = message;
  }

  /** False: there is no further message. */
  #enterMessage(): boolean {
    const message = this.#x.messages[++this.#message];
    if (message === undefined) return false;
    this.#role = message.role;
    this.#adjacent?.enter(message.role);
    this.#text = 0;
    this.#texts = [];
    if (!this.#judgesRole(message.role)) return true;
    this.#draft = new MessageDraft(message, `messages[${this.#message}]`);
    this.#texts = this.#draft.texts();
    return true;
  }

  /** Assistant messages of a request are written by the client and count as its text. */
  #judgesRole(role: Role): boolean {
    const { roles = DEFAULT_ROLES } = this.#context.use;
    return roles.includes(role === "assistant" ? "user" : role);
  }

  #enterOptions(): void {
    this.#inOptions = true;
    this.#role = "user";
    this.#text = 0;
    this.#texts = this.#judgesRole("user") ? requestTexts(this.#x) : [];
  }

  #judge(candidate: Candidate): MaybePromise<GatewayError | undefined> {
    const { text, about, part } = candidate;
    if (!this.#usesCache) return this.#ask(candidate, undefined);
    this.#owner ??= conversationOwner(this.#x);
    const scope = { useId: this.#useId, owner: this.#owner };
    const key = verdictKey(scope, part === "definition" ? part : about.role, text.source);
    const cached = part === "turn" ? undefined : cachedVerdict(key);
    if (cached === undefined) return this.#ask(candidate, key);
    return this.#repeat(candidate, cached.verdict);
  }

  #ask(candidate: Candidate, key: string | undefined): MaybePromise<GatewayError | undefined> {
    const { text, about } = candidate;
    const judged = text.text;
    const settle = (verdict: Verdict | Failure): GatewayError | undefined => {
      if (key !== undefined && !(verdict instanceof Failure)) cacheVerdict(key, verdict);
      return this.#apply(candidate, judged, verdict);
    };
    const verdict = verdictOn(this.#context, judged, about, this.#pace);
    return isPromise(verdict) ? verdict.then(settle) : settle(verdict);
  }

  /**
   * Repeats the verdict of an earlier turn. A text that was blocked then must not block the whole conversation, nor reach
   * the provider: it is replaced by a notice.
   */
  #repeat(candidate: Candidate, verdict: Verdict): GatewayError | undefined {
    if (verdict === undefined || this.#context.use.shadow) return undefined;
    if (verdict.verdict === "block" && candidate.part === "history") {
      this.#adjacent?.forget();
      this.#seam = undefined;
      candidate.text.withhold(`[Removed: blocked by guardrail '${this.#context.name}']`);
      return undefined;
    }
    return this.#apply(candidate, candidate.text.text, verdict);
  }

  #apply({ text, about }: Candidate, judged: string, verdict: Verdict | Failure): GatewayError | undefined {
    if (verdict === undefined) return undefined;
    coreExchange(this.#x).trace?.judging(this.#inOptions ? "request" : `messages[${this.#message}]`);
    const judgement = applyVerdict(this.#context, judged, about, verdict);
    if (isGatewayError(judgement)) return judgement;
    return judgement.length === 0 ? undefined : text.edit(judgement);
  }
}
