/** Git sides of `sluice plan`: what is read from a revision's tree, from where, and what cannot be. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { verifies } from "../spec/verifies.ts";
import {
  briefly,
  configOf,
  emptyFolder,
  gitIn,
  isThere,
  plan,
  repositoryIn,
  repositoryOf,
  run,
  TRIAGE,
} from "./plan-kit.ts";

const CONFIG = "gateway.config.yaml";
const LIMIT = TRIAGE.replace("60", "30");

verifies(
  "plan.defaults",
  "the working tree is compared with HEAD, and equal ones have no changes",
  async (t) => {
    const repository = repositoryOf(t, { [CONFIG]: configOf(TRIAGE) });
    const same = await repository.plan([]);
    assert.equal(same.code, 0);
    assert.match(same.stdout, /\nNo changes\.\n$/);
    repository.write({ [CONFIG]: configOf(LIMIT) });
    const document = await repository.document();
    assert.deepEqual(briefly(document), [`P107 support/triage rate_limit_per_minute ${CONFIG}:10`]);
    assert.equal(document.from.side, "git:HEAD");
    assert.equal(document.from.revision, repository.git("rev-parse", "HEAD"));
    assert.match(document.to.revision ?? "", /-dirty$/);
  },
);

verifies(
  "plan.defaults",
  "outside a repository the error names --from, and two paths need no git",
  async (t) => {
    const cwd = emptyFolder(t);
    const folder = repositoryIn(cwd);
    folder.write({ "a.yaml": configOf(TRIAGE), "b.yaml": configOf(LIMIT) });
    const refused = await run(plan, [], { cwd });
    assert.equal(refused.code, 64);
    assert.match(refused.stderr, /is not in a git repository\n.*--from PATH/);
    const without = { env: { PATH: "/nonexistent" } };
    const noGit = await run(plan, [], { cwd, ...without });
    assert.equal(noGit.code, 64);
    assert.match(noGit.stderr, /`git` is not installed/);
    const args = ["--from", "a.yaml", "--to", "b.yaml"];
    assert.equal((await folder.document(args, without)).changes.length, 1);
  },
);

const WHOLE = {
  "deploy/gateway.yaml": `include: ["teams/*.yaml", linked.yaml]\nplugins: [./plugins/guard.ts]\nversion: 1\n`,
  "deploy/teams/support.yaml": `projects:
  - name: Support
    uuid: 6f1f3c52-1d3a-4d0a-9a39-8f6f5d1c2b3a
    type: ai_gateway
    endpoints:
      - name: Triage
        provider: mock
        model: m
        prompt: "\${file:../prompts/triage.md}"
        input_schema: { $ref: ../schemas/triage.json }
`,
  "deploy/prompts/triage.md": "Sort tickets.\n",
  "deploy/schemas/triage.json": `{ "type": "object", "properties": { "a": { "type": "string" } } }`,
  "deploy/plugins/guard.ts": `import { word } from "./word.ts";\nexport default word;\n`,
  "deploy/plugins/word.ts": "export const word = 1;\n",
  "deploy/real.yaml": "log: { level: warn }\n",
  "overlays/production.yaml": "log: { level: error }\n",
};

verifies(
  "plan.git.tree",
  "includes, prompts, schemas, overlays, plugins and links are read from the tree",
  async (t) => {
    const repository = repositoryOf(t, WHOLE);
    symlinkSync("real.yaml", repository.path("deploy/linked.yaml"));
    repository.commit();
    const args = ["--to", "deploy/gateway.yaml", "--overlay", "overlays/production.yaml"];
    const same = await repository.document(args);
    assert.deepEqual(same.changes, []);
    assert.equal(same.from.hash, same.to.hash);
    for (const [name, text, rule] of [
      ["deploy/prompts/triage.md", "Sort tickets by urgency.\n", "P401"],
      ["deploy/schemas/triage.json", `{ "type": "object", "required": ["a"] }`, "P106"],
      ["deploy/plugins/word.ts", "export const word = 2;\n", "P401"],
      ["overlays/production.yaml", "log: { level: error, content: full }\n", "P202"],
    ] as const) {
      repository.write({ [name]: text });
      const { changes } = await repository.document(args);
      assert.ok(
        changes.some((change) => change.rule === rule),
        `${name}: ${JSON.stringify(changes)}`,
      );
      repository.git("checkout", "--quiet", "--", ".");
    }
    repository.git("rm", "--quiet", "-r", "--cached", "deploy");
    repository.git("commit", "--quiet", "--message=gone");
    assert.deepEqual((await repository.document([...args, "--from", "git:HEAD~1"])).changes, []);
  },
);

verifies(
  "plan.git.tree",
  "a folder of parts is read from the tree, with names that need quoting elsewhere",
  async (t) => {
    const odd = "gate way/a\tb\u00e9.yaml";
    const repository = repositoryOf(t, {
      "gate way/main.yaml": "version: 1\n",
      [odd]: configOf(TRIAGE).slice(11),
    });
    repository.write({ [odd]: configOf(LIMIT).slice(11) });
    const document = await repository.document(["--to", "gate way"]);
    assert.deepEqual(
      document.changes.map(({ file, rule }) => `${rule} ${file}`),
      [`P107 ${odd}`],
    );
  },
);

verifies(
  "plan.git.tree",
  "both sides may be revisions, with a path of their own, from the top or from here",
  async (t) => {
    const repository = repositoryOf(t, { [`sub/${CONFIG}`]: configOf(TRIAGE) });
    repository.commit({ [`sub/${CONFIG}`]: null, "new/main.yaml": configOf(LIMIT) });
    const sides = ["--from", `git:HEAD~1:sub/${CONFIG}`, "--to", "git:HEAD:new/main.yaml"];
    assert.deepEqual(briefly(await repository.document(sides)), [
      "P107 support/triage rate_limit_per_minute new/main.yaml:10",
    ]);
    const inside = { cwd: repository.path("new") };
    const near = ["--from", `git:HEAD~1:../sub/${CONFIG}`, "--to", "git:HEAD:./main.yaml"];
    assert.deepEqual(briefly(await repository.document(near, inside)), [
      "P107 support/triage rate_limit_per_minute main.yaml:10",
    ]);
    // `--to` is the working tree at the path of `--from`.
    const back = await repository.document(["--from", "git:HEAD:new/main.yaml"], inside);
    assert.deepEqual(back.changes, []);
  },
);

verifies(
  "plan.git.places",
  "a subfolder, a linked worktree and a shallow clone work as the top folder does",
  async (t) => {
    const repository = repositoryOf(t, { [`sub/${CONFIG}`]: configOf(TRIAGE), other: "x" });
    const first = repository.git("rev-parse", "HEAD");
    repository.commit({ [`sub/${CONFIG}`]: configOf(LIMIT) });
    const expected = [`P107 support/triage rate_limit_per_minute ${CONFIG}:10`];
    const inSub = await repository.document(["--from", `git:${first}`], { cwd: repository.path("sub") });
    assert.deepEqual(briefly(inSub), expected);
    const tree = join(emptyFolder(t), "linked");
    repository.git("worktree", "add", "--quiet", "--detach", tree, "HEAD");
    const linked = repositoryIn(tree);
    assert.deepEqual(
      briefly(await linked.document(["--from", "git:main~1"], { cwd: linked.path("sub") })),
      expected,
    );
    const shallow = repositoryIn(join(emptyFolder(t), "shallow"));
    gitIn(repository.top, "clone", "--quiet", "--depth=1", `file://${repository.top}`, shallow.top);
    const unknown = await shallow.plan(["--from", "git:HEAD~1"], { cwd: shallow.path("sub") });
    assert.equal(unknown.code, 64);
    assert.match(
      unknown.stderr,
      /'HEAD~1' does not exist here\nthis is a shallow clone.*git fetch --depth=1 origin/,
    );
    shallow.git("fetch", "--quiet", "--depth=1", "origin", first);
    const fetched = await shallow.document(["--from", "git:FETCH_HEAD"], { cwd: shallow.path("sub") });
    assert.deepEqual(briefly(fetched), expected);
  },
);

verifies(
  "plan.git.places",
  "in a bare clone both sides are revisions, and places are paths in the repository",
  async (t) => {
    const repository = repositoryOf(t, { [`sub/${CONFIG}`]: configOf(TRIAGE) });
    repository.commit({ [`sub/${CONFIG}`]: configOf(LIMIT) });
    const bare = repositoryIn(join(emptyFolder(t), "bare.git"));
    gitIn(repository.top, "clone", "--quiet", "--bare", repository.top, bare.top);
    const sides = ["--from", `git:HEAD~1:sub/${CONFIG}`, "--to", `git:HEAD:sub/${CONFIG}`];
    assert.deepEqual(briefly(await bare.document(sides)), [
      `P107 support/triage rate_limit_per_minute sub/${CONFIG}:10`,
    ]);
  },
);

verifies("plan.git.places", "in a hook, the repository is the one that git names", async (t) => {
  const repository = repositoryOf(t, { [`sub/${CONFIG}`]: configOf(TRIAGE) });
  repository.write({ [`sub/${CONFIG}`]: configOf(LIMIT) });
  const changed = [`P107 support/triage rate_limit_per_minute sub/${CONFIG}:10`];
  const env = { PATH: process.env["PATH"], GIT_DIR: ".git" };
  assert.deepEqual(briefly(await repository.document(["--to", `sub/${CONFIG}`], { env })), changed);
  repository.commit();
  const bare = repositoryIn(join(emptyFolder(t), "bare.git"));
  gitIn(repository.top, "clone", "--quiet", "--bare", repository.top, bare.top);
  const sides = ["--from", "git:HEAD~1", "--to", `git:HEAD:sub/${CONFIG}`];
  const inHook = { env: { PATH: process.env["PATH"], GIT_DIR: "." } };
  assert.deepEqual(briefly(await bare.document(sides, inHook)), changed);
});

verifies("plan.git.safe", "neither hooks nor programs of the repository's configuration run", async (t) => {
  const repository = repositoryOf(t, {
    [CONFIG]: configOf(TRIAGE),
    ".gitattributes": "* filter=evil diff=evil\n",
  });
  const canary = repository.path("ran");
  const script = repository.path(".git/evil.sh");
  repositoryIn(repository.path(".git")).write({ "evil.sh": `#!/bin/sh\ntouch "${canary}"\ncat\n` });
  chmodSync(script, 0o755);
  mkdirSync(repository.path(".git/hooks"), { recursive: true });
  for (const key of [
    "core.fsmonitor",
    "filter.evil.smudge",
    "filter.evil.clean",
    "diff.evil.textconv",
    "core.pager",
  ])
    repository.git("config", key, script);
  for (const hook of ["post-index-change", "post-checkout", "reference-transaction"])
    symlinkSync(script, repository.path(`.git/hooks/${hook}`));
  const { code, stdout } = await repository.plan(["--from", "git:HEAD", "--to", "git:HEAD"]);
  assert.equal(code, 0, stdout);
  assert.equal(isThere(canary), false);
});

verifies("plan.git.safe", "a revision is never an option, and no name of one reaches a shell", async (t) => {
  const repository = repositoryOf(t, { [CONFIG]: configOf(TRIAGE) });
  for (const revision of [
    "--output=/tmp/x",
    "-h",
    "--upload-pack=touch ran",
    "$(touch ran)",
    "HEAD;touch ran",
  ]) {
    const { code, stderr } = await repository.plan(["--from", `git:${revision}`]);
    assert.equal(code, 64, revision);
    assert.match(stderr, /is not a git revision|does not exist here/);
  }
  assert.equal(isThere(repository.path("ran")), false);
  const { code, stderr } = await repository.plan(["--from", "git:"]);
  assert.equal(code, 64);
  assert.match(stderr, /names no revision/);
});

verifies(
  "plan.git.refused",
  "a submodule is named in the diagnostic of what is included from it",
  async (t) => {
    const other = repositoryOf(t, { "team.yaml": "log: { level: warn }\n" });
    const repository = repositoryOf(t, { [CONFIG]: `include: [teams/team.yaml]\n${configOf(TRIAGE)}` });
    repository.git("submodule", "--quiet", "add", other.top, "teams");
    repository.commit();
    const named = await repository.plan([]);
    assert.equal(named.code, 1);
    assert.match(
      named.stdout,
      /--from is not a valid configuration.*`teams\/team\.yaml` is in the git submodule `teams`/s,
    );
    repository.commit({ [CONFIG]: `include: ["teams/*.yaml"]\n${configOf(TRIAGE)}` });
    const matched = await repository.plan([]);
    assert.equal(matched.code, 1);
    assert.match(matched.stderr, /includes files of the git submodule `teams`/);
  },
);

verifies("plan.git.refused", "what a sparse checkout leaves out is not taken for removed", async (t) => {
  const repository = repositoryOf(t, {
    "gateway/main.yaml": `include: ["teams/*.yaml"]\n${configOf(TRIAGE)}`,
    "gateway/teams/a.yaml": "log: { level: warn }\n",
    "docs/x.yaml": "x: 1\n",
  });
  repository.git("sparse-checkout", "set", "--no-cone", "/gateway/*", "!/gateway/teams/");
  const side = ["--to", "gateway/main.yaml"];
  const refused = await repository.plan(side);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /gateway\/teams\/a\.yaml is not checked out: this is a sparse checkout/);
  assert.deepEqual(
    (await repository.document(["--to", "git:HEAD:gateway/main.yaml", "--from", "git:HEAD"])).changes,
    [],
  );
  repository.git("sparse-checkout", "set", "--no-cone", "/gateway/");
  assert.deepEqual((await repository.document(side)).changes, [], "only docs/ is left out");
});

verifies(
  "plan.git.refused",
  "a pointer of Git LFS and an object that a partial clone lacks are named",
  async (t) => {
    const prompt = `    endpoints:\n      - { name: A, provider: mock, model: m, prompt: "\${file:./prompt.md}" }\n`;
    const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n";
    const stored = repositoryOf(t, { [CONFIG]: configOf(prompt), "prompt.md": pointer });
    const lfs = await stored.plan([]);
    assert.equal(lfs.code, 1);
    assert.match(lfs.stdout, /`\.\/prompt\.md` is stored in Git LFS/);
    const whole = repositoryOf(t, { [CONFIG]: configOf(prompt), "prompt.md": "Be brief." });
    whole.commit({ "prompt.md": "Be long." });
    whole.git("config", "uploadpack.allowFilter", "true");
    const partial = repositoryIn(join(emptyFolder(t), "partial"));
    gitIn(whole.top, "clone", "--quiet", "--filter=blob:none", `file://${whole.top}`, partial.top);
    const missing = await partial.plan(["--from", "git:HEAD~1"]);
    assert.equal(missing.code, 1);
    assert.match(missing.stdout, /is not in this clone, which is a partial one/);
  },
);

verifies(
  "plan.git.refused",
  "a repository without a commit has no HEAD, and the error says so",
  async (t) => {
    const repository = repositoryIn(emptyFolder(t));
    repository.git("init", "--quiet");
    repository.write({ [CONFIG]: configOf(TRIAGE) });
    const { code, stderr } = await repository.plan([]);
    assert.equal(code, 64);
    assert.match(stderr, /'HEAD' does not exist here\nthe repository has no commits yet/);
  },
);

verifies("plan.git.renames", "files that move, split or join make no changes", async (t) => {
  const repository = repositoryOf(t, {
    [CONFIG]: `include: [a.yaml]\n${configOf(`    include: [endpoints.yaml]\n`)}`,
    "endpoints.yaml": `endpoints:\n  - { name: A, provider: mock, model: m, prompt: "\${file:./p.md}" }\n`,
    "a.yaml": "log: { level: warn }\n",
    "p.md": "Be brief.",
  });
  repository.write({
    [CONFIG]: `log: { level: warn }\n${configOf(`    endpoints:\n      - { name: A, provider: mock, model: m, prompt: "\${file:./q/r.md}" }\n`)}`,
    "endpoints.yaml": null,
    "a.yaml": null,
    "p.md": null,
    "q/r.md": "Be brief.",
  });
  assert.deepEqual((await repository.document()).changes, []);
});
