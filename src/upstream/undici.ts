/**
 * Loads of undici what is used here, the client of one connection. The package's entry also brings fetch, WebSockets,
 * caches and mocks: 60 ms of the start and 9 MB for nothing.
 */
import { createRequire } from "node:module";
import type { buildConnector, Client } from "undici";

export interface ConnectionKit {
  readonly Client: typeof Client;
  readonly buildConnector: typeof buildConnector;
}

const load = createRequire(import.meta.url);

/** Throws when undici is not installed. */
export function loadConnectionKit(): ConnectionKit {
  // `require` knows no types; these are the package's own.
  try {
    return {
      Client: load("undici/lib/dispatcher/client.js") as typeof Client,
      buildConnector: load("undici/lib/core/connect.js") as typeof buildConnector,
    };
  } catch {
    // A version that keeps its files elsewhere: all of it, then.
    return load("undici") as ConnectionKit;
  }
}
