/** Sides of plans in tests: configurations written to folders of their own, judged with the built-in plugins. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { PluginLoader } from "../../src/config/load.ts";
import { type JudgeOptions, judge, type PlanChange } from "../../src/plan/plan.ts";
import type { FindPlugin } from "../../src/plan/prepared-side.ts";
import type { Side } from "../../src/plan/side.ts";
import { loadRegistry } from "../../src/plugins-host/registry.ts";
import { type Folder, folderOf, projectOf } from "../config/kit.ts";

export const NOW_MS = Date.parse("2026-11-22T12:00:00Z");

const registry = await loadRegistry([]);
const plugins: PluginLoader = async () => registry;
const findPlugin: FindPlugin = (kind, name) => registry.find(kind, name);
export const OPTIONS: JudgeOptions = { findPlugin, nowMs: NOW_MS };

export async function sideOf(folder: Folder, name: string): Promise<Side> {
  const { shown, config, hash, errors } = await folder.load({ secrets: "keep", shows: true }, plugins);
  assert.deepEqual(
    errors.map(({ message, line }) => `${line}: ${message}`),
    [],
  );
  assert.ok(shown !== undefined && config !== undefined);
  return { name, hash, revision: null, shown, config };
}

/** One file. */
export async function sideOfText(t: TestContext, text: string, name: string): Promise<Side> {
  return sideOf(folderOf(t, { "gateway.config.yaml": text }), name);
}

/** What changes between two projects, whose text is indented by four spaces. */
export async function judged(t: TestContext, before: string, after: string): Promise<readonly PlanChange[]> {
  const [from, to] = await Promise.all([
    sideOfText(t, projectOf(before), "before"),
    sideOfText(t, projectOf(after), "after"),
  ]);
  return judge(from, to, OPTIONS);
}

/** `P107 support/triage rate_limit_per_minute`. */
export const brief = ({ rule, object: { project, name }, path }: PlanChange): string =>
  `${rule} ${project ?? "-"}/${name} ${path}`;
