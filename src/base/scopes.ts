/** The scopes that a project's token can have. Those of the surfaces' route tables are held to this list by a test. */
import type { Scope } from "../plugin/exchange.ts";

/** `control` is not among them: it belongs to control-plane tokens. */
export type TokenScope = Exclude<Scope, "control">;
export const TOKEN_SCOPES: readonly TokenScope[] = ["chat", "models", "admin", "mcp", "proxy"];

/** The known ones among a list, in its order. */
export function knownScopes(names: readonly unknown[]): readonly TokenScope[] {
  return names.flatMap((name) => TOKEN_SCOPES.find((scope) => scope === name) ?? []);
}
