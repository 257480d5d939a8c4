/** Sides of plans in tests: configurations written to folders of their own, judged with the built-in plugins. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { loadConfig, type PluginLoader } from "../../src/config/load.ts";
import type { Files } from "../../src/config/read/files.ts";
import { type JudgeOptions, judge, type PlanChange } from "../../src/plan/plan.ts";
import type { FindPlugin } from "../../src/plan/prepared-side.ts";
import type { WholeSide } from "../../src/plan/side.ts";
import { loadRegistry } from "../../src/plugins-host/registry.ts";
import { type Folder, folderOf, PROJECT_UUID, projectOf } from "../config/kit.ts";

export const NOW_MS = Date.parse("2026-11-22T12:00:00Z");

export const registry = await loadRegistry([]);
const plugins: PluginLoader = async () => registry;
const findPlugin: FindPlugin = (kind, name) => registry.find(kind, name);
export const OPTIONS: JudgeOptions = { findPlugin, nowMs: NOW_MS };

export async function sideOf(folder: Folder, name: string): Promise<WholeSide> {
  const { shown, config, hash, errors } = await folder.load({ secrets: "keep", shows: true }, plugins);
  assert.deepEqual(
    errors.map(({ message, line }) => `${line}: ${message}`),
    [],
  );
  assert.ok(shown !== undefined && config !== undefined);
  return { name, hash, revision: null, shown, config };
}

/** One file. */
export async function sideOfText(t: TestContext, text: string, name: string): Promise<WholeSide> {
  return sideOf(folderOf(t, { "gateway.config.yaml": text }), name);
}

/** What changes between two projects, whose text is indented by four spaces. */
export async function judged(
  t: TestContext,
  before: string,
  after: string,
  options = OPTIONS,
): Promise<readonly PlanChange[]> {
  const [from, to] = await Promise.all([
    sideOfText(t, projectOf(before), "before"),
    sideOfText(t, projectOf(after), "after"),
  ]);
  return judge(from, to, options);
}

/** `P107 support/triage rate_limit_per_minute`. */
export const brief = ({ rule, object: { project, name }, path }: PlanChange): string =>
  `${rule} ${project ?? "-"}/${name} ${path}`;

/** Keys of a whole configuration; all others are of its project. */
const ROOT_KEYS =
  /^(?:server|admin|state|reload|log|telemetry|network|calls|plugins|providers|prices|control_plane):/;

const SKELETON: Readonly<Record<string, string>> = {
  name: "name: Support",
  type: "type: ai_gateway",
  endpoint_defaults: "endpoint_defaults: { provider: openai, model: gpt-5-mini, credential: main }",
};

const MAIN = '  - { name: main, provider: openai, api_key: "${env:OPENAI_API_KEY}" }';

/** A configuration around keys of the root or of its project; `sha256:a…` becomes a hash. */
export function configAround(fragment: string): string {
  const parts = fragment.replace(/^\n+|\n+$/g, "").split(/\n(?=\w)/);
  const own = parts.filter((part) => part !== "" && !ROOT_KEYS.test(part));
  const keys = new Set(own.map((part) => part.slice(0, part.indexOf(":"))));
  const isOf = (key: string) => (part: string) => part.startsWith(`${key}:`);
  const missing = Object.entries(SKELETON).filter(
    ([key]) =>
      !keys.has(key) && !(key === "endpoint_defaults" && own.some(isOf("type")) && !keys.has("endpoints")),
  );
  const credentials = own.find(isOf("credentials"))?.split("\n").slice(1) ?? [];
  const project = [
    ...missing.map(([, text]) => text),
    ["credentials:", MAIN, ...credentials].join("\n"),
    ...own.filter((part) => !isOf("credentials")(part)),
  ].join("\n");
  const root = parts.filter((part) => ROOT_KEYS.test(part)).join("\n");
  const text = `version: 1\n${root}\nprojects:\n  - uuid: ${PROJECT_UUID}\n${project.replace(/^/gm, "    ")}\n`;
  return text.replace(/sha256:(\w)…/g, (_, digit: string) => `sha256:${digit.repeat(64)}`);
}

/** The plan between two configurations around fragments. */
export async function judgedAround(
  t: TestContext,
  before: string,
  after: string,
): Promise<readonly PlanChange[]> {
  const [from, to] = await Promise.all([
    sideOfText(t, configAround(before), "before"),
    sideOfText(t, configAround(after), "after"),
  ]);
  return judge(from, to, OPTIONS);
}

export const rulesOf = (changes: readonly PlanChange[]): readonly string[] =>
  changes.map(({ rule }) => rule).sort();

/** Loads a configuration that is on no disk; undefined: the checks reject it. */
export async function sideInMemory(text: string, name: string): Promise<WholeSide | undefined> {
  const path = `/memory/${name}/gateway.config.yaml`;
  const bytes = Buffer.from(text);
  const files: Files = {
    kind: (at) => (at === path ? "file" : path.startsWith(`${at}/`) || at === "/" ? "folder" : undefined),
    entries: () => [],
    read: (at) => (at === path ? bytes : { unreadable: "is not there" }),
  };
  const request = {
    path,
    files,
    overlays: [],
    env: {},
    secrets: "keep",
    shows: true,
    strict: false,
  } as const;
  const { shown, config, hash, errors } = await loadConfig(request, plugins);
  if (shown === undefined || config === undefined) {
    if (process.env["PLAN_SHOW_REJECTED"])
      console.error(errors.map(({ message, path }) => `${path}: ${message}`));
    return undefined;
  }
  return { name, hash, revision: null, shown, config };
}
