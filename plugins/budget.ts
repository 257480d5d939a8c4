/**
 * Stage budget: reserves what a call may cost against the month of its endpoint and of its token. The core puts the
 * actual cost in the reservation's place when the call ends. Sums are kept also where no cap stands.
 */
import {
  andThen,
  contentLength,
  conversationOwner,
  definePlugin,
  type Exchange,
  estimateTokens,
  formatUsd,
  type GatewayError,
  type MaybePromise,
  type Outcome,
  reject,
  type SpendClaim,
  type TokenRef,
  template,
  type Usage,
} from "sluice/plugin";

/** Nano-dollars a token. */
interface Price {
  readonly input: number;
  readonly cached_input: number;
  readonly output: number;
}

interface Options {
  /** What the endpoint's sum is kept under. */
  readonly subject: string;
  readonly cap_nano_usd: number | null;
  /** The cap as the config writes it, for the message. */
  readonly cap_text: string;
  /** Keyed by `provider/model` of the targets; `*` for all. Without a price a call costs nothing. */
  readonly prices: Readonly<Record<string, Price>>;
  readonly max_output_tokens: number;
  readonly budget_estimate: "worst_case" | "expected";
  readonly prompt: string;
  readonly user_prompt_template: string;
  /** Where `prepare` keeps conversations, when the endpoint has them. */
  readonly sessions_enabled: boolean;
}

/** Answers remembered for `budget_estimate: expected`. */
const RECENT_MAX = 128;

export default definePlugin<Options>({
  name: "budget",
  stage: "budget",
  description: "Holds the monthly budgets of endpoints and tokens by reserving before the call.",
  schema: { type: "object", required: ["subject", "prices"], properties: { prices: { type: "object" } } },
  examples: [{ subject: "p/s", prices: { "*": { input: 1000, cached_input: 1000, output: 1000 } } }],
  setup(options, host) {
    const listed = Object.values(options.prices);
    if (listed.length === 0) return {};
    const dearest: Price = {
      input: Math.max(...listed.map((price) => price.input)),
      cached_input: Math.max(...listed.map((price) => price.cached_input)),
      output: Math.max(...listed.map((price) => price.output)),
    };
    const wrapper = template(options.user_prompt_template);
    const endpointKey = `spend:${options.subject}`;
    const recent = recentAnswers();

    /** Characters of everything that would be sent (CONTRACT section 4), history aside. */
    function sentCharacters(x: Exchange): number {
      const asked = x.messages.findLast((message) => message.role === "user")?.content;
      const last = asked === undefined ? undefined : contentLength(asked);
      const added = last === undefined ? 0 : wrapper.filledCharacters(last) - last;
      return options.prompt.length + x.receivedCharacters + added;
    }

    function claim(x: Exchange, characters: number): Outcome {
      const inputTokens = estimateTokens(characters);
      const outputTokens =
        options.budget_estimate === "expected"
          ? Math.min(options.max_output_tokens, recent.percentile95() ?? options.max_output_tokens)
          : options.max_output_tokens;
      const inputNanoUsd = Math.ceil(inputTokens * dearest.input);
      const estimateNanoUsd = inputNanoUsd + Math.ceil(outputTokens * dearest.output);
      const amounts = { estimateNanoUsd, inputNanoUsd, prices: options.prices, x };
      x.claim(new EndpointClaim(endpointKey, options.cap_nano_usd ?? undefined, options.cap_text, amounts));
      const { token } = x;
      x.claim(new TokenClaim(tokenKey(token), token.monthlyCapNanoUsd, token.monthlyCapText, amounts));
      return undefined;
    }

    return {
      request(x): MaybePromise<Outcome> {
        const characters = sentCharacters(x);
        const resumed = options.sessions_enabled ? x.body["session_id"] : undefined;
        if (typeof resumed !== "string") return claim(x, characters);
        const history = host.sessions.peekCharacters(conversationOwner(x), resumed);
        return andThen(history, (stored) => claim(x, characters + stored));
      },
      finish(_x, end) {
        if (end.usage !== undefined && end.outcome === "done") recent.add(end.usage.completionTokens);
      },
    };
  },
});

interface Amounts {
  readonly estimateNanoUsd: number;
  readonly inputNanoUsd: number;
  readonly prices: Options["prices"];
  readonly x: Exchange;
}

/** A class, not closures: two are made on every call. */
abstract class MonthClaim implements SpendClaim {
  readonly kind = "spend";
  readonly key: string;
  readonly capNanoUsd: number | undefined;
  readonly estimateNanoUsd: number;
  readonly inputNanoUsd: number;
  readonly #capText: string;
  readonly #amounts: Amounts;

  constructor(key: string, capNanoUsd: number | undefined, capText: string, amounts: Amounts) {
    this.key = key;
    this.capNanoUsd = capNanoUsd;
    this.estimateNanoUsd = amounts.estimateNanoUsd;
    this.inputNanoUsd = amounts.inputNanoUsd;
    this.#capText = capText;
    this.#amounts = amounts;
  }

  abstract refuse(spentNanoUsd: number): GatewayError;

  costNanoUsd(usage: Usage): number {
    return cost(priceOf(this.#amounts.prices, this.#amounts.x), usage);
  }

  protected words(spentNanoUsd: number): { spent: string; estimate: string; cap: string } {
    return { spent: formatUsd(spentNanoUsd), estimate: formatUsd(this.estimateNanoUsd), cap: this.#capText };
  }
}

class EndpointClaim extends MonthClaim {
  refuse(spentNanoUsd: number): GatewayError {
    return reject("endpoint_budget", this.words(spentNanoUsd));
  }
}

class TokenClaim extends MonthClaim {
  refuse(spentNanoUsd: number): GatewayError {
    return reject("token_budget", this.words(spentNanoUsd));
  }
}

const tokenKeys = new WeakMap<TokenRef, string>();

function tokenKey(token: TokenRef): string {
  let key = tokenKeys.get(token);
  if (key === undefined) tokenKeys.set(token, (key = `spend:token:${token.projectUuid}/${token.id}`));
  return key;
}

function priceOf(prices: Options["prices"], x: Exchange): Price | undefined {
  const last = x.attempts.at(-1);
  return prices["*"] ?? prices[`${last?.provider}/${last?.model}`];
}

function cost(price: Price | undefined, usage: Usage): number {
  if (price === undefined) return 0;
  const cached = usage.cachedPromptTokens ?? 0;
  const fresh = usage.promptTokens - cached;
  // Total tokens, where a provider counts more of them than prompt and completion, are paid as output.
  const output = Math.max(usage.completionTokens, usage.totalTokens - usage.promptTokens);
  return Math.round(fresh * price.input + cached * price.cached_input + output * price.output);
}

/** The 95th percentile of the latest completions, sorted anew only after a new one came. */
function recentAnswers(): { add(tokens: number): void; percentile95(): number | undefined } {
  const ring: number[] = [];
  let next = 0;
  let sorted: number[] | undefined;
  return {
    add(tokens) {
      ring[next] = tokens;
      next = (next + 1) % RECENT_MAX;
      sorted = undefined;
    },
    percentile95() {
      sorted ??= ring.toSorted((a, b) => a - b);
      return sorted[Math.ceil(sorted.length * 0.95) - 1];
    },
  };
}
