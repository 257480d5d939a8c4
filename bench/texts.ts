/** The texts that calls carry: plain support English, with digits and signs in it but nothing a guardrail blocks. */

/** Sent as the system prompt by the gateway's config and in the bare proxies' request bodies. */
export const systemPrompt =
  "You read messages to the support desk of a shop for lamps and furniture. Sum up what the customer wants in one " +
  "sentence, name the mood, say whether it is urgent, and list the next steps for the desk. Answer with one JSON " +
  "object and nothing else. Never promise a refund; the desk decides that after it has looked at the order.";

const paragraph =
  "Hello, this is about my order B-48213 for two reading lamps and an oak shelf, placed on the 3rd of the month. The " +
  "shelf arrived within four days and looks lovely, but the lamps are still missing. Your tracking page says " +
  "'handed to the carrier' and has said so for 9 days now; the carrier's own page knows the parcel's weight (6.4 kg) " +
  "and the depot, and nothing else. I called on Tuesday @ noon and was told to wait 48 hours, which I did. Could you " +
  "find out where the parcel is & tell me when it will come? If it is lost, please send the lamps again by express: " +
  "we moved into the new flat on Saturday, and we have been reading by candle light since then. The invoice says 189.90 in total, " +
  "of which 24.50 was for delivery before the weekend - I would like to hear what happens with that part as well. ";

/** A customer's message of exactly `length` characters, ASCII. */
export function message(characters: number): string {
  return paragraph.repeat(Math.ceil(characters / paragraph.length)).slice(0, characters);
}

const syllables = [
  "ba",
  "dro",
  "fex",
  "gul",
  "ip",
  "jor",
  "kez",
  "lum",
  "mox",
  "nur",
  "pav",
  "quo",
  "riz",
  "sny",
  "tov",
  "zwa",
];

/** Made-up words for a blocklist, all different, in none of the messages. At most 4,096. */
export function keywords(count: number): string[] {
  return Array.from({ length: count }, (_, n) =>
    [n >> 8, n >> 4, n].map((digit) => syllables[digit % syllables.length]).join(""),
  );
}
