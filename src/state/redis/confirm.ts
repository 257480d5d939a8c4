/** `sluice state confirm`: an operator accepts what a Redis that has lost data holds now. */
import { redisAddress } from "./address.ts";
import { CONFIRM } from "./guard-script.ts";
import { RedisLink } from "./link.ts";
import { asked } from "./script.ts";

export interface Confirmation {
  /** Without secrets. */
  readonly server: string;
  /** What was lost, e.g. `emptied`, and when it was noticed; undefined: no loss waits to be confirmed. */
  readonly lost: { readonly reason: string; readonly atMs: number } | undefined;
}

/** Rejects with an Error for people when the server does not answer. */
export async function confirmLoss(state: {
  readonly url: string;
  readonly keyPrefix: string;
}): Promise<Confirmation> {
  const address = redisAddress(state.url);
  if (address === undefined) throw new Error("state.url is not an address of Redis: redis://host:6379");
  const { Redis } = await import("ioredis");
  const ignore = (): void => {};
  const link = new RedisLink(Redis, {
    address,
    prefix: `{${state.keyPrefix}}`,
    scripts: [CONFIRM],
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    random: { uuid: () => crypto.randomUUID(), fraction: Math.random },
    whileLost: "",
  });
  try {
    await link.connect();
    const reply = link.up ? await link.run(CONFIRM, asked({})) : undefined;
    if (typeof reply !== "string")
      throw new Error(`redis (${address.shown}) does not answer: ${link.wrong ?? "connection closed"}`);
    const [reason = "", atMs] = reply.split(" ");
    return { server: address.shown, lost: reply === "" ? undefined : { reason, atMs: Number(atMs) } };
  } finally {
    link.close();
  }
}
