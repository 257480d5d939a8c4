/**
 * The storm of changing files: a watching gateway under load while git checks revisions out among thousands of unrelated
 * files, while a ConfigMap is swapped every 100 ms, or while plugins hang and throw in `setup`. It looks for answers that
 * mix two revisions, calls that fail, and revocations that take longer than a second.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createGateway } from "../../src/index.ts";
import { at, Client } from "../spec/kit/client.ts";
import { hashOf, PROJECT } from "../spec/kit/config.ts";
import { callTool, WITH_CONTROL } from "../spec/kit/rpc.ts";
import { Checkouts, ConfigMap, type Revision } from "./writers.ts";

const CALLER = "gw_live_storm0Caller1";
const CALLERS = 4;
const CALL_PAUSE_MS = 10;
const SWAP_MS = 100;
/** Between two checkouts: long enough for a reload of what the first one left. */
const CHECKOUT_PAUSE_MS = 2_500;
const PLUGIN_WRITE_MS = 2_500;
const REVOKE_EVERY_MS = 1_000;
const REVOCATION_MAX_MS = 1_000;
const TOKENS_TO_REVOKE = 60;
const FAILURES_KEPT = 10;

export interface FileStorm {
  readonly kind: string;
  readonly calls: number;
  /** Revisions that answers named. */
  readonly revisionsSeen: number;
  readonly mixed: number;
  readonly revocations: number;
  readonly longestRevocationMs: number;
  readonly failures: readonly string[];
}

export interface FileStormOptions {
  readonly seconds: number;
  /** Files between the first and the last of a checkout. Default 6,000. */
  readonly unrelated?: number;
}

const tokenOf = (index: number): string => `gw_live_storm0Revoked${index}`;

/** Its answers are the template's revision and the prompt file's. Both must be one. */
function revisionFiles(name: string, stage = ""): Revision {
  const tokens = [
    { id: 1, name: "caller", hash: hashOf(CALLER), scopes: ["chat"] },
    ...Array.from({ length: TOKENS_TO_REVOKE }, (_, index) => {
      return { id: 100 + index, name: `t${index}`, hash: hashOf(tokenOf(index)), scopes: ["chat"] };
    }),
  ];
  const template = `${name} \${file:./z-prompt.md} {{input}}`;
  return {
    "a-gateway.yaml": `version: 1
server: { port: 0 }
admin: { enabled: false }
control_plane: ${JSON.stringify(WITH_CONTROL.control_plane)}
${stage === "" ? "" : "plugins: [./unruly.mjs]"}
projects:
  - uuid: ${PROJECT}
    name: Storm
    type: ai_gateway
    credentials: [{ name: demo, provider: mock, options: { reply: "{{input}}" } }]
    tokens: ${JSON.stringify(tokens)}
    endpoints:
      - name: Ask
        provider: mock
        model: m
        credential: demo
        user_prompt_template: ${JSON.stringify(template)}
        stages: [${stage}]
`,
    "z-prompt.md": name,
    ...(stage === "" ? {} : { "unruly.mjs": UNRULY }),
  };
}

const UNRULY = `export default {
  api: 1, kind: "stage", name: "unruly", stage: "record", description: "Misbehaves.", examples: [],
  schema: { type: "object" },
  setup({ mode }) {
    if (mode === "hang") return new Promise(() => {});
    if (mode === "throw") throw new Error("no");
    return { finish() {} };
  },
};`;

/** Changes the files until the time is over. */
type Writer = (untilMs: number) => Promise<void>;

export function checkoutStorm({ seconds, unrelated = 6_000 }: FileStormOptions): Promise<FileStorm> {
  return fileStorm(`git, ${unrelated} files`, seconds, async (folder) => {
    const checkouts = new Checkouts(folder);
    const tags = ["r0", "r1", "r2"];
    await checkouts.prepare(new Map(tags.map((tag) => [tag, revisionFiles(tag)])), unrelated);
    return async (untilMs) => {
      for (let count = 0; performance.now() < untilMs; count++) {
        await checkouts.checkout(tags[count % tags.length] ?? "r0");
        await pause(CHECKOUT_PAUSE_MS);
      }
    };
  });
}

export function configMapStorm({ seconds }: FileStormOptions): Promise<FileStorm> {
  return fileStorm("ConfigMap swaps", seconds, async (folder) => {
    const map = new ConfigMap(folder);
    map.publish(revisionFiles("r0"));
    return async (untilMs) => {
      for (let count = 1; performance.now() < untilMs; count++) {
        await pause(SWAP_MS);
        map.publish(revisionFiles(`r${count}`));
      }
    };
  });
}

export function pluginStorm({ seconds }: FileStormOptions): Promise<FileStorm> {
  const modes = ["hang", "fine", "throw", "fine"];
  return fileStorm("unruly plugins", seconds, async (folder) => {
    const write = (count: number): void => {
      const mode = modes[count % modes.length];
      const files = revisionFiles(
        `r${count}`,
        `{ use: unruly, options: { mode: ${mode}, count: ${count} } }`,
      );
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    };
    write(1);
    return async (untilMs) => {
      for (let count = 2; performance.now() < untilMs; count++) {
        // Less than a setup may take: what hangs still hangs when the next one is written.
        await pause(PLUGIN_WRITE_MS);
        write(count);
      }
    };
  });
}

async function fileStorm(
  kind: string,
  seconds: number,
  prepare: (folder: string) => Promise<Writer>,
): Promise<FileStorm> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-file-storm-"));
  try {
    const writer = await prepare(folder);
    const gateway = await createGateway({
      configPath: join(folder, "a-gateway.yaml"),
      env: {},
      log: () => {},
    });
    const { url } = await gateway.start();
    const load = new FileLoad(url);
    try {
      const untilMs = performance.now() + seconds * 1000;
      await Promise.all([writer(untilMs), load.call(untilMs), load.revoke(untilMs)]);
      return { kind, ...load.outcome() };
    } finally {
      load.client.close();
      await gateway.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class FileLoad {
  readonly client: Client;
  readonly #revisions = new Set<string>();
  readonly #failures: string[] = [];
  #calls = 0;
  #mixed = 0;
  #revocations = 0;
  #longestMs = 0;

  constructor(url: string) {
    this.client = new Client(url, false);
  }

  outcome(): Omit<FileStorm, "kind"> {
    return {
      calls: this.#calls,
      revisionsSeen: this.#revisions.size,
      mixed: this.#mixed,
      revocations: this.#revocations,
      longestRevocationMs: Math.round(this.#longestMs),
      failures: this.#failures,
    };
  }

  async call(untilMs: number): Promise<void> {
    const callers = Array.from({ length: CALLERS }, async () => {
      while (performance.now() < untilMs) {
        await this.#callOnce();
        await pause(CALL_PAUSE_MS);
      }
    });
    await Promise.all(callers);
  }

  /** From before the tool is called until the first answer with 401. */
  async revoke(untilMs: number): Promise<void> {
    for (let index = 0; index < TOKENS_TO_REVOKE && performance.now() < untilMs; index++) {
      await pause(REVOKE_EVERY_MS);
      const token = tokenOf(index);
      const before = await this.#ask(token);
      if (before.status !== 200) this.#fail(`before its revocation: ${before.text}`);
      const sinceMs = performance.now();
      const revoked = await callTool(this.client, "gw_revoke_token", { token_id: 100 + index });
      if (revoked.status !== 200 || at(revoked.json, "error") !== undefined) this.#fail(revoked.text);
      const after = await this.#ask(token);
      const tookMs = performance.now() - sinceMs;
      this.#revocations++;
      this.#longestMs = Math.max(this.#longestMs, tookMs);
      if (after.status !== 401) this.#fail(`after its revocation: ${after.status}`);
      if (tookMs > REVOCATION_MAX_MS) this.#fail(`a revocation took ${Math.round(tookMs)} ms`);
    }
  }

  async #callOnce(): Promise<void> {
    this.#calls++;
    const answer = await this.#ask(CALLER).catch((error: unknown) => ({
      status: 0,
      text: String(error),
      json: null,
    }));
    const [, template, prompt] = /^(r\d+) (r\d+) /.exec(String(at(answer.json, "content"))) ?? [];
    if (template === undefined) this.#fail(`${answer.status} ${answer.text}`);
    else if (template !== prompt) {
      this.#mixed++;
      this.#fail(`mixed: template ${template}, prompt ${prompt}`);
    } else this.#revisions.add(template);
  }

  #ask(token: string) {
    return this.client.send(`/api/${PROJECT}/ask`, { token, body: { message: "?" } });
  }

  #fail(what: string): void {
    if (this.#failures.length < FAILURES_KEPT) this.#failures.push(what);
  }
}

/** What `npm run storm` prints of one. */
export function fileStormLine({ kind, failures, ...counts }: FileStorm): string {
  const figures = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  return [
    `${kind}: ${figures.join(", ")}, failures ${failures.length}`,
    ...failures.map((one) => `  ${one}`),
    "",
  ].join("\n");
}
