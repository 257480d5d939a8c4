/**
 * The last valid configuration, kept on disk for a restart with a broken one (`--fallback last-valid`): a copy of the
 * files it was read from, in folders of the same names. Files that hold secrets are linked to, never copied.
 */

import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { LoadRequest } from "../config/load.ts";
import { contentDigest, fingerprintOf } from "../config/read/source.ts";
import type { Loaded } from "./load.ts";

const FOLDER = "last-valid";
const MANIFEST = "manifest.json";

/** What is known of a kept copy. */
export interface Kept {
  /** Loads the copy. */
  readonly request: LoadRequest;
  /** ISO 8601. */
  readonly savedAt: string;
}

interface Manifest {
  readonly path: string;
  readonly root: string;
  readonly overlays: readonly string[];
  readonly savedAt: string;
}

/**
 * Keeps what was loaded in `directory`, in the place of the copy before. Rejects with the reason when it cannot: the
 * files are no longer those that were loaded, or a secret is written out in them.
 */
export async function keepLastValid(
  directory: string,
  request: LoadRequest,
  loaded: Loaded,
  savedAt: string,
): Promise<void> {
  const isOpen = loaded.warnings.some(({ code }) => code === "W0101") || loaded.omitted.warnings > 0;
  if (isOpen) throw new Error("a secret is written out in a file, and secrets are not copied");
  const target = join(resolve(directory), FOLDER);
  const fresh = `${target}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  await copyAll(join(fresh, "files"), loaded);
  const path = resolve(request.path);
  const root = resolve(request.root ?? (loaded.watch.directories.includes(path) ? path : dirname(path)));
  await linkPackages(join(fresh, "files"), root);
  const overlays = request.overlays.map((overlay) => resolve(overlay));
  const manifest: Manifest = { path, root, overlays, savedAt };
  await writeFile(join(fresh, MANIFEST), JSON.stringify(manifest), { mode: 0o600 });
  await rm(`${target}.old`, { recursive: true, force: true });
  if (existsSync(target)) await rename(target, `${target}.old`);
  await rename(fresh, target);
  await rm(`${target}.old`, { recursive: true, force: true });
}

/** The copy kept in `directory`, to be loaded as `request` would load the original; undefined: there is none. */
export async function lastValid(directory: string, request: LoadRequest): Promise<Kept | undefined> {
  const target = join(resolve(directory), FOLDER);
  // The second one after a crash between two renames.
  for (const folder of [target, `${target}.old`]) {
    const manifest = await readManifest(join(folder, MANIFEST));
    if (manifest === undefined) continue;
    const copied = (path: string): string => join(folder, "files", path);
    const { path, root, overlays, savedAt } = manifest;
    const kept = {
      path: copied(path),
      root: copied(root),
      overlays: overlays.map(copied),
      secretsAreLinked: true,
    };
    return { request: { ...request, ...kept }, savedAt };
  }
  return undefined;
}

async function copyAll(into: string, { watch }: Loaded): Promise<void> {
  const secrets = new Set(watch.secretFiles);
  const digests: [string, string | undefined][] = [];
  for (const file of watch.files) {
    const copy = join(into, file);
    if (secrets.has(file)) {
      await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
      await symlink(file, copy);
    } else if (existsSync(file)) {
      await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
      await copyFile(file, copy);
    }
    const bytes = await readFile(copy).catch(() => undefined);
    digests.push([file, bytes && contentDigest(bytes)]);
  }
  const names = watch.directoryNames ?? [];
  if (fingerprintOf(digests, names) !== watch.fingerprint)
    throw new Error("the files are no longer those that were loaded");
}

/** Plugins find their packages where the original finds them. */
async function linkPackages(files: string, root: string): Promise<void> {
  for (let folder = root; ; folder = dirname(folder)) {
    const packages = join(folder, "node_modules");
    if (existsSync(packages)) {
      await symlink(packages, join(files, root, "node_modules")).catch(() => undefined);
      return;
    }
    if (dirname(folder) === folder) return;
  }
}

async function readManifest(path: string): Promise<Manifest | undefined> {
  try {
    const manifest: unknown = JSON.parse(await readFile(path, "utf8"));
    return isManifest(manifest) ? manifest : undefined;
  } catch {
    return undefined;
  }
}

function isManifest(value: unknown): value is Manifest {
  if (typeof value !== "object" || value === null) return false;
  const fields = new Map(Object.entries(value));
  const overlays: unknown = fields.get("overlays");
  const areTexts = ["path", "root", "savedAt"].every((key) => typeof fields.get(key) === "string");
  return areTexts && Array.isArray(overlays) && overlays.every((one) => typeof one === "string");
}
