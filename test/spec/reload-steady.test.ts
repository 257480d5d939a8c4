/** Files that change while they are being read: what goes live is one revision of all of them, or nothing. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ConfigRoot } from "../../src/config/read/root.ts";
import { openSources, Source, type Sources } from "../../src/config/read/source.ts";
import { GitLocks } from "../../src/gateway/git.ts";
import { SteadyLoads } from "../../src/gateway/steady-load.ts";
import { assertAnswered, until } from "./kit/client.ts";
import { configOf, echoEntry } from "./kit/config.ts";
import { type StartOptions, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };

/** A configuration whose answers name the revision of both of its files. */
function revision(name: string): StartOptions {
  return { endpoint: echoEntry({ user_prompt_template: `${name} \${file:template.txt} {{input}}` }) };
}

verifies("reload.checkout", "a reload waits while git holds the working tree's lock", async (t) => {
  const g = await startGateway(t, { ...revision("old"), files: { "template.txt": "old" } });
  const lock = join(g.folder, ".git", "index.lock");
  mkdirSync(join(g.folder, ".git"));
  writeFileSync(lock, "");
  writeFileSync(join(g.folder, "template.txt"), "new");
  const reload = g.gateway.reload();
  await until(() => g.lines.some((line) => line.includes("until git has released its lock")), "it waits");
  assert.equal(assertAnswered(await g.call(hello)), "old old Hello");
  g.rewrite(revision("new"));
  rmSync(lock);
  assert.equal((await reload).changed, true);
  assert.equal(assertAnswered(await g.call(hello)), "new new Hello");
});

verifies(
  "reload.checkout",
  "the lock is that of the nearest repository, linked working trees included",
  (t) => {
    const folder = folderOf(t);
    const admin = join(folder, "main.git", "worktrees", "tree");
    const inside = join(folder, "tree", "gateway", "parts");
    for (const path of [admin, inside, join(folder, ".git")]) mkdirSync(path, { recursive: true });
    writeFileSync(join(folder, "tree", ".git"), "gitdir: ../main.git/worktrees/tree\n");
    writeFileSync(join(folder, ".git", "index.lock"), "");
    assert.deepEqual(new GitLocks().heldOver([inside]), [], "a repository around it is another one");
    writeFileSync(join(admin, "index.lock"), "");
    assert.deepEqual(new GitLocks().heldOver([inside]), [join(admin, "index.lock")]);
    assert.deepEqual(new GitLocks().heldOver([folder]), [join(folder, ".git", "index.lock")]);
  },
);

verifies("reload.configmap.one", "a swap of ..data between two files of a load mixes nothing", (t) => {
  const folder = folderOf(t);
  const publish = (name: string): void => {
    mkdirSync(join(folder, name));
    for (const file of ["a.yaml", "b.yaml"]) writeFileSync(join(folder, name, file), name);
    symlinkSync(name, join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
  };
  publish("..first");
  for (const file of ["a.yaml", "b.yaml"]) symlinkSync(join("..data", file), join(folder, file));
  const textOf = (sources: Sources, file: string): string => {
    const source = sources.read(join(folder, file));
    return source instanceof Source ? source.text : source.unreadable;
  };
  const load = openSources(new ConfigRoot(folder));
  assert.equal(textOf(load, "a.yaml"), "..first");
  publish("..second");
  assert.equal(textOf(load, "b.yaml"), "..first");
  const next = openSources(new ConfigRoot(folder));
  assert.deepEqual([textOf(next, "a.yaml"), textOf(next, "b.yaml")], ["..second", "..second"]);
  symlinkSync("loop.yaml", join(folder, "loop.yaml"));
  symlinkSync("nowhere.yaml", join(folder, "dangling.yaml"));
  for (const file of ["loop.yaml", "dangling.yaml"]) assert.match(textOf(next, file), /does not exist/);
});

verifies("reload.checkout", "a lock that a crashed git left behind is not waited for", async (t) => {
  const folder = folderOf(t);
  const lock = join(folder, ".git", "index.lock");
  mkdirSync(join(folder, ".git"));
  writeFileSync(lock, "");
  const hourAgo = new Date(Date.now() - 3_600_000);
  utimesSync(lock, hourAgo, hourAgo);
  const locks = new GitLocks();
  assert.deepEqual(locks.heldOver([folder]), [lock]);
  await locks.released([folder], () => assert.fail("nothing to wait for"));
  assert.deepEqual(locks.heldOver([folder]), [], "from then on it counts as none");
  utimesSync(lock, new Date(), new Date());
  assert.deepEqual(locks.heldOver([folder]), [lock], "a new one counts again");
});

/** Changes `template.txt` while the configuration that names it is being loaded. */
function changing(code: string): string {
  return `import { existsSync, rmSync, writeFileSync } from "node:fs";
const beside = (name) => new URL(name, import.meta.url);
${code}`;
}

const STAGE = `{ api: 1, kind: "stage", name: "changing", stage: "record", description: "A test's own.",
  examples: [], schema: { type: "object" }, setup: () => ({ finish() {} }) }`;

verifies("reload.steady", "a file that changes during a load is read again", async (t) => {
  const plugin = changing(`if (existsSync(beside("armed"))) {
    rmSync(beside("armed"));
    writeFileSync(beside("template.txt"), "late");
  }
  export default ${STAGE};`);
  const parts = (name: string): StartOptions => ({
    ...revision(name),
    root: { plugins: ["./changing.mjs"] },
  });
  const g = await startGateway(t, {
    ...parts("old"),
    files: { "template.txt": "early", "changing.mjs": plugin },
  });
  writeFileSync(join(g.folder, "armed"), "");
  writeFileSync(join(g.folder, "changing.mjs"), `${plugin}// Changed.`);
  g.rewrite(parts("new"));
  assert.equal((await g.gateway.reload()).ok, true);
  assert.equal(assertAnswered(await g.call(hello)), "new late Hello");
  assert.ok(g.lines.some((line) => line.includes("files changed while they were read")));
});

test("files that keep changing are an error of their own, not half a configuration", async (t) => {
  const folder = folderOf(t);
  const path = join(folder, "gateway.config.yaml");
  const plugin = changing(`let times = 0;
  const stage = ${STAGE};
  Object.defineProperty(stage, "schema", { get() {
    writeFileSync(beside("template.txt"), String(times++));
    return { type: "object" };
  } });
  export default stage;`);
  writeFileSync(join(folder, "changing.mjs"), plugin);
  writeFileSync(join(folder, "template.txt"), "first");
  const parts = { ...revision("moving"), root: { plugins: ["./changing.mjs"] } };
  const endpoint = { ...parts.endpoint, stages: [{ use: "changing" }] };
  writeFileSync(path, JSON.stringify(configOf({ ...parts, endpoint }, "http://127.0.0.1:9")));
  const request = { path, overlays: [], env: {}, secrets: "resolve", strict: false } as const;
  const { config, errors } = await new SteadyLoads(2).load(request);
  assert.equal(config, undefined);
  assert.deepEqual(
    errors.map(({ code }) => code),
    ["E0902"],
  );
});

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-steady-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
