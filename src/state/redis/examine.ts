/** `sluice doctor`: what a Redis says of itself. Writes nothing. */
import { redisAddress } from "./address.ts";
import { LOST, RedisLink } from "./link.ts";

export interface RedisExamination {
  /** Without secrets. */
  readonly server: string;
  /** `redis 7.2.4`, `valkey 8.0.1`. */
  readonly version: string;
  /** The first number of the version of Redis that it is compatible with. */
  readonly major: number;
  readonly policy: string;
  /** False: memory is not limited, so nothing is ever evicted. */
  readonly isBounded: boolean;
  /** Its time minus this machine's. */
  readonly aheadMs: number;
}

/** Rejects with an Error for people when the server does not answer. */
export async function examineRedis(url: string): Promise<RedisExamination> {
  const address = redisAddress(url);
  if (address === undefined) throw new Error("state.url is not an address of Redis: redis://host:6379");
  const { Redis } = await import("ioredis").catch(() => {
    throw new Error("state.driver 'redis' needs the package ioredis, which is not installed");
  });
  const ignore = (): void => {};
  const link = new RedisLink(Redis, {
    ...{ address, prefix: "", scripts: [], whileLost: "" },
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    random: { uuid: () => crypto.randomUUID(), fraction: Math.random },
  });
  try {
    await link.connect();
    const [info, memory, time] = [
      await link.command("INFO", "server"),
      await link.command("INFO", "memory"),
      await link.command("TIME"),
    ];
    if (info === LOST || memory === LOST || time === LOST)
      throw new Error(`redis (${address.shown}) does not answer: ${link.wrong ?? "connection closed"}`);
    const server = fieldsOf(String(info));
    const version = server.get("redis_version") ?? "";
    const valkey = server.get("valkey_version");
    const memoryFields = fieldsOf(String(memory));
    const [seconds = 0] = Array.isArray(time) ? time.map(Number) : [];
    return {
      server: address.shown,
      version: valkey === undefined ? `redis ${version}` : `valkey ${valkey}`,
      major: Number.parseInt(version, 10),
      policy: memoryFields.get("maxmemory_policy") ?? "noeviction",
      isBounded: (memoryFields.get("maxmemory") ?? "0") !== "0",
      aheadMs: seconds * 1000 - Date.now(),
    };
  } finally {
    link.close();
  }
}

/** `name:value`, a line each. */
function fieldsOf(info: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of info.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return fields;
}
