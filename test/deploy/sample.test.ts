/** examples/gitops: the repository of six teams is valid, its cases cover its protections, and a plan between its tags says what a deploy does. */
import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Shell } from "../guides/shell.ts";
import { at } from "../spec/kit/at.ts";
import { verifies } from "../spec/verifies.ts";

const SAMPLE = fileURLToPath(new URL("../../examples/gitops", import.meta.url));

verifies(
  "docs.guides.run",
  "the sample is valid with each overlay, its cases cover it, and a plan between its tags is what changed",
  async (t) => {
    const shell = new Shell(t);
    cpSync(SAMPLE, shell.folder, { recursive: true });
    const edit = (file: string, from: string, to: string): void => {
      const path = join(shell.folder, file);
      const text = readFileSync(path, "utf8");
      assert.ok(text.includes(from), `${file} has ${from}`);
      writeFileSync(
        path,
        text.replace(from, () => to),
      );
    };
    const run = async (script: string): Promise<string> => {
      const { status, output } = await shell.run(script);
      assert.equal(status, 0, output);
      return output;
    };
    const commit = "git add --all && git commit --quiet --message next";
    await run(`git init --quiet . && ${commit} && git tag v1
sluice validate --no-secrets --strict
sluice validate --no-secrets --overlay overlays/staging.yaml
sluice validate --no-secrets --overlay overlays/production.yaml`);
    assert.match(await run("sluice test --coverage --coverage-threshold 95"), /^Coverage +100 %/m);
    // What the sample's README shows, and a rename that keeps its state.
    edit("teams/support.yaml", "kinds: [email, phone, credit_card]", "kinds: [email, phone]");
    edit(
      "teams/finance.yaml",
      "- name: Dunning letter\n",
      "- name: Payment reminder\n        moved_from: dunning-letter\n",
    );
    await run(`${commit} && git tag v2`);
    const plan: unknown = JSON.parse(await run("sluice plan --from git:v1 --to git:v2 --output json"));
    const changes = at(plan, "changes");
    assert.ok(Array.isArray(changes));
    const told = changes
      .filter((change) => at(change, "risk") !== "safe")
      .map((change) => [at(change, "rule"), at(change, "file"), at(change, "reaches", "length")]);
    assert.deepEqual(told, [["P201", "teams/support.yaml", 7]]);
    assert.equal(await run("sluice plan --from git:v2 --to git:v2 | tail -1"), "No changes.\n");
  },
);
