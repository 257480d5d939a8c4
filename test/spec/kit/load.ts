/** Loads configurations from a temporary folder, as `sluice validate` does, and says what came of it. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ResolvedConfig } from "../../../src/config/model.ts";
import type { Diagnostic } from "../../../src/config/report/diagnostic.ts";
import { type Loaded, load } from "../../../src/gateway/load.ts";
import { type ConfigParts, configOf } from "./config.ts";

export type Files = Readonly<Record<string, string>>;

export interface LoadOptions {
  /** File or folder, from the temporary folder. Default: gateway.config.yaml. */
  readonly path?: string;
  readonly overlays?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Writes the files and loads. Diagnostics name files relative to the folder. */
export async function loadFiles(files: Files, options: LoadOptions = {}): Promise<Loaded> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-config-"));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const outcome = await load({
      path: join(folder, options.path ?? "gateway.config.yaml"),
      overlays: (options.overlays ?? []).map((name) => join(folder, name)),
      env: options.env ?? {},
      secrets: "resolve",
      strict: false,
    });
    const near = (list: readonly Diagnostic[]): Diagnostic[] =>
      list.map((one) => ({
        ...one,
        file: one.file.replace(`${folder}/`, ""),
        message: one.message.replaceAll(`${folder}/`, ""),
      }));
    return { ...outcome, errors: near(outcome.errors), warnings: near(outcome.warnings) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The usual configuration with these parts, as one YAML file. */
export function fileOf(parts: ConfigParts): Files {
  return { "gateway.config.yaml": JSON.stringify(configOf(parts, "http://127.0.0.1:9"), null, 2) };
}

/** Loads what must be fine. */
export async function loaded(files: Files, options?: LoadOptions): Promise<ResolvedConfig> {
  const { config, errors } = await loadFiles(files, options);
  assert.deepEqual(errors, []);
  assert.ok(config);
  return config;
}

/** Loads what must be refused with exactly one error, and returns that. */
export async function refused(files: Files, options?: LoadOptions): Promise<Diagnostic> {
  const { errors } = await loadFiles(files, options);
  assert.equal(errors.length, 1, JSON.stringify(errors, null, 1));
  const [error] = errors;
  assert.ok(error);
  return error;
}
