/** Reads what was spent and is reserved, for reports and metrics; decisions are the ledger script's. */
import type { Spending, SpendSum } from "../../plugin/store.ts";
import type { RedisLink } from "./link.ts";

interface Place {
  readonly link: RedisLink;
  readonly prefix: string;
}

/** Fields read by one command. */
const PAGE = 1000;

export async function spendingOf(place: Place, asked: string, month: string): Promise<Spending> {
  const { link, prefix } = place;
  const key = await presentKey(place, asked);
  const [settled, reserved] = await Promise.all([
    link.command("HGET", `${prefix}:settled:${month}`, key),
    link.command("HGET", `${prefix}:reserved:${month}`, key),
  ]);
  return { settledNanoUsd: amountOf(settled), reservedNanoUsd: amountOf(reserved) };
}

/** What a sum is called now. */
async function presentKey({ link, prefix }: Place, asked: string): Promise<string> {
  let key = asked;
  for (;;) {
    const to = await link.command("HGET", `${prefix}:renamed`, `spend ${key}`);
    if (typeof to !== "string") return key;
    key = to;
  }
}

/** Read in pages: sums that change meanwhile may be of different moments. Empty when the server is lost. */
export async function sumsOf({ link, prefix }: Place): Promise<readonly SpendSum[]> {
  const sums: SpendSum[] = [];
  for (const month of textsOf(await link.command("SMEMBERS", `${prefix}:months`))) {
    const settled = await amounts(link, `${prefix}:settled:${month}`);
    const reserved = await amounts(link, `${prefix}:reserved:${month}`);
    for (const key of new Set([...settled.keys(), ...reserved.keys()])) {
      sums.push({
        key,
        month,
        settledNanoUsd: settled.get(key) ?? 0,
        reservedNanoUsd: reserved.get(key) ?? 0,
      });
    }
  }
  return sums;
}

async function amounts(link: RedisLink, key: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  let cursor = "0";
  do {
    const reply = await link.command("HSCAN", key, cursor, "COUNT", PAGE);
    const [next, fields] = Array.isArray(reply) ? reply : [];
    const texts = textsOf(fields);
    for (let at = 0; at + 1 < texts.length; at += 2) found.set(texts[at] ?? "", amountOf(texts[at + 1]));
    cursor = typeof next === "string" ? next : "0";
  } while (cursor !== "0");
  return found;
}

function amountOf(reply: unknown): number {
  return typeof reply === "string" ? Number(reply) : 0;
}

function textsOf(reply: unknown): readonly string[] {
  return Array.isArray(reply) ? reply.map(String) : [];
}
