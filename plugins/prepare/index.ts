/**
 * Stage prepare: what the model is sent. The endpoint's prompt first, then the conversation's history, then the
 * client's messages, the last user message wrapped in the template. Keeps the conversation when the call succeeded.
 */

import {
  andThen,
  conversationOwner,
  countCharacters,
  definePlugin,
  type Exchange,
  estimateTokens,
  type GatewayError,
  isGatewayError,
  type MaybePromise,
  type Message,
  type OpenSession,
  type OptionsOf,
  type Outcome,
  parseTemplate,
  reject,
  slot,
} from "sluice/plugin";
import type { ContentPart } from "sluice/provider";
import type { CoreExchange } from "../../src/plugin/exchange.ts";

const endpointKeys = {
  prompt: { type: "string" },
  user_prompt_template: { type: "string" },
  sessions_enabled: {
    type: "boolean",
    description: "Whether conversations are kept by the gateway.",
    default: false,
  },
  session_ttl_seconds: {
    type: "integer",
    description: "Idle time after which a session is gone.",
    ...{ minimum: 60, maximum: 604_800, default: 3600 },
  },
  session_max_messages: {
    type: "integer",
    description: "Messages kept, of both sides.",
    ...{ minimum: 1, maximum: 500, default: 50 },
  },
  session_max_tokens: {
    type: ["integer", "null"],
    description: "Tokens kept; null: unlimited.",
    ...{ minimum: 1, maximum: 1_000_000_000, default: null, examples: [16_000] },
  },
  session_overflow: {
    type: "string",
    description: "When a session is full: the oldest turns go, or 422.",
    ...{ enum: ["trim", "reject"], default: "trim" },
  },
} as const;

type Options = OptionsOf<object, typeof endpointKeys>;

/** A conversation held by a call, and the client's messages of this turn, after masks and before the template. */
interface Turn {
  readonly session: OpenSession;
  readonly history: readonly Message[];
  readonly said: readonly Message[];
}

const turnOf = slot<Turn>("session turn");

export default definePlugin({
  name: "prepare",
  stage: "prepare",
  description: "Builds what the model is sent: prompt, history, template; keeps conversations.",
  schema: {
    type: "object",
    required: ["prompt", "user_prompt_template", "sessions_enabled"],
    properties: endpointKeys,
  },
  endpointKeys,
  examples: [{ prompt: "Answer briefly.", user_prompt_template: "Q: {{input}}", sessions_enabled: false }],
  setup(options, host) {
    const system: readonly Message[] =
      options.prompt === "" ? [] : [Object.freeze({ role: "system", content: options.prompt } as const)];
    const wrapper = parseTemplate(options.user_prompt_template);
    const ttlMs = options.session_ttl_seconds * 1000;

    function compose(x: Exchange, history: readonly Message[]): undefined {
      const said = wrapLastUser(x.messages, wrapper);
      if (system.length > 0 || history.length > 0) x.replaceMessages([...system, ...history, ...said]);
      else x.replaceMessages(said);
    }

    function resume(x: CoreExchange, session: OpenSession): Outcome {
      const said = x.messages;
      turnOf.set(x, { session, history: session.history, said });
      const fitted = fit(session.history, said, options);
      if (isGatewayError(fitted)) return fitted;
      turnOf.set(x, { session, history: fitted, said });
      x.sessionId = session.id;
      compose(x, fitted);
      return undefined;
    }

    // No commit and no finish: hooks that have nothing to do are not called.
    if (!options.sessions_enabled) {
      return {
        request: (x) =>
          x.body["session_id"] === undefined ? compose(x, []) : reject("sessions_disabled", {}),
      };
    }
    return {
      request(x: CoreExchange): MaybePromise<Outcome> {
        const id = x.body["session_id"];
        const wanted = typeof id === "string" ? id : undefined;
        return andThen(host.sessions.open(conversationOwner(x), wanted, ttlMs, x), (session) => {
          if (session === "missing") return reject("session_not_found", { id: wanted ?? "" });
          if (session === "unavailable") return reject("state_unavailable", {});
          if (session === "busy") return reject("session_busy", {}, { retryAfterSeconds: 1 });
          // It waited for its turn longer than its client did.
          if (x.ended) return void session.close();
          return resume(x, session);
        });
      },
      commit(x, result) {
        const turn = turnOf.get(x);
        if (turn === undefined) return undefined;
        const answer: Message = { role: "assistant", content: result.content };
        const { session } = turn;
        // An answer whose turn is not kept would let the client go on in a conversation that has forgotten it.
        return andThen(session.save([...turn.history, ...turn.said, answer]), () =>
          session.isUnsaved ? reject("state_unavailable", {}) : undefined,
        );
      },
      finish(x) {
        turnOf.get(x)?.session.close();
      },
    };
  },
});

function wrapLastUser(
  messages: readonly Message[],
  wrapper: ReturnType<typeof parseTemplate>,
): readonly Message[] {
  const last = messages.findLastIndex((message) => message.role === "user");
  const wrapped = messages[last];
  if (wrapped === undefined) return messages;
  const content = wrapped.content;
  const filled = typeof content === "string" ? wrapper.fill(content) : filledParts(content, wrapper);
  return filled === content ? messages : messages.toSpliced(last, 1, { ...wrapped, content: filled });
}

/** Of parts, the template wraps the text that comes last: what is asked, after what it is asked about. */
function filledParts(
  parts: readonly ContentPart[],
  wrapper: ReturnType<typeof parseTemplate>,
): readonly ContentPart[] {
  const at = parts.findLastIndex((part) => part.type === "text");
  const part = parts[at];
  return part?.type === "text" ? parts.toSpliced(at, 1, { ...part, text: wrapper.fill(part.text) }) : parts;
}

/**
 * Fits this turn into the session: the user messages and the answer it will add. Drops the oldest turns whole, or refuses.
 * The token cap counts what is kept before the answer, by the 4-characters rule.
 */
function fit(
  history: readonly Message[],
  said: readonly Message[],
  options: Options,
): readonly Message[] | GatewayError {
  let kept = history;
  for (;;) {
    const messages = kept.length + said.length + 1;
    const tokens = estimateTokens(countCharacters(kept) + countCharacters(said));
    const overMessages = messages > options.session_max_messages;
    const overTokens = options.session_max_tokens !== null && tokens > options.session_max_tokens;
    if (!overMessages && !overTokens) return kept;
    if (options.session_overflow === "reject") {
      return overMessages
        ? reject("session_messages", { n: messages, max: options.session_max_messages })
        : reject("session_tokens", { n: tokens, max: options.session_max_tokens ?? 0 });
    }
    if (kept.length === 0) return kept;
    kept = kept.slice(oldestTurnLength(kept));
  }
}

/** A turn ends with its answer: everything up to and including the first assistant message. */
function oldestTurnLength(history: readonly Message[]): number {
  const answer = history.findIndex((message) => message.role === "assistant");
  return answer < 0 ? history.length : answer + 1;
}
