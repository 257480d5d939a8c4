/** A folder with a configuration, a gateway that watches it on the real clock, and a way to wait for what it logs. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, type Gateway } from "../../src/index.ts";
import { at } from "../spec/kit/at.ts";
import { hashOf, PROJECT, TOKENS } from "../spec/kit/config.ts";

/** A configuration whose one endpoint answers with `reply`: what it says tells which generation answered. */
export function configSaying(reply: string): string {
  return `version: 1
server: { port: 0 }
admin: { enabled: false }
projects:
  - uuid: ${PROJECT}
    name: Reload
    type: ai_gateway
    credentials:
      - { name: demo, provider: mock, options: { reply: "${reply}" } }
    tokens:
      - { name: web, hash: "${hashOf(TOKENS.web)}", scopes: [chat] }
    endpoints:
      - { name: Ask, provider: mock, model: m, credential: demo }
`;
}

export interface Watching {
  readonly folder: string;
  readonly gateway: Gateway;
  readonly url: string;
  /** Resolves with the next line, from `since` on, whose message is `msg`. The test's own time limit bounds it. */
  logged(msg: string | RegExp, since?: number): Promise<Record<string, unknown>>;
  /** Lines logged so far. */
  mark(): number;
  /** How often `msg` was logged since a mark. */
  count(msg: string | RegExp, since: number): number;
  /** What the endpoint says. */
  says(): Promise<string>;
}

interface Closer {
  after(close: () => Promise<void>): void;
}

/** `prepare` writes the files and returns the path of the configuration; default: one file that says `first`. */
export async function watching(closer: Closer, prepare?: (folder: string) => string): Promise<Watching> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-reload-"));
  const configPath = prepare?.(folder) ?? join(folder, "gateway.yaml");
  if (prepare === undefined) writeFileSync(configPath, configSaying("first"));
  const lines: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  const gateway = await createGateway({
    configPath,
    env: {},
    log: (line) => {
      lines.push(JSON.parse(line));
      for (const look of waiting) look();
    },
  });
  const { url } = await gateway.start();
  closer.after(async () => {
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    gateway,
    url,
    mark: () => lines.length,
    count: (msg, since) => lines.slice(since).filter((line) => isOf(line, msg)).length,
    logged: (msg, since = 0) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = lines.slice(since).find((line) => isOf(line, msg));
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    async says() {
      const answer = await fetch(`${url}/api/${PROJECT}/ask`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKENS.web}`, "content-type": "application/json" },
        body: '{"message":"?"}',
      });
      const body: unknown = await answer.json();
      return String(at(body, "content") ?? `${answer.status} ${at(body, "error")}`);
    },
  };
}

function isOf(line: Record<string, unknown>, msg: string | RegExp): boolean {
  return typeof msg === "string" ? line["msg"] === msg : msg.test(String(line["msg"]));
}

export const APPLIED = "configuration applied";
export const REFUSED = /^configuration rejected, keeping generation \d+$/;
