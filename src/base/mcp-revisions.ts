/** Revisions of MCP, for the servers that the gateway offers and for those that it calls. */

/** With `initialize`, newest first. */
export const LEGACY_REVISIONS: readonly [newest: string, ...older: string[]] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
];

/** With an envelope in every request (`_meta`). */
export const STATELESS_REVISION = "2026-07-28";

/** Keys of that envelope. */
export const META = {
  version: "io.modelcontextprotocol/protocolVersion",
  client: "io.modelcontextprotocol/clientInfo",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  server: "io.modelcontextprotocol/serverInfo",
  logLevel: "io.modelcontextprotocol/logLevel",
} as const;
