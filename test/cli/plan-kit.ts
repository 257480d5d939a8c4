/** `sluice plan` and `sluice render` on real git repositories in folders of their own. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { CliIo, Command } from "../../src/cli/command.ts";
import { planCommand } from "../../src/cli/plan/plan.ts";
import type { PlanDocument } from "../../src/plan/document.ts";
import { loadRegistry } from "../../src/plugins-host/registry.ts";

export const NOW_MS = Date.parse("2026-11-22T12:00:00Z");
export const UUID = "6f1f3c52-1d3a-4d0a-9a39-8f6f5d1c2b3a";

const registry = await loadRegistry([]);
export const loadPlugins = async () => registry;
export const plan = planCommand({ loadPlugins, nowMs: () => NOW_MS });

export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function run(
  command: Command,
  args: readonly string[],
  more: Partial<CliIo> & Pick<CliIo, "cwd">,
): Promise<Run> {
  const out = { stdout: "", stderr: "" };
  const io: CliIo = {
    stdout: (text) => void (out.stdout += text),
    stderr: (text) => void (out.stderr += text),
    stdin: async () => "",
    env: { PATH: process.env["PATH"], HOME: "/nonexistent" },
    isTerminal: false,
    ...more,
  };
  return { code: await command.run(args, io), ...out };
}

type Files = Readonly<Record<string, string | null>>;

export interface Repository {
  readonly top: string;
  path(name: string): string;
  /** null removes a file. */
  write(files: Files): void;
  /** Everything, after writing these. Returns the commit's hash. */
  commit(files?: Files): string;
  git(...args: readonly string[]): string;
  plan(args: readonly string[], more?: Partial<CliIo>): Promise<Run>;
  /** Of `--output json`; exit 0 is asserted. */
  document(args?: readonly string[], more?: Partial<CliIo>): Promise<PlanDocument>;
}

const IDENTITY = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"];

export function gitIn(folder: string, ...args: readonly string[]): string {
  const env = { PATH: process.env["PATH"], HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", [...IDENTITY, "-c", "protocol.file.allow=always", ...args], {
    cwd: folder,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}

/** A folder that is gone after the test. */
export function emptyFolder(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sluice-plan-")));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A repository whose first commit has these files. */
export function repositoryOf(t: TestContext, files: Files): Repository {
  const repository = repositoryIn(emptyFolder(t));
  repository.git("init", "--quiet", "--initial-branch=main");
  repository.commit(files);
  return repository;
}

/** One that is there already. */
export function repositoryIn(top: string): Repository {
  const repository: Repository = {
    top,
    path: (name) => join(top, name),
    write(files) {
      for (const [name, text] of Object.entries(files)) {
        const path = join(top, name);
        if (text === null) rmSync(path);
        else {
          mkdirSync(dirname(path), { recursive: true });
          writeFileSync(path, text);
        }
      }
    },
    commit(files = {}) {
      repository.write(files);
      repository.git("add", "--all");
      repository.git("commit", "--quiet", "--message=x");
      return repository.git("rev-parse", "HEAD");
    },
    git: (...args) => gitIn(top, ...args),
    plan: (args, more) => run(plan, args, { cwd: top, ...more }),
    async document(args = [], more = {}) {
      const { code, stdout, stderr } = await repository.plan([...args, "--output", "json"], more);
      assert.equal(code, 0, stdout + stderr);
      return documentOf(stdout);
    },
  };
  return repository;
}

/** What `--output json` prints, whose keys other tests check. */
export function documentOf(text: string): PlanDocument {
  return JSON.parse(text) as PlanDocument;
}

/** `P107 support/triage rate_limit_per_minute gateway.config.yaml:9`. */
export const briefly = ({ changes }: PlanDocument): readonly string[] =>
  changes.map(({ rule, object, path, file, line }) => {
    const key = path.split(".").slice(2).join(".");
    return `${rule} ${object.project ?? "-"}/${object.name} ${key} ${file}:${line}`;
  });

/** A configuration with one project; `body` is indented by four spaces. */
export function configOf(body: string, head = ""): string {
  return `version: 1\n${head}projects:\n  - name: Support\n    uuid: ${UUID}\n    type: ai_gateway\n${body}`;
}

export const TRIAGE = `    endpoints:
      - name: Triage
        provider: mock
        model: m
        rate_limit_per_minute: 60
`;

export const isThere = existsSync;
export const textOf = (path: string): string => readFileSync(path, "utf8");
