/**
 * Test files, broken in seeded ways: reading them must neither throw nor take long, a mistake must have its place in the
 * file, and what has no mistake must run to an end, whatever it says.
 */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigRoot } from "../../src/config/read/root.ts";
import { openSources } from "../../src/config/read/source.ts";
import { checkNames } from "../../src/config-tests/check-names.ts";
import { Fixtures } from "../../src/config-tests/fixtures.ts";
import { Names } from "../../src/config-tests/names.ts";
import { readTestFile } from "../../src/config-tests/read.ts";
import { runCase } from "../../src/config-tests/run-case.ts";
import { openWorld, requestFor, type World } from "../../src/config-tests/world.ts";
import { CONFIG } from "../config-tests/kit.ts";
import { mutateText } from "./mutations.ts";
import type { FuzzSession, FuzzTarget, SeededRandom } from "./target.ts";

const CPU_MS_MAX = 2_000;
const START_MS = Date.UTC(2026, 10, 15, 12);

/** A case each; some of them begin the file. */
const PIECES: readonly string[] = [
  "  - name: a\n    call: { endpoint: summarise, message: ann@example.org }\n    provider: { reply: Done., usage: { prompt: 4, completion: 5 } }\n    expect: { status: 200, guardrails: { pii: mask }, sent: { excludes: [ann@example.org] } }\n",
  "  - name: b\n    given: { spent_usd: [{ endpoint: summarise, amount: 200 }], calls: [{ endpoint: triage, count: 2, ago: 5s }] }\n    call: { endpoint: summarise, message: hi, stream: true }\n    provider: [{ status: 503 }, { chunks: [a, b] }]\n",
  "  - name: c\n    each: [{ n: 1, s: 200 }, { n: x, s: { min: 1 } }]\n    call: { endpoint: triage, message: '{{n}}' }\n    expect: { status: '{{s}}', body: { meta: { any: true } } }\n",
  "  - name: d\n    steps:\n      - { call: { endpoint: triage, message: hi }, repeat: 2, save: { s: session_id, c: body.content } }\n      - { advance: 61s }\n      - { call: { endpoint: triage, message: '{{c}}', session_id: '{{s}}' }, expect: { attempts: [{ openai-main/gpt-5-mini: ok }] } }\n",
  "  - name: e\n    http: { path: '/api/{{project.uuid}}/extract', body: { message: hi, order: 5 } }\n    provider: [{ timeout: true }]\n    expect: { status: { one_of: [502] }, events: [], headers: { x-request-id: { matches: '^.' } } }\n",
  "  - name: f\n    given: { tokens: { revoked: [web] }, overrides: [{ endpoint: triage, is_active: false }], circuits: { open: [openai-main] } }\n    call: { tool: summarise, arguments: { message: hi }, token: capped }\n    upstream: { status: 200, body: [] }\n",
];

class TestFileSession implements FuzzSession {
  readonly #folder: string;
  readonly #world: World;

  constructor(folder: string, world: World) {
    this.#folder = folder;
    this.#world = world;
  }

  async run(random: SeededRandom): Promise<void> {
    const pieces = Array.from({ length: 1 + random.below(3) }, (_, n) =>
      random.pick(PIECES).replace(/name: ./, (name) => `${name}${n}`),
    );
    const text = `tests:\n${pieces.join("")}`;
    const path = join(this.#folder, "gateway.test.yaml");
    // Names and numbers are swapped for others that are known too, so that many files stay valid.
    const swapped = random.chance(0.5)
      ? text.replaceAll(
          random.pick(["summarise", "triage", "hi", "200", "2"]),
          random.pick(["triage", "extract", "'{{token}}'", "0", "5", "null", "[]"]),
        )
      : text;
    writeFileSync(path, random.chance(0.6) ? mutateText(random, swapped) : swapped);
    const startedAt = process.cpuUsage();
    await this.#read(path);
    const { user, system } = process.cpuUsage(startedAt);
    const cpuMs = (user + system) / 1000;
    if (cpuMs > CPU_MS_MAX) throw new Error(`it took ${cpuMs.toFixed(0)} ms of CPU`);
  }

  async #read(path: string): Promise<void> {
    const { documents, reporter } = readTestFile(path, openSources(new ConfigRoot(this.#folder)));
    for (const document of reporter.errors.length > 0 ? [] : documents) {
      const names = new Names(this.#world.config, document.defaults);
      checkNames(document, names);
      if (reporter.errors.length > 0) break;
      const fixtures = new Fixtures(path, openSources(new ConfigRoot(this.#folder)));
      const context = { document, names, fixtures, world: this.#world, startMs: START_MS, update: false };
      for (const test of document.cases) {
        const { failures } = await runCase(test, context);
        for (const { place } of failures) if (place.file !== path) throw new Error("a failure has no place");
      }
    }
    for (const { file, line, column } of reporter.errors)
      if (file !== path || line < 1 || column < 1) throw new Error("a mistake has no place");
  }

  async close(): Promise<void> {
    await this.#world.offline.close();
    rmSync(this.#folder, { recursive: true });
  }
}

export const testFiles: FuzzTarget = {
  name: "test-files",
  description: "broken test files are mistakes with places, and valid ones run to an end",
  async start() {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "sluice-fuzz-tests-")));
    const path = join(folder, "gateway.config.yaml");
    writeFileSync(path, CONFIG);
    const world = await openWorld(requestFor({ path, root: undefined, env: {}, overlays: [] }));
    if (!("offline" in world)) throw new Error("the configuration has errors");
    return new TestFileSession(folder, world);
  },
};
