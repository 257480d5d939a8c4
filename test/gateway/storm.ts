/**
 * The reload storm: the real gateway on real files, reloaded ten times a second over HTTP, every third time with a
 * broken configuration, while clients call and stream. `npm run storm` runs it for 30 s, then as long
 * each the storms of file-storm.ts, and prints the results.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { generationsAlive } from "../../src/gateway/generation.ts";
import { createGateway } from "../../src/index.ts";
import { at, Client, until } from "../spec/kit/client.ts";
import { hashOf, PROJECT, TOKENS } from "../spec/kit/config.ts";
import { textOf } from "../spec/kit/event-stream.ts";
import { checkoutStorm, configMapStorm, fileStormLine, pluginStorm } from "./file-storm.ts";

const RELOADS_PER_SECOND = 10;
const JSON_CLIENTS = 6;
const STREAM_CLIENTS = 4;
/** Between two calls of one client. */
const CALL_PAUSE_MS = 20;
/** Of a stream: it outlives several generations. */
const CHUNKS = 25;
const CHUNK_MS = 20;
const FAILURES_KEPT = 20;
const OPERATOR = "gw_live_storm0Operator";

export interface Storm {
  readonly calls: number;
  readonly streams: number;
  /** How calls and reloads went wrong, the first of them; empty when all is well. */
  readonly failures: readonly string[];
  readonly reloads: number;
  readonly applied: number;
  readonly refused: number;
  /** At the start, then every ten seconds, then at the end. */
  readonly memory: readonly MemorySample[];
  /** When the storm is over and the gateway still serves: one of each. */
  readonly generations: number;
  readonly instances: number;
  /** After the gateway has stopped: none. */
  readonly generationsLeft: number;
  readonly instancesLeft: number;
}

export interface MemorySample {
  readonly afterSeconds: number;
  readonly residentBytes: number;
  /** Collected first where node runs with --expose-gc. */
  readonly heapBytes: number;
}

/** Each set-up and each end of an instance is a line of the log, so that instances can be counted. */
const MARKER = `export default {
  api: 1, kind: "stage", name: "marker", stage: "record", description: "Says when it comes and goes.",
  examples: [], schema: { type: "object" },
  setup(options, host) {
    host.log.warn(options, "marker set up");
    return { finish() {}, close() { host.log.warn(options, "marker closed"); } };
  },
};`;

/** The configuration of one revision; every answer and every chunk of it names the revision. */
function configOf(revision: number): string {
  const reply = Array(CHUNKS).fill(`r${revision}`).join(" ");
  return `version: 1
server: { port: 0 }
admin: { port: 0 }
log: { level: warn }
plugins: [./marker.ts]
control_plane:
  tokens: [{ name: operator, hash: "${hashOf(OPERATOR)}" }]
projects:
  - uuid: ${PROJECT}
    name: Storm
    type: ai_gateway
    credentials:
      - { name: demo, provider: mock, options: { reply: "${reply}", chunk_ms: ${CHUNK_MS} } }
    tokens:
      - { name: web, hash: "${hashOf(TOKENS.web)}", scopes: [chat] }
    endpoints:
      - name: Ask
        provider: mock
        model: m
        credential: demo
        rate_limit_per_hour: 10000000
        input_schema: { type: object, required: [message], properties: { message: { maxLength: ${1000 + revision} } } }
        guardrails: [{ use: keyword_blocklist, keywords: [storm${revision}] }, { use: pii }]
        stages: [{ use: marker, options: { revision: ${revision} } }]
`;
}

/** Three ways to break it: not YAML, not the schema's, not what the rest of it says. */
function broken(revision: number): string {
  const good = configOf(revision);
  const ways = [
    `${good}  - [`,
    good.replace("model: m", "modle: m"),
    good.replace("credential: demo", "credential: d"),
  ];
  return ways[revision % ways.length] ?? good;
}

/** Runs it for this number of seconds. Rejects only when the gateway does not start. */
export async function storm(seconds: number): Promise<Storm> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-storm-"));
  const configPath = join(folder, "gateway.yaml");
  writeFileSync(join(folder, "marker.ts"), MARKER);
  writeFileSync(configPath, configOf(0));
  const generationsBefore = generationsAlive();
  let instances = 0;
  const log = (line: string): void => {
    if (line.includes("marker set up")) instances++;
    if (line.includes("marker closed")) instances--;
  };
  const gateway = await createGateway({ configPath, env: {}, watch: false, log });
  const { url, adminUrl = "" } = await gateway.start();
  const load = new Load(url);
  const admin = new Client(adminUrl, false);
  try {
    const reloads = new Reloads(admin, configPath, load);
    const [memory] = await Promise.all([sampled(seconds), load.run(seconds), reloads.run(seconds)]);
    // A generation is closed after its last call's client has its answer.
    await until(() => gateway.openCalls === 0 && instances <= 1, "the last call has ended").catch(
      () => undefined,
    );
    const generations = generationsAlive() - generationsBefore;
    const during = { generations, instances };
    await gateway.stop();
    return {
      ...load.counts,
      ...reloads.counts,
      memory,
      ...during,
      generationsLeft: generationsAlive() - generationsBefore,
      instancesLeft: instances,
    };
  } finally {
    load.client.close();
    admin.close();
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

class Reloads {
  readonly counts = { reloads: 0, applied: 0, refused: 0 };
  readonly #admin: Client;
  readonly #path: string;
  readonly #load: Load;

  constructor(admin: Client, path: string, load: Load) {
    this.#admin = admin;
    this.#path = path;
    this.#load = load;
  }

  /** On a fixed beat: after a slow one the next come closer, so that the storm does not thin out. */
  async run(seconds: number): Promise<void> {
    const startedMs = performance.now();
    for (let revision = 1; revision <= seconds * RELOADS_PER_SECOND; revision++) {
      await pause(Math.max(0, startedMs + (revision * 1000) / RELOADS_PER_SECOND - performance.now()));
      await this.#one(revision);
    }
  }

  async #one(revision: number): Promise<void> {
    const isBroken = revision % 3 === 0;
    writeFileSync(this.#path, isBroken ? broken(revision) : configOf(revision));
    if (!isBroken) this.#load.newest = revision;
    const answer = await this.#admin.send("/admin/reload", { token: OPERATOR }).catch(String);
    const ok = typeof answer === "string" ? answer : at(answer.json, "ok");
    this.counts.reloads++;
    if (ok === true) this.counts.applied++;
    if (ok === false) this.counts.refused++;
    if (ok !== !isBroken)
      this.#load.fail(`reload ${revision}: ${typeof answer === "string" ? answer : answer.text}`);
    if (!isBroken) this.#load.oldest = revision;
  }
}

/** Clients that call and stream without a break, and look at every answer. */
class Load {
  /** Revisions that an answer to a call made now may name. */
  oldest = 0;
  newest = 0;
  readonly counts = { calls: 0, streams: 0, failures: [] as string[] };
  readonly client: Client;

  constructor(url: string) {
    this.client = new Client(url, false);
  }

  async run(seconds: number): Promise<void> {
    const untilMs = performance.now() + seconds * 1000;
    const clients = Array.from({ length: JSON_CLIENTS + STREAM_CLIENTS }, async (_, n) => {
      while (performance.now() < untilMs) {
        const oldest = this.oldest;
        const text = await (n < JSON_CLIENTS ? this.#call() : this.#stream()).catch(String);
        this.#look(text, oldest);
        await pause(CALL_PAUSE_MS);
      }
    });
    await Promise.all(clients);
  }

  fail(what: string): void {
    if (this.counts.failures.length < FAILURES_KEPT) this.counts.failures.push(what);
  }

  async #call(): Promise<string> {
    this.counts.calls++;
    const answer = await this.client.send(`/api/${PROJECT}/ask`, {
      token: TOKENS.web,
      body: { message: "?" },
    });
    return String(at(answer.json, "content") ?? answer.text);
  }

  async #stream(): Promise<string> {
    this.counts.streams++;
    const body = { message: "?", stream: true };
    const events = await (
      await this.client.stream(`/api/${PROJECT}/ask`, { token: TOKENS.web, body })
    ).rest();
    return events.at(-1) === "[DONE]" ? textOf(events) : `cut off: ${events.at(-1)}`;
  }

  /** Whole, of one revision from first word to last, and of none that was replaced before the call. */
  #look(text: string, oldest: number): void {
    const words = text.split(" ");
    const revision = Number(words[0]?.slice(1));
    const isWhole = words.length === CHUNKS && new Set(words).size === 1;
    if (!isWhole || !(revision >= oldest && revision <= this.newest)) {
      this.fail(`revisions ${oldest} to ${this.newest} were possible, and the answer was: ${text}`);
    }
  }
}

async function sampled(seconds: number): Promise<MemorySample[]> {
  const startedMs = performance.now();
  const samples = [sample(0)];
  for (let afterSeconds = 10; afterSeconds < seconds + 10; afterSeconds += 10) {
    const dueSeconds = Math.min(afterSeconds, seconds);
    await pause(Math.max(0, startedMs + dueSeconds * 1000 - performance.now()));
    samples.push(sample(dueSeconds));
  }
  return samples;
}

function sample(afterSeconds: number): MemorySample {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { afterSeconds, residentBytes: rss, heapBytes: heapUsed };
}

/** What `npm run storm` prints. */
function tableOf({ memory, failures, ...counts }: Storm): string {
  const mb = (bytes: number): string => (bytes / 2 ** 20).toFixed(1).padStart(8);
  return [
    ...Object.entries(counts).map(([name, count]) => `${name.padEnd(18)}${String(count).padStart(8)}`),
    `${"failures".padEnd(18)}${String(failures.length).padStart(8)}`,
    ...failures.map((failure) => `  ${failure}`),
    "",
    "after s     RSS MB  heap MB",
    ...memory.map(
      (at) => `${String(at.afterSeconds).padStart(7)} ${mb(at.residentBytes)} ${mb(at.heapBytes)}`,
    ),
    "",
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const seconds = Number(process.argv[2] ?? 30);
  const outcome = await storm(seconds);
  process.stdout.write(tableOf(outcome));
  let isFine = outcome.failures.length === 0 && outcome.generations === 1 && outcome.instances === 1;
  for (const run of [checkoutStorm, configMapStorm, pluginStorm]) {
    const files = await run({ seconds });
    process.stdout.write(fileStormLine(files));
    isFine &&= files.failures.length === 0 && files.revisionsSeen > 1;
  }
  process.exitCode = isFine ? 0 : 1;
}
