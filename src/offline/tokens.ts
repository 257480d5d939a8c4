/**
 * Tokens that are known to offline runs only: of a configuration's tokens nothing but hashes is known, so each gets a
 * second one with its id, name, scopes, cap and expiry. They open nothing: no gateway that serves knows them.
 */
import { createHash } from "node:crypto";
import { tokenHash } from "../base/token.ts";
import type { ResolvedConfig, TokenConfig } from "../config/model.ts";

export class RunTokens {
  /** The plaintext that stands for this token in the run. */
  of(projectUuid: string, id: string): string {
    const text = `offline/${projectUuid}/${id}`;
    return `gw_test_${createHash("sha256").update(text).digest("hex").slice(0, 43)}`;
  }

  /** The same configuration with a token of the run beside each token. */
  addedTo(config: ResolvedConfig): ResolvedConfig {
    const projects = config.projects.map((project) => ({
      ...project,
      tokens: [...project.tokens, ...project.tokens.map((token) => this.#second(project.uuid, token))],
    }));
    return { ...config, projects };
  }

  /** The hash of the token that stands for this one. */
  hashOf(projectUuid: string, id: string): string {
    return tokenHash(this.of(projectUuid, id));
  }

  #second(projectUuid: string, token: TokenConfig): TokenConfig {
    return { ...token, hash: this.hashOf(projectUuid, token.id) };
  }
}
