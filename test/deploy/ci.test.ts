/** deploy/ci: the templates' own steps, run as CI runs them, against a repository and a fake of the forge's API. */
import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";
import { Shell } from "../guides/shell.ts";
import { verifies } from "../spec/verifies.ts";
import { type ActionRun, runAction } from "./github-runner.ts";

const CI = fileURLToPath(new URL("../../deploy/ci", import.meta.url));
const SAMPLE = fileURLToPath(new URL("../../examples/gitops", import.meta.url));
const ACTION = join(CI, "github");

/** Enough for the steps; `ALL` takes several times as long. */
const OTHER_TEAMS = /^(?:support|sales|people|developers)\.(?:test\.)?yaml$/;
const ALL = /^$/;

/** The sample repository with one commit, in the shell's folder. `without`: files that are left out. */
async function repository(t: TestContext, without = OTHER_TEAMS): Promise<Shell> {
  const shell = new Shell(t);
  const filter = (path: string): boolean => !without.test(basename(path));
  cpSync(SAMPLE, shell.folder, { recursive: true, filter });
  const { status, output } = await shell.run(
    "git init --quiet . && git add --all && git commit --quiet --message one",
  );
  assert.equal(status, 0, output);
  return shell;
}

function edit(shell: Shell, file: string, from: string, to: string): void {
  const path = join(shell.folder, file);
  const text = readFileSync(path, "utf8");
  assert.ok(text.includes(from), `${file} has ${from}`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
}

interface Forge {
  readonly url: string;
  /** Method, path and body of each request. */
  readonly requests: { readonly line: string; readonly body: string }[];
  comments: { readonly id: number; readonly url: string; body: string }[];
}

/** `status`: what writing is answered with. */
async function forge(t: TestContext, status = 201): Promise<Forge> {
  const requests: Forge["requests"] = [];
  const server = createServer((req, res) => {
    let body = "";
    req.on("data", (bytes: Buffer) => (body += bytes.toString("utf8")));
    req.on("end", () => {
      requests.push({ line: `${req.method} ${req.url}`, body });
      const isRead = req.method === "GET";
      res.writeHead(isRead ? 200 : status, { "Content-Type": "application/json" });
      res.end(JSON.stringify(isRead ? forged.comments : {}));
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => void server.close());
  // A server that listens on a port has an address with one.
  const { port } = server.address() as AddressInfo;
  const forged: Forge = { url: `http://127.0.0.1:${port}`, requests, comments: [] };
  return forged;
}

function review(
  shell: Shell,
  { url }: Forge,
  inputs: Readonly<Record<string, string>> = {},
): Promise<ActionRun> {
  return runAction(shell, ACTION, {
    inputs: { sluice: "sluice", base: "HEAD", tests: "false", ...inputs },
    github: { event_name: "pull_request", token: "ghs_example", "event.pull_request.number": "7" },
    env: { GITHUB_API_URL: url, GITHUB_REPOSITORY: "northwind/gateway" },
  });
}

verifies("ci.github", "a pull request without a risk passes, and its plan is one comment", async (t) => {
  const [shell, hub] = [await repository(t), await forge(t)];
  edit(shell, "prompts/nda-check.md", "point by point", "point by point, in a table");
  const { steps, summary } = await review(shell, hub);
  assert.deepEqual(
    [...steps.values()].map(({ status }) => status),
    [0, 0, 0],
    [...steps.values()].map(({ output }) => output).join("\n"),
  );
  assert.match(summary, /^<!-- sluice-plan:gateway\.config\.yaml -->/);
  assert.equal(hub.requests.at(-1)?.line, "POST /repos/northwind/gateway/issues/7/comments");
  assert.equal(JSON.parse(hub.requests.at(-1)?.body ?? "").body, summary);
});

verifies("ci.github", "the comment of the run before is updated in place", async (t) => {
  const [shell, hub] = [await repository(t), await forge(t, 200)];
  const own = { id: 5, url: `${hub.url}/repos/northwind/gateway/issues/comments/5` };
  hub.comments = [
    { id: 4, url: "http://elsewhere.example", body: "Looks good" },
    { ...own, body: "<!-- sluice-plan:gateway.config.yaml -->\nof before" },
  ];
  edit(shell, "prompts/nda-check.md", "point by point", "in a table");
  await review(shell, hub);
  assert.equal(hub.requests.at(-1)?.line, "PATCH /repos/northwind/gateway/issues/comments/5");
});

verifies(
  "ci.github",
  "a risk fails the job after the comment, at its line, until it is accepted",
  async (t) => {
    const [shell, hub] = [await repository(t), await forge(t)];
    edit(shell, "teams/finance.yaml", "- { use: secrets }", "- { use: secrets, shadow: true }");
    const refused = await review(shell, hub);
    assert.equal(refused.steps.get("Refuse what is not accepted")?.status, 1);
    assert.match(
      refused.steps.get("Plan")?.output ?? "",
      /^::(?:warning|error) file=teams\/finance\.yaml,line=\d+/m,
    );
    assert.equal(hub.requests.filter(({ line }) => line.startsWith("POST")).length, 1);
    edit(
      shell,
      "teams/finance.yaml",
      "        - { use: secrets, shadow: true }",
      "        # sluice: accept P201 until 2099-01-31: measured for a week\n        - { use: secrets, shadow: true }",
    );
    const accepted = await review(shell, hub);
    assert.equal(accepted.steps.get("Refuse what is not accepted"), undefined);
    assert.match(accepted.summary, /measured for a week/);
  },
);

verifies("ci.github", "on a fork, whose token may not write, the job summary has the plan", async (t) => {
  const [shell, hub] = [await repository(t), await forge(t, 403)];
  edit(shell, "prompts/nda-check.md", "point by point", "in a table");
  const { steps, summary } = await review(shell, hub);
  assert.equal(steps.get("Comment")?.status, 0);
  assert.match(steps.get("Comment")?.output ?? "", /job summary has the plan/);
  assert.match(summary, /P401/);
});

verifies(
  "ci.github",
  "an invalid configuration fails at its line, and overlays are taken as they are named",
  async (t) => {
    const [shell, hub] = [await repository(t, ALL), await forge(t)];
    const overlaid = await review(shell, hub, {
      overlays: "overlays/staging.yaml\noverlays/production.yaml",
    });
    assert.equal(overlaid.steps.get("Validate")?.status, 0, overlaid.steps.get("Validate")?.output);
    edit(shell, "teams/legal.yaml", "rate_limit_per_minute: 30", "rate_limit_per_minute: many");
    const { steps } = await review(shell, hub);
    assert.equal(steps.get("Validate")?.status, 1);
    assert.match(steps.get("Validate")?.output ?? "", /^::error file=teams\/legal\.yaml,line=\d+/m);
    assert.equal(steps.get("Plan"), undefined);
  },
);

verifies("ci.github", "the repository's tests are run", async (t) => {
  const [shell, hub] = [await repository(t), await forge(t)];
  const { steps } = await review(shell, hub, { tests: "true", "coverage-threshold": "95" });
  assert.equal(steps.get("Test")?.status, 0, steps.get("Test")?.output);
});

interface GitlabJob {
  readonly script: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
}

/** The component with its inputs put in, as GitLab does before it reads the jobs. */
function component(inputs: Readonly<Record<string, string>>): Readonly<Record<string, GitlabJob>> & {
  readonly variables: Readonly<Record<string, string>>;
} {
  const text = readFileSync(join(CI, "gitlab/templates/review.yml"), "utf8");
  const [spec, body = ""] = text.split(/^---$/m);
  const defaults = Object.entries(parse(spec ?? "").spec.inputs).map(([name, input]) => [
    name,
    // Of this file, whose inputs all have one.
    String((input as { readonly default: unknown }).default),
  ]);
  const values: Readonly<Record<string, string>> = { ...Object.fromEntries(defaults), ...inputs };
  return parse(body.replace(/\$\[\[ inputs\.([\w-]+) \]\]/g, (_, name: string) => values[name] ?? ""));
}

function runJob(shell: Shell, name: string, env: Readonly<Record<string, string>> = {}) {
  const jobs = component({ sluice: "sluice", "coverage-threshold": "95" });
  const { script = [], variables = {} } = jobs[name] ?? {};
  const shared = { SLUICE: "sluice", CONFIG: "gateway.config.yaml", OVERLAYS: "" };
  return shell.run(script.join("\n"), { ...shared, ...jobs.variables, ...variables, ...env });
}

verifies(
  "ci.gitlab",
  "jobs validate, plan and test; the plan is findings of code quality and a note",
  async (t) => {
    const [shell, lab] = [await repository(t), await forge(t)];
    edit(shell, "teams/finance.yaml", "- { use: secrets }", "- { use: secrets, shadow: true }");
    const validated = await runJob(shell, "sluice-validate");
    assert.equal(validated.status, 0, validated.output);
    const merge = {
      CI_API_V4_URL: lab.url,
      CI_PROJECT_ID: "3",
      CI_MERGE_REQUEST_IID: "9",
      SLUICE_GITLAB_TOKEN: "glpat",
    };
    const planned = await runJob(shell, "sluice-plan", { CI_MERGE_REQUEST_DIFF_BASE_SHA: "HEAD", ...merge });
    assert.equal(planned.status, 1, "a weaker guardrail is refused");
    assert.equal(lab.requests.at(-1)?.line, "POST /projects/3/merge_requests/9/notes");
    const findings: unknown = JSON.parse(
      readFileSync(join(shell.folder, "gl-code-quality-report.json"), "utf8"),
    );
    assert.ok(Array.isArray(findings) && findings.length > 0);
    for (const { description, fingerprint, severity, location } of findings) {
      assert.match(description, /^P\d{3} /);
      assert.match(fingerprint, /^[0-9a-f]{64}$/);
      assert.ok(["info", "minor", "major", "critical", "blocker"].includes(severity));
      assert.equal(location.path, "teams/finance.yaml");
      assert.ok(location.lines.begin > 0);
    }
  },
);

verifies("ci.gitlab", "cases are a JUnit report", async (t) => {
  const shell = await repository(t);
  const tested = await runJob(shell, "sluice-test");
  assert.equal(tested.status, 0, tested.output);
  assert.match(readFileSync(join(shell.folder, "sluice-junit.xml"), "utf8"), /<testsuites?\b/);
});

verifies(
  "ci.hooks",
  "hooks for pre-commit validate and test, at the top of the repository too",
  async (t) => {
    const hooks = readFileSync(join(CI, ".pre-commit-hooks.yaml"), "utf8");
    assert.equal(readFileSync(join(CI, "../../.pre-commit-hooks.yaml"), "utf8"), hooks);
    const shell = await repository(t);
    for (const { entry } of parse(hooks)) {
      const { status, output } = await shell.run(entry);
      assert.equal(status, 0, output);
    }
  },
);

test("the PreSync job of Argo CD is a hook that fails closed, without privileges", () => {
  const [document] = parseAllDocuments(readFileSync(join(CI, "argocd/presync.yaml"), "utf8"));
  const job = document?.toJS();
  assert.equal(job.kind, "Job");
  assert.equal(job.metadata.annotations["argocd.argoproj.io/hook"], "PreSync");
  assert.equal(job.spec.backoffLimit, 0);
  const { containers, restartPolicy, securityContext } = job.spec.template.spec;
  assert.deepEqual([restartPolicy, securityContext.runAsNonRoot], ["Never", true]);
  assert.deepEqual(containers[0].securityContext.capabilities, { drop: ["ALL"] });
});
