/**
 * The demo token of the default configuration. It stands in this repository for all to see, so it opens nothing but a
 * gateway on loopback: `start` refuses to listen beyond it while a configuration knows this token.
 */
import { createHash } from "node:crypto";
import type { ResolvedConfig } from "../config/model.ts";

export const DEMO_TOKEN = "gw_test_demo_public_on_loopback_only";
export const DEMO_TOKEN_HASH = `sha256:${createHash("sha256").update(DEMO_TOKEN).digest("hex")}`;

/** Where the demo token works: its project and the first endpoint a chat call can reach. */
export interface Demo {
  readonly projectUuid: string;
  readonly slug: string;
}

export function demoIn(config: ResolvedConfig): Demo | undefined {
  for (const project of config.projects) {
    if (!project.tokens.some((token) => token.hash === DEMO_TOKEN_HASH)) continue;
    const endpoint = project.endpoints.find((candidate) => candidate.is_active);
    return { projectUuid: project.uuid, slug: endpoint?.slug ?? "" };
  }
  return undefined;
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}
