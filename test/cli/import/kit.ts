/** Files of the corpus, and how the tests of `sluice import` run the command and read what it wrote. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { CliIo } from "../../../src/cli/command.ts";
import { CONFIG_FILE, TEST_FILE } from "../../../src/cli/import/convert.ts";
import type { Product } from "../../../src/cli/import/upstreams.ts";
import { command } from "../../../src/cli/import.ts";
import { type LoadOutcome, loadConfig } from "../../../src/config/load.ts";
import { pluginLoader } from "../../../src/gateway/load.ts";

export const CORPUS = fileURLToPath(new URL("corpus", import.meta.url));

export const SOURCES: readonly { readonly product: Product; readonly name: string }[] = (
  ["litellm", "portkey", "bifrost"] satisfies Product[]
).flatMap((product) =>
  readdirSync(join(CORPUS, product))
    .sort()
    .map((name) => ({ product, name })),
);

export function sourceText({ product, name }: (typeof SOURCES)[number]): string {
  return readFileSync(join(CORPUS, product, name), "utf8");
}

/** All secrets of the corpus hold this word. */
export const CANARY = /canary/i;

export function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-import-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function runImport(
  cwd: string,
  args: readonly string[],
  more: Partial<CliIo> = {},
): Promise<Run> {
  const out = { stdout: "", stderr: "" };
  const code = await command.run(args, {
    stdout: (text) => void (out.stdout += text),
    stderr: (text) => void (out.stderr += text),
    stdin: async () => "",
    env: {},
    cwd,
    isTerminal: false,
    ...more,
  });
  return { code, ...out };
}

export interface Written extends Run {
  readonly folder: string;
  readonly config: string;
  readonly tests: string;
}

/** Imports a file of the corpus into a folder of its own. */
export async function imported(
  t: TestContext,
  source: (typeof SOURCES)[number],
  ...more: readonly string[]
): Promise<Written> {
  const folder = folderOf(t);
  const file = join(CORPUS, source.product, source.name);
  const run = await runImport(folder, [source.product, file, "--out", "made", ...more]);
  const read = (name: string) => readFileSync(join(folder, "made", name), "utf8");
  return { ...run, folder: join(folder, "made"), config: read(CONFIG_FILE), tests: read(TEST_FILE) };
}

/** As `sluice validate --no-secrets --strict` does. */
export function validated(path: string): Promise<LoadOutcome> {
  const request = {
    path,
    overlays: [],
    env: {},
    secrets: "skip",
    plugins: "load",
    strict: true,
  } as const;
  return loadConfig(request, pluginLoader);
}
