/**
 * Numbering plans: which digits can be a telephone number of which region. Read from libphonenumber's tables when first
 * asked for, since that takes 40 ms.
 */
import { createRequire } from "node:module";
import type * as Libphonenumber from "libphonenumber-js/min";

/** Regions whose national numbers are looked for where the configuration names none. */
export const DEFAULT_REGIONS: readonly string[] = (
  "AE AR AT AU BD BE BG BR CA CH CL CN CO CZ DE DK EE EG ES FI FR GB GR HK HR HU ID IE IL IN IT JP KE KR LT LU LV " +
  "MA MX MY NG NL NO NZ PE PH PK PL PT RO RS RU SA SE SG SI SK TH TR TW UA US VN ZA"
).split(" ");

/** What a region's national numbers look like. */
interface Plan {
  readonly callingCode: string;
  /** The whole number without its trunk prefix. */
  readonly pattern: RegExp;
  readonly lengths: ReadonlySet<number>;
  readonly trunkPrefix: RegExp | undefined;
  readonly transform: string | undefined;
  /** What is dialed before a number inside the region. */
  readonly prefix: string | undefined;
}

/** Longest digits that are looked at. */
const DIGITS_MAX = 15;

let tables: Tables | undefined;

interface Tables {
  readonly plans: ReadonlyMap<string, Plan>;
  /** Lengths of national numbers by calling code. */
  readonly lengths: ReadonlyMap<string, ReadonlySet<number>>;
}

/** True when the digits, calling code first, have a possible length. */
export function isPossibleInternational(digits: string): boolean {
  tables ??= readTables();
  for (let code = 1; code <= 3; code++) {
    const lengths = tables.lengths.get(digits.slice(0, code));
    if (lengths !== undefined) return lengths.has(digits.length - code);
  }
  return false;
}

/** True when the digits are a number of one of the regions as it is dialed inside it, with or without trunk prefix. */
export function isNational(digits: string, regions: readonly string[]): boolean {
  if (digits.length > DIGITS_MAX) return false;
  tables ??= readTables();
  for (const region of regions) {
    const plan = tables.plans.get(region);
    if (plan !== undefined && matchesPlan(digits, plan)) return true;
  }
  return false;
}

/** The same, but with the trunk prefix where the region has one: without it digits alone could be anything. */
export function isDialedInside(digits: string, regions: readonly string[]): boolean {
  tables ??= readTables();
  const plans = tables.plans;
  return isNational(
    digits,
    regions.filter((region) => {
      const prefix = plans.get(region)?.prefix;
      return prefix === undefined || prefix === "1" || digits.startsWith(prefix);
    }),
  );
}

/** True when one of the regions has calling code 1. */
export function isNorthAmerican(regions: readonly string[]): boolean {
  tables ??= readTables();
  return regions.some((region) => tables?.plans.get(region)?.callingCode === "1");
}

/** Names of all regions that have a numbering plan: two letters of ISO 3166-1. */
export function isRegion(region: string): boolean {
  tables ??= readTables();
  return tables.plans.has(region);
}

function matchesPlan(digits: string, plan: Plan): boolean {
  if (plan.lengths.has(digits.length) && plan.pattern.test(digits)) return true;
  const prefix = plan.trunkPrefix?.exec(digits);
  if (prefix === null || prefix === undefined || prefix[0] === "") return false;
  const hasGroup = prefix.slice(1).some((group) => group !== undefined);
  const national =
    plan.transform !== undefined && hasGroup && plan.trunkPrefix !== undefined
      ? digits.replace(plan.trunkPrefix, plan.transform)
      : digits.slice(prefix[0].length);
  return plan.lengths.has(national.length) && plan.pattern.test(national);
}

function readTables(): Tables {
  const require = createRequire(import.meta.url);
  // What require returns is what the package's own types say.
  const { Metadata, getCountries } = require("libphonenumber-js/min") as typeof Libphonenumber;
  const metadata = new Metadata();
  const plans = new Map<string, Plan>();
  const lengths = new Map<string, Set<number>>();
  for (const country of getCountries()) {
    metadata.selectNumberingPlan(country);
    // The package's types leave most of the plan's methods out.
    const plan = metadata.numberingPlan as unknown as NumberingPlan;
    const possible = plan.possibleLengths();
    const code = plan.callingCode();
    const known = lengths.get(code) ?? new Set<number>();
    for (const length of possible) known.add(length);
    lengths.set(code, known);
    const trunkPrefix = plan.nationalPrefixForParsing() ?? plan.nationalPrefix();
    plans.set(country, {
      callingCode: code,
      pattern: new RegExp(`^(?:${plan.nationalNumberPattern()})$`),
      lengths: new Set(possible),
      trunkPrefix: trunkPrefix === undefined ? undefined : new RegExp(`^(?:${trunkPrefix})`),
      prefix: plan.nationalPrefix() || undefined,
      transform: plan.nationalPrefixTransformRule() ?? undefined,
    });
  }
  return { plans, lengths };
}

interface NumberingPlan {
  callingCode(): string;
  possibleLengths(): number[];
  nationalNumberPattern(): string;
  nationalPrefix(): string | undefined;
  nationalPrefixForParsing(): string | undefined;
  nationalPrefixTransformRule(): string | undefined;
}
