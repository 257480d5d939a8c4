/**
 * What an endpoint's calls cost, as stage budget reads it: the endpoint's own price for all its models, else for each
 * target what the configuration's `prices` say, else the bundled table.
 */
import type { Money } from "../base/money.ts";
import type { PriceSchedule } from "../plugin/price-schedule.ts";
import type { EndpointConfig, PriceAmounts, PriceConfig, PriceList, ResolvedConfig } from "./model.ts";
import {
  cacheWrite1hTimes,
  findPrice,
  type LongPrompt,
  type PriceRow,
  pricedModels,
  runsOtherModels,
  type Tiers,
  tiersOf,
  type UsdPerMillion,
  webSearchUsd,
} from "./price-table.ts";

type Period = PriceSchedule[number];
type Prices = Pick<Period, "rates" | "long">;
type Rates = Period["rates"];

/** A configuration's own prices. */
type Priced = Pick<ResolvedConfig, "prices">;

interface Model {
  readonly provider: string;
  readonly model: string;
}

type Schedules = Readonly<Record<string, PriceSchedule>>;

/** Keyed by `provider/model`, or `*` for all. What costs nothing is left out: its calls need no reservation. */
export function schedulesOf(config: Priced, endpoint: EndpointConfig, targets: readonly Model[]): Schedules {
  const own = endpoint.estimated_cost_per_1k_tokens_usd;
  if (own !== null) return { "*": [{ from_ms: 0, rates: flat(own.nanoUsd / 1000) }] };
  return listSchedulesOf(config, targets);
}

/** By the list prices alone: what the calls would cost without a price of the endpoint's own. */
export function listSchedulesOf(config: Priced, targets: readonly Model[]): Schedules {
  const schedules: Record<string, readonly Period[]> = {};
  for (const target of targets) {
    const schedule = listScheduleOf(config, target);
    const costs = schedule.some(({ rates }) => Object.values(rates).some((rate) => rate > 0));
    if (costs) schedules[`${target.provider}/${target.model}`] = schedule;
  }
  return schedules;
}

/**
 * Of other models that these providers may run within an answer (an adviser, say): all that the price lists know. What
 * they are is known only when the answer comes.
 */
export function innerSchedulesOf(config: Priced, targets: readonly Model[]): Schedules {
  const providers = new Set(targets.map(({ provider }) => provider).filter(runsOtherModels));
  const models = [...providers].flatMap((provider) => [
    ...pricedModels(provider).map((model) => ({ provider, model })),
    ...config.prices.filter((price) => price.provider === provider),
  ]);
  return listSchedulesOf(config, models);
}

interface Book {
  readonly rows: ReadonlyMap<string, PriceConfig>;
  /** Made once for all endpoints that ask one model. */
  readonly schedules: Map<string, readonly Period[]>;
}

const books = new WeakMap<Priced, Book>();

/** The model's name under which `prices` has its price; undefined: they have none. */
export function configuredPriceName(config: Priced, { provider, model }: Model): string | undefined {
  const { rows } = bookOf(config);
  const price = findPrice(provider, model, (name) => rows.get(`${provider}/${name}`));
  return price !== undefined && "provider" in price ? price.model : undefined;
}

function bookOf(config: Priced): Book {
  let book = books.get(config);
  if (book === undefined) {
    const rows = new Map(config.prices.map((price) => [`${price.provider}/${price.model}`, price]));
    books.set(config, (book = { rows, schedules: new Map() }));
  }
  return book;
}

/** By the price lists; empty: they do not know the model. */
export function listScheduleOf(config: Priced, { provider, model }: Model): PriceSchedule {
  const { rows, schedules } = bookOf(config);
  const key = `${provider}/${model}`;
  let schedule = schedules.get(key);
  if (schedule === undefined) {
    const price = findPrice(provider, model, (name) => rows.get(`${provider}/${name}`));
    schedule = price === undefined ? [] : "usd" in price ? bundled(provider, price) : given(price);
    schedules.set(key, schedule);
  }
  return schedule;
}

function given(price: PriceConfig): readonly Period[] {
  const { provider, next, web_search: search } = price;
  const { tiers: usual = {}, web_search: usualSearch } = extrasOf(provider, undefined);
  const own = Object.fromEntries(
    Object.entries(price.tiers).map(([name, tier]) => [
      name,
      typeof tier === "number" ? tier : listed(provider, tier),
    ]),
  );
  // OpenAI's `fast` is another name of `priority`.
  const { priority, fast = usual["fast"] === undefined ? undefined : priority } = own;
  const tiers = { ...usual, ...own, ...(fast !== undefined && { fast }) };
  const webSearch = search === null ? usualSearch : search.nanoUsd;
  const extras = {
    ...(Object.keys(tiers).length > 0 && { tiers }),
    ...(Object.keys(price.geo).length > 0 && { geo: price.geo }),
    ...(webSearch !== undefined && { web_search: webSearch }),
  };
  const now = { from_ms: 0, ...listed(provider, price), ...extras };
  return next === null ? [now] : [now, { from_ms: next.from_ms, ...listed(provider, next), ...extras }];
}

function listed(provider: string, list: PriceList): Prices {
  const { long_prompt: long } = list;
  return {
    rates: givenRates(provider, list),
    ...(long !== null && { long: { above_tokens: long.above_tokens, rates: givenRates(provider, long) } }),
  };
}

function givenRates(provider: string, amounts: PriceAmounts): Rates {
  const perToken = ({ nanoUsd }: Money): number => nanoUsd / 1_000_000;
  const input = perToken(amounts.input);
  const { cached_input, cache_write, cache_write_1h } = amounts;
  return {
    ...flat(input),
    ...(cached_input !== null && { cached_input: perToken(cached_input) }),
    ...(cache_write !== null && { cache_write: perToken(cache_write) }),
    ...(cache_write_1h === null
      ? hourlyWrites(provider, input)
      : { cache_write_1h: perToken(cache_write_1h) }),
    output: perToken(amounts.output),
  };
}

function bundled(provider: string, row: PriceRow): readonly Period[] {
  const { usd, next } = row;
  const now = period(provider, row, 0, usd);
  return next === undefined ? [now] : [now, period(provider, row, Date.parse(next.from), next.usd)];
}

function period(
  provider: string,
  { long, tiers, geo }: PriceRow,
  from_ms: number,
  usd: UsdPerMillion,
): Period {
  const rates = ratesOf(provider, usd, { input: 1, output: 1 });
  const extras = { ...extrasOf(provider, tiers), ...(geo !== undefined && { geo }) };
  if (long === undefined) return { from_ms, rates, ...extras };
  const longRates = ratesOf(provider, usd, long);
  return { from_ms, rates, long: { above_tokens: long.above, rates: longRates }, ...extras };
}

/** What a provider charges beside its tokens, and by the tier that serves them. */
function extrasOf(
  provider: string,
  own: Tiers | undefined,
): { readonly tiers?: Tiers; readonly web_search?: number } {
  const tiers = own ?? tiersOf(provider);
  const searchUsd = webSearchUsd(provider);
  return {
    ...(Object.keys(tiers).length > 0 && { tiers }),
    ...(searchUsd > 0 && { web_search: Math.round(searchUsd * 1_000_000_000) }),
  };
}

function ratesOf(
  provider: string,
  [input, output, cachedInput, cacheWrite]: UsdPerMillion,
  times: Omit<LongPrompt, "above">,
): Rates {
  return {
    input: nanoPerToken(input * times.input),
    cached_input: nanoPerToken((cachedInput ?? input) * times.input),
    cache_write: nanoPerToken((cacheWrite ?? input) * times.input),
    ...hourlyWrites(provider, nanoPerToken(input * times.input)),
    output: nanoPerToken(output * times.output),
  };
}

function hourlyWrites(provider: string, input: number): Pick<Rates, "cache_write_1h"> {
  const times = cacheWrite1hTimes(provider);
  return times === undefined ? {} : { cache_write_1h: input * times };
}

/** Through whole nano-dollars, since 0.07 times 1,000 is not 70. */
function nanoPerToken(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1_000_000_000) / 1_000_000;
}

function flat(rate: number): Rates {
  return { input: rate, cached_input: rate, cache_write: rate, output: rate };
}
