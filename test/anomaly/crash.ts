/**
 * Kills a process that works on a state folder, again and again, at moments that a seed chooses, and holds what the next
 * one finds against what the ones before it have said: all that was answered is there, and nothing is counted twice. After
 * each kill copies of the folder are damaged by one flipped bit each: a copy opens with everything in it, or says what is
 * lost, or refuses to open. Now and then a second process comes for the folder while the first has it, and is refused; and
 * the date steps by days while a process works, which changes nothing.
 *   npm run crash -- [KILLS] [SEED]
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import { openFileStore } from "../state/file-kit.ts";
import { seededFraction } from "../state/seeded.ts";
import { type FlipCount, flipBits } from "./flips.ts";

const VICTIM = fileURLToPath(new URL("./state-victim.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Copies of the folder that the script damages after each kill. */
const FLIPS_PER_KILL = 4;
/** Lines after which a second process comes for the folder; the victim has opened it by then. */
const SECOND_WRITER_AT = 50;
/** Lines said before a kill, at most. */
const LINES_MAX = 400;

interface Found {
  readonly sums: readonly (readonly [string, number])[];
  readonly turns: readonly (readonly [string, number | string])[];
  readonly overrides: readonly (readonly [string, boolean])[];
  readonly audit: readonly string[];
  readonly health: { readonly ok: boolean; readonly detail: string };
}

/** What may be found, as far as it was said. */
class Testimony {
  /** By call: the costs that may stand against it. */
  readonly #costs = new Map<string, Set<number>>();
  /** By conversation: the lengths it may have. */
  readonly #turns = new Map<string, Set<number>>();
  readonly #overrides = new Map<string, Set<string>>();
  readonly #audit = new Set<string>();

  get conversations(): string[] {
    return [...this.#turns.keys()];
  }

  hear(line: string): void {
    const [verb, name = "", value = ""] = line.split(" ");
    const number = Number(value);
    // Not in the journal yet, or in it and open.
    if (verb === "admitting") this.#costs.set(name, new Set([0, number]));
    // Open, or ended: it has been in the journal since the admission, but for the turn of the loop it came in.
    else if (verb === "settling") this.#costs.get(name)?.add(number);
    else if (verb === "settled") this.#costs.set(name, new Set([number]));
    else if (verb === "saving") this.#turns.set(name, new Set([...(this.#turns.get(name) ?? [0]), number]));
    else if (verb === "saved") this.#turns.set(name, new Set([number]));
    else if (verb === "putting")
      this.#overrides.set(name, new Set([...(this.#overrides.get(name) ?? [""]), value]));
    else if (verb === "put") this.#overrides.set(name, new Set([value]));
    else if (verb === "appended") this.#audit.add(name);
  }

  /** From now on what was found is what there is. */
  holdAgainst(found: Found): void {
    assert.deepEqual(found.health, { ok: true, detail: "on file" });
    const sums = new Map(found.sums);
    let total = 0;
    for (const [call, costs] of this.#costs) {
      const cost = sums.get(call) ?? 0;
      assert.ok(costs.has(cost), `call ${call} stands at ${cost}, not at ${[...costs].join(" or ")}`);
      this.#costs.set(call, new Set([cost]));
      total += cost;
    }
    assert.equal(sums.get("total") ?? 0, total, "the calls' sum is not the sum of the calls");
    for (const [id, length] of found.turns) {
      const turns = typeof length === "number" ? length : 0;
      assert.ok(this.#turns.get(id)?.has(turns), `conversation ${id} has ${length} turns`);
      if (turns === 0) this.#turns.delete(id);
      else this.#turns.set(id, new Set([turns]));
    }
    const overrides = new Map(found.overrides);
    for (const [key, values] of this.#overrides) {
      const value = String(overrides.get(key) ?? "");
      assert.ok(values.has(value), `override ${key} is '${value}'`);
      this.#overrides.set(key, new Set([value]));
    }
    const audit = new Set(found.audit);
    assert.equal(audit.size, found.audit.length, "an audit record is there twice");
    const newest = [...this.#audit].slice(-500);
    for (const id of newest) assert.ok(audit.has(id), `audit record ${id} is gone`);
  }
}

/** Throws an AssertionError when anything is not as it was said. Returns how many lines were said in all. */
export async function crashAndLook(
  kills: number,
  seed: number,
  flips: FlipCount = { exact: 0, told: 0, refused: 0 },
  flipsPerKill = 1,
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-crash-"));
  const victim = compiledVictim();
  const fraction = seededFraction(seed);
  const testimony = new Testimony();
  let heard = 0;
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      // Now and then in the middle of its start.
      const lines = fraction() < 0.2 ? 1 : 2 + Math.floor(fraction() * LINES_MAX);
      heard += await runVictim([victim, folder], seed * 1000 + kill, testimony, lines);
      await flipBits(folder, flipsPerKill, fraction, flips);
    }
    await runVictim([victim, folder], seed * 1000 + kills, testimony, 2);
    return heard;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(dirname(victim), { recursive: true });
  }
}

/** One file: started from the sources it takes a second, of which nothing is the victim's work. */
function compiledVictim(): string {
  const outfile = join(mkdtempSync(join(tmpdir(), "sluice-victim-")), "victim.mjs");
  buildSync({
    ...{ entryPoints: [VICTIM], outfile, bundle: true, platform: "node", format: "esm" },
    conditions: ["sluice-source"],
  });
  return outfile;
}

/** Kills it after this number of lines. */
async function runVictim(
  [victim, folder]: readonly [string, string],
  seed: number,
  testimony: Testimony,
  lines: number,
): Promise<number> {
  const ids = JSON.stringify(testimony.conversations);
  const child: ChildProcess = spawn(process.execPath, [victim, folder, `${seed}`, ids], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  assert.ok(child.stdout !== null);
  const ended = new Promise<string | null>((resolve) => child.on("close", (_, signal) => resolve(signal)));
  let heard = 0;
  // What was said before the kill comes out of the pipe after it too.
  for await (const line of createInterface({ input: child.stdout })) {
    heard += 1;
    if (heard === SECOND_WRITER_AT && lines > SECOND_WRITER_AT)
      await assert.rejects(openFileStore({ directory: folder }), /is held by/);
    if (heard === lines) child.kill("SIGKILL");
    // The child has made it of this very shape.
    if (line.startsWith("found ")) testimony.holdAgainst(JSON.parse(line.slice(6)) as Found);
    else testimony.hear(line);
  }
  assert.equal(await ended, "SIGKILL", "the victim ended by itself");
  return heard;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [kills = "500", seed = "1"] = process.argv.slice(2);
  const flips = { exact: 0, told: 0, refused: 0 };
  const heard = await crashAndLook(Number(kills), Number(seed), flips, FLIPS_PER_KILL);
  const { exact, told, refused } = flips;
  process.stdout.write(
    `${kills} kills (seed ${seed}): all of what ${heard} lines said was found, nothing twice\n` +
      `${exact + told + refused} flipped bits: ${exact} exact, ${told} told, ${refused} refused\n`,
  );
}
