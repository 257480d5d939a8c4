/** Changed files are taken up however they are changed, and a burst of changes is one reload. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigWatch } from "../../src/gateway/watch.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { hashOf, PROJECT, TOKENS } from "../spec/kit/config.ts";
import { APPLIED, configSaying, REFUSED, watching } from "./kit.ts";

/** Below the limit of every test, so that the tests after one that fails still run. */
const LIMIT = { timeout: 20_000 };

test("a file written in place is applied", LIMIT, async (t) => {
  const w = await watching(t);
  assert.equal(await w.says(), "first");
  writeFileSync(join(w.folder, "gateway.yaml"), configSaying("second"));
  await w.logged(APPLIED);
  assert.equal(await w.says(), "second");
});

test("editors that save by renaming are followed, save after save", LIMIT, async (t) => {
  const w = await watching(t);
  for (const reply of ["second", "third", "fourth"]) {
    const mark = w.mark();
    writeFileSync(join(w.folder, ".gateway.yaml.swp"), configSaying(reply));
    renameSync(join(w.folder, ".gateway.yaml.swp"), join(w.folder, "gateway.yaml"));
    await w.logged(APPLIED, mark);
    assert.equal(await w.says(), reply);
  }
});

test(
  "a broken file is reported, and the last valid configuration stays in effect until it is fixed",
  LIMIT,
  async (t) => {
    const w = await watching(t);
    writeFileSync(join(w.folder, "gateway.yaml"), configSaying("second").replace("model: m", "modle: m"));
    const refused = await w.logged(REFUSED);
    assert.match(JSON.stringify(refused["errors"]), /modle/);
    assert.equal(await w.says(), "first");
    writeFileSync(join(w.folder, "gateway.yaml"), configSaying("third"));
    await w.logged(APPLIED);
    assert.equal(await w.says(), "third");
  },
);

test("twenty ConfigMap swaps in a row are each applied", LIMIT, async (t) => {
  // As the kubelet does it: files are links into ..data, which is a link to a dated folder, replaced by a rename.
  const publish = (folder: string, revision: number): void => {
    const dated = join(folder, `..revision_${revision}`);
    mkdirSync(dated);
    writeFileSync(join(dated, "gateway.yaml"), configSaying(`revision ${revision}`));
    symlinkSync(`..revision_${revision}`, join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    if (revision > 0) rmSync(join(folder, `..revision_${revision - 1}`), { recursive: true });
  };
  const w = await watching(t, (folder) => {
    publish(folder, 0);
    symlinkSync("..data/gateway.yaml", join(folder, "gateway.yaml"));
    return join(folder, "gateway.yaml");
  });
  for (let revision = 1; revision <= 20; revision++) {
    const mark = w.mark();
    publish(w.folder, revision);
    await w.logged(APPLIED, mark);
    assert.equal(await w.says(), `revision ${revision}`);
  }
});

test("a git checkout of twenty files is one reload", LIMIT, async (t) => {
  const git = (folder: string, ...args: string[]): void => {
    const identity = [
      "-c",
      "user.name=t",
      "-c",
      "user.email=t@example.com",
      "-c",
      "core.hooksPath=/dev/null",
    ];
    execFileSync("git", [...identity, ...args], { cwd: folder, stdio: "pipe" });
  };
  const commit = (folder: string, reply: string): void => {
    for (let i = 0; i < 20; i++) {
      writeFileSync(
        join(folder, "endpoints", `${i}.yaml`),
        `endpoints:\n  - { name: E${i}, provider: mock, model: m, prompt: ${reply} }\n`,
      );
    }
    writeFileSync(
      join(folder, "gateway.yaml"),
      configSaying(reply).replace("    endpoints:\n", '    include: ["endpoints/*.yaml"]\n    endpoints:\n'),
    );
    git(folder, "add", "-A");
    git(folder, "commit", "-qm", reply);
    git(folder, "tag", reply);
  };
  const w = await watching(t, (folder) => {
    mkdirSync(join(folder, "endpoints"));
    git(folder, "init", "-q");
    commit(folder, "second");
    commit(folder, "first");
    return join(folder, "gateway.yaml");
  });
  assert.equal(await w.says(), "first");
  git(w.folder, "checkout", "-q", "second");
  await w.logged(APPLIED);
  assert.equal(await w.says(), "second");
  assert.equal(w.gateway.config.projects[0]?.endpoints.length, 21);
  assert.equal(w.count(REFUSED, 0), 0, "no half of the checkout was looked at");
  assert.equal(w.count(APPLIED, 0), 1);
});

test("a prompt kept in a file of its own is watched like the configuration", LIMIT, async (t) => {
  const config = configSaying("x").replace(
    "model: m,",
    'model: m, user_prompt_template: "${file:./prompt.md}{{input}}",',
  );
  const w = await watching(t, (folder) => {
    writeFileSync(join(folder, "prompt.md"), "one ");
    writeFileSync(join(folder, "gateway.yaml"), config.replace('reply: "x"', 'reply: "{{input}}"'));
    return join(folder, "gateway.yaml");
  });
  assert.equal(await w.says(), "one ?");
  writeFileSync(join(w.folder, "prompt.md"), "two ");
  await w.logged(APPLIED);
  assert.equal(await w.says(), "two ?");
});

test("a file added to a configuration folder is applied, and its removal too", LIMIT, async (t) => {
  const extra = `projects:
  - uuid: 00000000-0000-4000-8000-000000000001
    name: Extra
    type: ai_gateway
    tokens: [{ name: other, hash: "${hashOf(TOKENS.other)}", scopes: [chat] }]
    endpoints: [{ name: E, provider: mock, model: m }]
`;
  const w = await watching(t, (folder) => {
    writeFileSync(join(folder, "a.yaml"), configSaying("first"));
    return folder;
  });
  const mark = w.mark();
  writeFileSync(join(w.folder, "b.yaml"), extra);
  await w.logged(APPLIED, mark);
  assert.deepEqual(
    w.gateway.config.projects.map(({ name }) => name),
    ["Reload", "Extra"],
  );
  const again = w.mark();
  rmSync(join(w.folder, "b.yaml"));
  await w.logged(APPLIED, again);
  assert.deepEqual(
    w.gateway.config.projects.map(({ uuid }) => uuid),
    [PROJECT],
  );
});

test("an error while it looks is reported and caught; the next poll looks again", LIMIT, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-watch-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "gateway.yaml");
  writeFileSync(path, "one");
  const clock = virtualClock();
  const told: unknown[] = [];
  const behaviors = [
    () => Promise.reject(new Error("rejected")),
    () => {
      throw new Error("thrown");
    },
    () => Promise.resolve(),
  ];
  let runs = 0;
  const watch = new ConfigWatch({
    clock,
    changed: () => behaviors[runs++]?.() ?? Promise.resolve(),
    failed: (thrown) => told.push(thrown),
  });
  t.after(() => watch.close());
  // No folder is watched for events: only polls look.
  watch.follow({
    ...{ files: [path], directories: [], eventFolders: [], fingerprint: "", secretFiles: [] },
    directoryNames: [],
  });
  for (let expected = 1; expected <= behaviors.length; expected++) {
    const version = String(expected).repeat(expected);
    writeFileSync(path, version);
    while (runs < expected || told.length < Math.min(expected, 2)) {
      clock.advance(2_000);
      await new Promise(setImmediate);
    }
  }
  assert.deepEqual(
    told.map((thrown) => (thrown instanceof Error ? thrown.message : thrown)),
    ["rejected", "thrown"],
  );
  assert.equal(runs, 3);
});
