/** `sluice state` on real folders: show, verify, repair, export and import, and that a folder in use is left alone. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isJsonObject } from "../../src/base/json.ts";
import { main } from "../../src/cli/main.ts";
import { openFileStore, settled, temporaryFolder } from "./file-kit.ts";
import { begin, portrait, STEPS } from "./life.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function sluice(args: readonly string[], stdin = "", isTerminal = false): Promise<Ran> {
  let [out, err] = ["", ""];
  const code = await main(["state", ...args], {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    stdin: async () => stdin,
    env: {},
    cwd: "/",
    isTerminal,
  });
  return { code, out, err };
}

/** A folder after a whole life, closed in order. Returns the id of its conversation. */
async function livedIn(directory: string): Promise<string> {
  const life = begin(await openFileStore({ directory }));
  for (const step of STEPS) step(life);
  await settled(1);
  await life.store.close();
  return life.sessionId;
}

/** The dates of rate windows are derived from the monotonic clock, to the millisecond. */
function withoutTimes(lines: string): string {
  return lines.replace(/\d{13}/g, "<ms>");
}

async function foundIn(directory: string, sessionId: string): Promise<unknown> {
  const store = await openFileStore({ directory });
  const found = await portrait({ store, sessionId });
  await store.close();
  return found;
}

test("show says what was spent, what is reserved, and what else is kept", async (t) => {
  const directory = temporaryFolder(t);
  await livedIn(directory);
  const { code, out } = await sluice(["show", "--directory", directory]);
  assert.equal(code, 0);
  assert.match(
    out,
    /^month\tsettled_usd\treserved_usd\tkey\n2026-05\t0\.000001150\t0\.000000040\tendpoint\n/,
  );
  assert.match(out, /\nconversations\t1\naudit records\t2\nrate windows\t2\ninterrupted calls\t1\n/);
  assert.match(out, /\nendpoint:p\/s\tfalse\tby ops\n/);
  assert.match(out, /\njournal-00000001\.jsonl\t\d+ bytes\t15 changes\n$/);
  const { out: table } = await sluice(["show", "--directory", directory], "", true);
  assert.match(table, /^month {4}settled_usd {2}reserved_usd {2}key\n2026-05 {2}0\.000001150 /);
  assert.doesNotMatch(table, /\t/);
  const { out: json } = await sluice(["show", "--directory", directory, "--output", "json"]);
  const view: unknown = JSON.parse(json);
  assert.ok(isJsonObject(view));
  assert.deepEqual(view["open_calls"], ["call-4"]);
  assert.deepEqual(view["sums"], [
    { month: "2026-05", key: "endpoint", settled_nano_usd: 1150, reserved_nano_usd: 40 },
    { month: "2026-05", key: "token", settled_nano_usd: 1150, reserved_nano_usd: 40 },
  ]);
});

test("--root lets the configuration share files with its neighbors, as validate does", async (t) => {
  const root = temporaryFolder(t);
  const directory = join(root, "state");
  await livedIn(directory);
  mkdirSync(join(root, "conf"));
  const config = join(root, "conf/gateway.config.yaml");
  writeFileSync(
    config,
    `version: 1\ninclude: ["../shared.yaml"]\nstate: { driver: file, directory: ${directory} }\n`,
  );
  writeFileSync(join(root, "shared.yaml"), "projects: []\n");
  const narrow = await sluice(["show", "--config", config]);
  assert.equal(narrow.code, 1);
  assert.match(narrow.err, /E0011/);
  const wide = await sluice(["show", "--config", config, "--root", root]);
  assert.equal(wide.code, 0, wide.err);
  assert.match(wide.out, /conversations\t1\n/);
  // `confirm` reads the same files, and refuses a driver that is not its own.
  assert.match((await sluice(["confirm", "--config", config])).err, /E0011/);
  assert.match(
    (await sluice(["confirm", "--config", config, "--root", root])).err,
    /confirm needs state.driver 'redis'/,
  );
});

test("verify tells where a file is damaged and what is lost; repair keeps what is readable, and the damaged file", async (t) => {
  const directory = temporaryFolder(t);
  const sessionId = await livedIn(directory);
  assert.equal((await sluice(["verify", "--directory", directory])).code, 0);
  const path = join(directory, "journal-00000001.jsonl");
  const whole = readFileSync(path);
  const offset = whole.lastIndexOf(10, whole.indexOf('"endpoint:p/s"')) + 1;
  const damaged = Buffer.from(whole);
  damaged[offset + 60] = 0;
  writeFileSync(path, damaged);
  const found = await sluice(["verify", "--directory", directory]);
  assert.equal(found.code, 1);
  const lost = "length or checksum do not match; 1 line is lost: overrides such as token revocations";
  assert.match(found.out, new RegExp(`damaged at byte ${offset}: ${lost}\n$`));
  await assert.rejects(openFileStore({ directory }), new RegExp(`byte ${offset}: ${lost}\n`));
  const { code, out } = await sluice(["repair", "--directory", directory]);
  assert.equal(code, 0);
  const aside = `journal-00000001.jsonl.damaged-${offset}`;
  assert.equal(
    out,
    [
      `journal-00000001.jsonl, byte ${offset}: ${lost}`,
      "everything readable was written to snapshot-00000002.jsonl",
      `the damaged file was renamed to ${aside}`,
      "A token revoked at run time may be valid again: check the overrides (sluice state show).\n",
    ].join("\n"),
  );
  assert.deepEqual(readFileSync(join(directory, aside)), damaged);
  assert.equal((await sluice(["verify", "--directory", directory])).code, 0);
  const good = await sluice(["repair", "--directory", directory]);
  assert.equal(good.out, "no file is damaged; nothing was changed\n");
  const store = await openFileStore({ directory });
  assert.deepEqual(await store.overrides.list(), []);
  assert.equal((await store.spending("token", "2026-05")).settledNanoUsd, 1160);
  assert.equal((await store.sessions.historyCharacters("chat/owner", sessionId)) > 0, true);
  await store.close();
});

test("a folder that was closed and then cut is not good, and repair makes it so", async (t) => {
  const directory = temporaryFolder(t);
  await livedIn(directory);
  const path = join(directory, "journal-00000001.jsonl");
  truncateSync(path, readFileSync(path).length - 3);
  const found = await sluice(["verify", "--directory", directory]);
  assert.equal(found.code, 1);
  assert.match(
    found.out,
    /cut at byte \d+: it ended with line 5 when it was synced; 1 line is lost, which may/,
  );
  await assert.rejects(openFileStore({ directory }), /sluice state repair/);
  assert.equal((await sluice(["repair", "--directory", directory])).code, 0);
  await (await openFileStore({ directory })).close();
});

test("what is exported and imported is the same state, through a file and through a pipe", async (t) => {
  const [from, piped, filed] = [temporaryFolder(t), temporaryFolder(t), temporaryFolder(t)];
  const sessionId = await livedIn(from);
  const { out } = await sluice(["export", "--directory", from]);
  assert.equal((await sluice(["import", "--directory", piped], out)).code, 0);
  const file = join(filed, "backup.jsonl");
  assert.equal((await sluice(["export", "--directory", from, file])).code, 0);
  assert.equal(withoutTimes(readFileSync(file, "utf8")), withoutTimes(out));
  assert.equal((await sluice(["import", "--directory", join(filed, "new"), file])).code, 0);
  const there = await foundIn(from, sessionId);
  assert.deepEqual(await foundIn(piped, sessionId), there);
  assert.deepEqual(await foundIn(join(filed, "new"), sessionId), there);
});

test("import refuses an incomplete export, and a folder that holds state", async (t) => {
  const from = temporaryFolder(t);
  await livedIn(from);
  const { out } = await sluice(["export", "--directory", from]);
  const lines = out.trimEnd().split("\n");
  const into = async (text: string): Promise<string> => {
    const directory = temporaryFolder(t);
    const { code, err } = await sluice(["import", "--directory", directory], text);
    assert.equal(code, 1);
    assert.deepEqual(readdirSync(directory), []);
    return err;
  };
  assert.match(await into(lines.slice(0, -1).join("\n")), /its last line is missing/);
  assert.match(await into(lines.slice(1).join("\n")), /line 1 does not begin an export/);
  assert.match(
    await into([lines[0], '{"type":"settle"}', '{"end":"export","lines":2}'].join("\n")),
    /line 2 is no change/,
  );
  assert.match(await into("{\n"), /line 1 is not JSON/);
  const { code, err } = await sluice(["import", "--directory", from], out);
  assert.deepEqual([code, err], [1, `sluice state: ${from} holds state already; move it away first\n`]);
});

test("a folder that a process holds is left alone, and a folder without state is not made", async (t) => {
  const directory = temporaryFolder(t);
  const store = await openFileStore({ directory });
  for (const action of ["show", "verify", "repair", "export"]) {
    const { code, err } = await sluice([action, "--directory", directory]);
    assert.deepEqual(
      [code, err],
      [1, `sluice state: process ${process.pid} has ${directory}; stop it first\n`],
    );
  }
  await store.close();
  const none = join(directory, "none");
  const { code, err } = await sluice(["show", "--directory", none]);
  assert.deepEqual([code, err], [1, `sluice state: there is no state in ${none}\n`]);
  assert.ok(!readdirSync(directory).includes("none"));
});

test("the folder is the configuration's where none is given, and usage errors exit with 64", async (t) => {
  const directory = temporaryFolder(t);
  await livedIn(directory);
  const config = join(directory, "gateway.config.yaml");
  writeFileSync(config, `version: 1\nprojects: []\nstate: { directory: ${JSON.stringify(directory)} }\n`);
  assert.equal((await sluice(["verify", "--config", config])).code, 0);
  assert.equal((await sluice(["verify", "--config", join(directory, "none.yaml")])).code, 1);
  for (const args of [[], ["mend"], ["show", "file"], ["export", "a", "b"], ["repair", "--output", "json"]]) {
    assert.equal((await sluice(args)).code, 64, args.join(" "));
  }
});
