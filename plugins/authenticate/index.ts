/**
 * Stage authenticate: who calls, for which project, with which scope. Runs before a byte of the body is read. Tokens
 * are known by their SHA-256 alone, found in a map, so that no cost grows with their number; the time of a lookup says
 * something of the hash of a guess, and nothing of a token.
 */

import { hash } from "node:crypto";
import { bearerToken, definePlugin, type Exchange, reject } from "sluice/plugin";
import type { CoreExchange } from "../../src/plugin/exchange.ts";

type TokenRef = Exchange["token"];

interface TokenOptions {
  /** 64 hex digits: the SHA-256 of the whole token string. */
  readonly sha256: string;
  readonly id: string;
  readonly name: string;
  readonly project_uuid: string;
  readonly scopes: TokenRef["scopes"];
  readonly is_active: boolean;
  /** Unix milliseconds. */
  readonly expires_at: number | null;
  readonly monthly_cap_nano_usd: number | null;
  readonly monthly_cap_text: string;
}

interface Options {
  readonly tokens: readonly TokenOptions[];
}

interface KnownToken {
  readonly isActive: boolean;
  readonly expiresAtMs: number;
  readonly ref: TokenRef;
}

const PREFIXES = ["gw_live_", "gw_test_"];

export default definePlugin<Options>({
  name: "authenticate",
  stage: "authenticate",
  description: "Accepts bearer tokens by their hash and checks project and scope.",
  schema: { type: "object", required: ["tokens"], properties: { tokens: { type: "array" } } },
  examples: [{ tokens: [] }],
  setup({ tokens }, host) {
    const known = new Map<string, KnownToken>();
    for (const token of tokens) {
      known.set(Buffer.from(token.sha256, "hex").toString("latin1"), {
        isActive: token.is_active,
        expiresAtMs: token.expires_at ?? Number.POSITIVE_INFINITY,
        ref: {
          id: token.id,
          name: token.name,
          projectUuid: token.project_uuid,
          scopes: token.scopes,
          monthlyCapNanoUsd: token.monthly_cap_nano_usd ?? undefined,
          monthlyCapText: token.monthly_cap_text,
        },
      });
    }

    return {
      request(x: CoreExchange) {
        const token = bearerToken(x.headers["authorization"]);
        if (token === undefined) return reject("missing_bearer", {});
        if (!PREFIXES.some((prefix) => token.startsWith(prefix))) return reject("token_format", {});

        const digest = hash("sha256", token, "binary");
        const entry = known.get(digest);
        // An expired token is answered like a revoked one (`auth.token.expired`).
        if (entry === undefined || !entry.isActive || entry.expiresAtMs <= host.clock.nowMs()) {
          return reject("token_invalid", {});
        }
        x.token = entry.ref;
        if (entry.ref.projectUuid !== x.project.uuid) return reject("project_mismatch", {});
        if (!entry.ref.scopes.includes(x.scope)) {
          const scopes = entry.ref.scopes.join(", ") || "none";
          return reject("scope_missing", { scope: x.scope, scopes });
        }
        return undefined;
      },
    };
  },
});
