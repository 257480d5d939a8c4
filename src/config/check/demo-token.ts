/**
 * The demo token of the default configuration. It is published with this repository, so it may work on loopback only: a
 * configuration that has it is neither started nor reloaded on a gateway that listens beyond loopback.
 */
import { createHash } from "node:crypto";
import type { ResolvedConfig } from "../model.ts";

export const DEMO_TOKEN = "gw_test_demo_public_on_loopback_only";
export const DEMO_TOKEN_HASH = `sha256:${createHash("sha256").update(DEMO_TOKEN).digest("hex")}`;

/** Where the demo token works: its project and the first endpoint that a chat call can reach. */
export interface Demo {
  readonly projectUuid: string;
  readonly slug: string;
}

export function demoIn(config: Pick<ResolvedConfig, "projects">): Demo | undefined {
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
