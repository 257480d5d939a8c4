/**
 * Stage budget: reserves what a call may cost against the month of its endpoint and of its token. The core puts the
 * actual cost in the reservation's place when the call ends. Sums are also kept without a cap.
 */
import {
  andThen,
  type CallEnd,
  contentLength,
  conversationOwner,
  definePlugin,
  type Exchange,
  estimateTokens,
  formatUsd,
  type GatewayError,
  type MaybePromise,
  type OptionsOf,
  type Outcome,
  PRICE_SCHEDULE,
  parseTemplate,
  reject,
  type SpendClaim,
} from "sluice/plugin";
import type { CallOptions, Usage } from "sluice/provider";
import { estimateAddedTokens, estimateMediaTokens } from "sluice/provider";
import { costNanoUsd, type PricedModel, worstCaseCost } from "./price-schedule.ts";

const endpointKeys = {
  budget_estimate: {
    type: "string",
    enum: ["worst_case", "expected"],
    description: "What is reserved for a call: the most it can cost, or what recent answers lead to expect.",
    default: "worst_case",
  },
  prompt: { type: "string" },
  user_prompt_template: { type: "string" },
  /** null: what `output_limits` say. */
  max_output_tokens: { type: ["integer", "null"] },
  /** True: conversations are kept, and their history counts. */
  sessions_enabled: { type: "boolean" },
} as const;

const byTarget = { type: "object", additionalProperties: PRICE_SCHEDULE } as const;

const schema = {
  type: "object",
  additionalProperties: false,
  required: ["subject", "cap_nano_usd", "cap_text", "schedules"],
  properties: {
    ...endpointKeys,
    /** What the endpoint's sum is kept under. */
    subject: { type: "string" },
    cap_nano_usd: { type: ["integer", "null"], minimum: 0 },
    /** The cap as the configuration writes it, for the message. */
    cap_text: { type: "string" },
    /** Keyed by `provider/model` of the targets; `*` for all. Without one a call costs nothing. */
    schedules: byTarget,
    /** By the list prices, where `schedules` is the endpoint's own price. */
    list_schedules: byTarget,
    /** Keyed as `schedules`: of other models that a provider may ask within an answer. */
    inner_schedules: byTarget,
    /** Keyed as `schedules`: tokens of one answer. `known`: the model's maximum; `assumed`: where nobody sets a limit. */
    output_limits: {
      type: "object",
      additionalProperties: {
        type: "object",
        required: ["known", "assumed"],
        properties: { known: { type: ["integer", "null"] }, assumed: { type: "integer" } },
      },
    },
    /** Of the schema that the answer must follow: it is sent too. */
    schema_characters: { type: "integer" },
    /** Those of the targets: images and tools cost by their rules. */
    providers: { type: "array", items: { type: "string" } },
  },
} as const;

type Options = OptionsOf<typeof schema, typeof endpointKeys>;

const NO_OPTIONS: CallOptions = Object.freeze({});
/** What still fits under every cap that is not reached. Never settled. */
const SMALLEST_NANO_USD = 1;

/** Answers remembered for `budget_estimate: expected`. */
const RECENT_MAX = 128;

export default definePlugin({
  name: "budget",
  stage: "budget",
  endpointKeys,
  areAliasKeys: true,
  description: "Holds the monthly budgets of endpoints and tokens by reserving before the call.",
  schema,
  examples: [
    {
      subject: "p/s",
      cap_nano_usd: null,
      cap_text: "",
      schedules: {
        "*": [{ from_ms: 0, rates: { input: 1000, cached_input: 1000, cache_write: 1000, output: 1000 } }],
      },
    },
  ],
  setup(options, host) {
    const models = pricedModels(options);
    if (models.length === 0) return { request: holdToken };
    const { schema_characters: schemaCharacters = 0, providers = [] } = options;
    const wrapper = parseTemplate(options.user_prompt_template);
    const endpointKey = `spend:${options.subject}`;
    const recent = options.budget_estimate === "expected" ? recentAnswers() : undefined;

    /** Characters of everything that would be sent (`cost.estimate.everything`), history aside. */
    function sentCharacters(x: Exchange): number {
      const asked = x.messages.findLast((message) => message.role === "user")?.content;
      const last = asked === undefined ? undefined : contentLength(asked);
      const added = last === undefined ? 0 : wrapper.filledCharacters(last) - last;
      const schema = x.options?.responseSchema === undefined ? schemaCharacters : 0;
      return (
        options.prompt.length + x.receivedCharacters + added + schema + (x.options?.promptCharacters ?? 0)
      );
    }

    function claim(x: Exchange, characters: number): Outcome {
      const inputTokens = estimateTokens(characters) + tokensBeside(x, providers);
      const { maxOutputTokens: outputTokens = Number.POSITIVE_INFINITY, n: answers = 1 } =
        x.options ?? NO_OPTIONS;
      const tier = requestedTier(x);
      const { estimateNanoUsd, inputNanoUsd } = worstCaseCost(
        models,
        { inputTokens, outputTokens, answers, expectedTokens: recent?.percentile95(), tier },
        x.startedAtMs,
      );
      const { schedules, list_schedules: listPrices, inner_schedules: innerPrices } = options;
      // Field by field: a spread costs microseconds, and this runs on every call.
      const amounts: Amounts = {
        estimateNanoUsd,
        inputNanoUsd,
        schedules,
        listSchedules: listPrices,
        innerSchedules: innerPrices,
        x,
      };
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
        const history = host.sessions.historyCharacters(conversationOwner(x), resumed);
        return andThen(history, (stored) => claim(x, characters + stored));
      },
      ...(recent !== undefined && {
        readsAnswer: false,
        finish(_x: Exchange, end: CallEnd): void {
          if (end.usage !== undefined && end.outcome === "done") recent.add(end.usage.completionTokens);
        },
      }),
    };
  },
});

/** Tokens of images, audio and tools, by the rule of the provider that counts most. */
function tokensBeside({ messages, options }: Exchange, providers: readonly string[]): number {
  let most = 0;
  for (const provider of providers) {
    const tokens = estimateMediaTokens(messages, provider) + estimateAddedTokens(options, provider);
    most = Math.max(most, tokens);
  }
  return most;
}

function pricedModels(options: Options): readonly PricedModel[] {
  const { schedules, max_output_tokens: cap, output_limits: limits = {} } = options;
  const all = Object.values(limits);
  return Object.entries(schedules).map(([key, schedule]) => {
    if (cap !== null) return { schedule, outputMax: cap, outputAssumed: cap };
    // A price for all models counts the longest answer that one of them may give.
    const own = limits[key] === undefined ? all : [limits[key]];
    return {
      schedule,
      outputMax: Math.max(0, ...own.map(({ known }) => known ?? Number.POSITIVE_INFINITY)),
      outputAssumed: Math.max(0, ...own.map(({ assumed }) => assumed)),
    };
  });
}

/** For calls that cost nothing: a token whose month is used up is refused on every surface (`budget.token.every-surface`). */
function holdToken(x: Exchange): Outcome {
  const { token } = x;
  if (token.monthlyCapNanoUsd === undefined) return undefined;
  const amounts = {
    estimateNanoUsd: SMALLEST_NANO_USD,
    inputNanoUsd: 0,
    schedules: {},
    listSchedules: undefined,
    innerSchedules: undefined,
    x,
  };
  x.claim(new TokenClaim(tokenKey(token), token.monthlyCapNanoUsd, token.monthlyCapText, amounts));
  return undefined;
}

interface Amounts {
  readonly estimateNanoUsd: number;
  readonly inputNanoUsd: number;
  readonly schedules: Options["schedules"];
  readonly listSchedules: Options["list_schedules"];
  readonly innerSchedules: Options["inner_schedules"];
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
    const { schedules, x } = this.#amounts;
    const own = schedules["*"];
    if (own === undefined) return this.#costByTarget(schedules, usage) ?? 0;
    // An endpoint's own price is for all its tokens, whatever the provider charges for.
    let cost = costNanoUsd(own, withoutBilled(usage), x.startedAtMs);
    for (const other of usage.otherModels ?? []) cost += costNanoUsd(own, other, x.startedAtMs);
    return cost;
  }

  listCostNanoUsd(usage: Usage): number | undefined {
    const { schedules, listSchedules = schedules } = this.#amounts;
    return this.#costByTarget(listSchedules, usage);
  }

  /** By the price of the target that answered, at the time of arrival, as reserved. */
  #costByTarget(schedules: Options["schedules"], usage: Usage): number | undefined {
    const { innerSchedules = schedules, x } = this.#amounts;
    const last = x.attempts.at(-1);
    const schedule = schedules[`${last?.provider}/${last?.model}`];
    if (schedule === undefined) return undefined;
    const tier = requestedTier(x);
    let cost = costNanoUsd(schedule, usage, x.startedAtMs, tier);
    const { otherModels, inferenceGeo, serviceTier } = usage;
    for (const other of otherModels ?? []) {
      // A model of which no price is known costs what the one costs that was asked.
      const price = innerSchedules[`${last?.provider}/${other.model}`] ?? schedule;
      const used: Usage = {
        ...other,
        ...(inferenceGeo !== undefined && { inferenceGeo }),
        ...(serviceTier !== undefined && { serviceTier }),
      };
      cost += costNanoUsd(price, used, x.startedAtMs, tier);
    }
    return cost;
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

const tokenKeys = new WeakMap<Exchange["token"], string>();

function tokenKey(token: Exchange["token"]): string {
  let key = tokenKeys.get(token);
  if (key === undefined) tokenKeys.set(token, (key = `spend:token:${token.projectUuid}/${token.id}`));
  return key;
}

function withoutBilled(usage: Usage): Usage {
  return usage.billed === undefined ? usage : { ...usage, billed: undefined };
}

/** The processing tier that a client asks for, in OpenAI's words; "": none. */
function requestedTier({ options }: Exchange): string {
  const tier = options?.extra?.["service_tier"];
  return typeof tier === "string" ? tier : "";
}

/** The 95th percentile of the latest completions, sorted again only after a new one. */
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
