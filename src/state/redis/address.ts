/** Where a Redis is, from `state.url`. What it shows to people never holds the user or the password. */

export interface RedisAddress {
  readonly host?: string;
  readonly port?: number;
  /** A unix socket, in the place of host and port. */
  readonly path?: string;
  readonly username?: string;
  readonly password?: string;
  readonly db: number;
  readonly tls: boolean;
  /** For logs and health: without secrets. */
  readonly shown: string;
}

/**
 * `redis://[user[:password]@]host[:port][/db]`, `rediss://` for TLS, `unix:///path[?db=n]`. undefined: it is none of
 * these. Nothing else of the address counts, so that no address can change how the store talks to its server.
 */
export function redisAddress(url: string): RedisAddress | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port, pathname, username, password, searchParams } = new URL(url);
  if (protocol === "unix:") {
    const db = databaseOf(searchParams.get("db") ?? "");
    return db === undefined || pathname.length < 2
      ? undefined
      : { path: pathname, db, tls: false, shown: `unix socket, database ${db}` };
  }
  if (protocol !== "redis:" && protocol !== "rediss:") return undefined;
  const db = databaseOf(pathname.slice(1));
  if (db === undefined || hostname === "") return undefined;
  const number = port === "" ? 6379 : Number(port);
  return {
    // An IPv6 address has brackets in a URL only.
    host: hostname.replace(/^\[|\]$/g, ""),
    port: number,
    db,
    tls: protocol === "rediss:",
    shown: `${hostname}:${number}, database ${db}`,
    ...(username === "" ? {} : { username: decoded(username) }),
    ...(password === "" ? {} : { password: decoded(password) }),
  };
}

function databaseOf(text: string): number | undefined {
  return /^\d{0,5}$/.test(text) ? Number(text) : undefined;
}

/** A percent sign that is not an escape is part of the secret. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
