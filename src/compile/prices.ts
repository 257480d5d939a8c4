/**
 * What an endpoint's calls cost, as stage budget reads it: the endpoint's own price for all its models, else for each
 * target what the configuration's `prices` say, else the bundled table (CONTRACT section 6).
 */
import type { Money } from "../base/money.ts";
import type { EndpointConfig, PriceConfig, ResolvedConfig } from "../config/model.ts";
import {
  cacheWrite1hTimes,
  findPrice,
  type LongPrompt,
  type PriceRow,
  type Tiers,
  tiersOf,
  type UsdPerMillion,
  webSearchUsd,
} from "../config/price-table.ts";

/** Nano-dollars a token. */
interface Rates {
  readonly input: number;
  readonly cached_input: number;
  readonly cache_write: number;
  readonly cache_write_1h?: number;
  readonly output: number;
}

/** What holds from a moment on; see plugins/tariff.ts, which takes lists of it in. */
interface Period {
  readonly from_ms: number;
  readonly rates: Rates;
  readonly long?: { readonly above_tokens: number; readonly rates: Rates };
  readonly tiers?: Tiers;
  readonly web_search?: number;
}

interface Model {
  readonly provider: string;
  readonly model: string;
}

type Tariffs = Readonly<Record<string, readonly Period[]>>;

/** Keyed by `provider/model`, or `*` for all. What costs nothing is left out: its calls need no reservation. */
export function tariffsOf(
  config: ResolvedConfig,
  endpoint: EndpointConfig,
  targets: readonly Model[],
): Tariffs {
  const own = endpoint.estimated_cost_per_1k_tokens_usd;
  if (own !== null) return { "*": [{ from_ms: 0, rates: flat(own.nanoUsd / 1000) }] };
  return listTariffsOf(config, targets);
}

/** By the list prices alone: what the calls would cost without a price of the endpoint's own. */
export function listTariffsOf(config: ResolvedConfig, targets: readonly Model[]): Tariffs {
  const tariffs: Record<string, readonly Period[]> = {};
  for (const target of targets) {
    const tariff = tariffOf(config, target);
    const costs = tariff.some(({ rates }) => Object.values(rates).some((rate) => rate > 0));
    if (costs) tariffs[`${target.provider}/${target.model}`] = tariff;
  }
  return tariffs;
}

interface Book {
  readonly rows: ReadonlyMap<string, PriceConfig>;
  /** Made once for all endpoints that ask one model. */
  readonly tariffs: Map<string, readonly Period[]>;
}

const books = new WeakMap<ResolvedConfig, Book>();

function bookOf(config: ResolvedConfig): Book {
  let book = books.get(config);
  if (book === undefined) {
    const rows = new Map(config.prices.map((price) => [`${price.provider}/${price.model}`, price]));
    books.set(config, (book = { rows, tariffs: new Map() }));
  }
  return book;
}

function tariffOf(config: ResolvedConfig, { provider, model }: Model): readonly Period[] {
  const { rows, tariffs } = bookOf(config);
  const key = `${provider}/${model}`;
  let tariff = tariffs.get(key);
  if (tariff === undefined) {
    const price = findPrice(provider, model, (name) => rows.get(`${provider}/${name}`));
    tariff = price === undefined ? [] : "usd" in price ? bundled(provider, price) : given(price);
    tariffs.set(key, tariff);
  }
  return tariff;
}

function given({ provider, input, output, cached_input }: PriceConfig): readonly Period[] {
  const perToken = ({ nanoUsd }: Money): number => nanoUsd / 1_000_000;
  const rate = perToken(input);
  const rates = {
    ...flat(rate),
    ...(cached_input !== null && { cached_input: perToken(cached_input) }),
    ...hourlyWrites(provider, rate),
    output: perToken(output),
  };
  return [{ from_ms: 0, rates, ...extrasOf(provider, undefined) }];
}

function bundled(provider: string, row: PriceRow): readonly Period[] {
  const { usd, next } = row;
  const now = period(provider, row, 0, usd);
  return next === undefined ? [now] : [now, period(provider, row, Date.parse(next.from), next.usd)];
}

function period(provider: string, { long, tiers }: PriceRow, from_ms: number, usd: UsdPerMillion): Period {
  const rates = ratesOf(provider, usd, { input: 1, output: 1 });
  const extras = extrasOf(provider, tiers);
  if (long === undefined) return { from_ms, rates, ...extras };
  const longRates = ratesOf(provider, usd, long);
  return { from_ms, rates, long: { above_tokens: long.above, rates: longRates }, ...extras };
}

/** What a provider charges beside its tokens, and by the tier that serves them. */
function extrasOf(provider: string, own: Tiers | undefined): Pick<Period, "tiers" | "web_search"> {
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
