/**
 * The two sides of a plan: what their names mean, where their files are, and loading them. No secret, no network and no
 * code of plugins is involved, except that `running:URL` asks that gateway.
 */
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { type LoadOutcome, loadConfig, type PluginLoader } from "../../config/load.ts";
import { DISK, type Files } from "../../config/read/files.ts";
import { revisionOf } from "../../gateway/git.ts";
import { failure, SideError } from "../../plan/git/git.ts";
import { commitOf, repositoryOf } from "../../plan/git/repository.ts";
import { pathIn, RevisionFiles } from "../../plan/git/revision-files.ts";
import { SparseFiles, sparseFiles } from "../../plan/git/sparse.ts";
import { type CliIo, configPath } from "../command.ts";
import { loadRunning } from "./running.ts";
import type { SideOutcome } from "./side-outcome.ts";

export type SideName =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "git"; readonly revision: string; readonly path: string | undefined }
  | { readonly kind: "running"; readonly url: string };

/** `git:REV`, `git:REV:PATH`, `running:URL`, or a path. The first colon outside braces ends a revision. */
export function parseSide(text: string): SideName {
  if (text.startsWith("running:")) return { kind: "running", url: text.slice("running:".length) };
  if (!text.startsWith("git:")) return { kind: "path", path: text };
  const [, revision = "", path] = /^git:((?:\{[^}]*\}|[^:{])*)(?::([\s\S]*))?$/.exec(text) ?? [];
  if (revision === "")
    throw new SideError(`'${text}' names no revision`, "write `git:HEAD` or `git:REV:PATH`");
  return { kind: "git", revision, path: path === "" ? undefined : path };
}

export interface SidesRequest {
  readonly from: SideName;
  readonly to: SideName;
  readonly overlays: readonly string[];
  readonly root: string | undefined;
}

export interface Sides {
  readonly from: SideOutcome;
  readonly to: SideOutcome;
}

/** Throws SideError when a side is no configuration that could be read at all. */
export async function loadSides(request: SidesRequest, io: CliIo, plugins: PluginLoader): Promise<Sides> {
  const { from, to } = request;
  const load = (name: SideName, other: SideName): Promise<SideOutcome> =>
    name.kind === "running"
      ? loadRunning(name.url, io, plugins)
      : loadFiles({ name, other, request, io, plugins });
  return { from: await load(from, to), to: await load(to, from) };
}

interface FileSide {
  readonly name: Exclude<SideName, { kind: "running" }>;
  readonly other: SideName;
  readonly request: SidesRequest;
  readonly io: CliIo;
  readonly plugins: PluginLoader;
}

async function loadFiles(wanted: FileSide): Promise<SideOutcome> {
  const { name, request, io, plugins } = wanted;
  const { path, files, revision } =
    name.kind === "git" ? revisionSide(name, wanted) : await diskSide(name, io);
  const outcome = await loadConfig(
    {
      path,
      root: request.root === undefined ? undefined : resolve(io.cwd, request.root),
      overlays: request.overlays.map((overlay) => resolve(io.cwd, overlay)),
      env: {},
      ...{ secrets: "keep", plugins: "skip", shows: true, strict: false, files },
    },
    plugins,
  );
  if (files instanceof SparseFiles) checkWhole(files, io);
  const { config, shown, hash, errors, warnings, omitted } = outcome;
  if (config === undefined || shown === undefined) return { findings: { errors, warnings, omitted } };
  return {
    side: { name: nameOf(name, path, io), hash, revision: revision === "" ? null : revision, shown, config },
    texts: textsOf(outcome, files),
    skippedPlugins: config.plugins.length,
  };
}

interface Located {
  /** Absolute. */
  readonly path: string;
  readonly files: Files;
  readonly revision: string;
}

async function diskSide({ path }: { readonly path: string }, io: CliIo): Promise<Located> {
  const absolute = resolve(io.cwd, path);
  const files = workingFiles(absolute, io);
  return { path: absolute, files, revision: await revisionOf(absolute, io.env) };
}

function revisionSide(
  { revision, path }: Extract<SideName, { kind: "git" }>,
  { other, request, io }: FileSide,
): Located {
  const named = path ?? (other.kind === "git" ? other.path : undefined);
  const near = resolve(io.cwd, pathLike(named, other, io));
  const repository = repositoryOf(isInRepository(named) ? io.cwd : near, io.env, io.cwd);
  const { git, top } = repository;
  const commit = commitOf(repository, revision);
  const absolute = isInRepository(named) ? pathIn(repository, named) : near;
  const files = new RevisionFiles({ git, commit, top });
  files.readAhead(files.kind(absolute) === "folder" ? absolute : dirname(absolute));
  for (const overlay of request.overlays) files.readAhead(dirname(resolve(io.cwd, overlay)));
  return { path: absolute, files, revision: commit };
}

/** As in git: `./x` is relative to the working directory, and `x` to the repository's top folder. */
function isInRepository(path: string | undefined): path is string {
  return path !== undefined && !/^\.{1,2}(?:\/|$)/.test(path) && !isAbsolute(path);
}

/** Of a side that names no path: that of the other one, else the default. */
function pathLike(named: string | undefined, other: SideName, io: CliIo): string {
  if (named !== undefined) return named;
  return other.kind === "path" ? other.path : configPath(undefined, io.env);
}

/** What `--to` is when it is not given: the working tree at the path of the other side. */
export function workingTree(other: SideName, io: CliIo): SideName {
  if (other.kind === "git" && other.path !== undefined) {
    const { path } = other;
    const found = isInRepository(path) ? pathIn(repositoryOf(io.cwd, io.env, io.cwd), path) : path;
    return { kind: "path", path: found };
  }
  return { kind: "path", path: configPath(undefined, io.env) };
}

/** In a sparse checkout, what it leaves out is noted. */
function workingFiles(path: string, io: CliIo): Files {
  try {
    return sparseFiles(repositoryOf(path, io.env, io.cwd)) ?? DISK;
  } catch (error) {
    if (error instanceof SideError) return DISK; // No repository, or no git.
    throw error;
  }
}

function checkWhole({ missed }: SparseFiles, io: CliIo): void {
  if (missed === undefined) return;
  throw failure(
    `${relative(io.cwd, missed)} is not checked out: this is a sparse checkout, and the configuration may need the file`,
    "add its folder with `git sparse-checkout add`, or compare revisions: `--to git:HEAD`",
  );
}

function* textsOf({ watch }: LoadOutcome, files: Files): Generator<readonly [string, string]> {
  for (const file of watch.files) {
    if (!/\.ya?ml$/i.test(file)) continue;
    const bytes = files.read(file, TEXT_BYTES_MAX);
    if (bytes instanceof Uint8Array) yield [file, Buffer.from(bytes).toString("utf8")];
  }
}

const TEXT_BYTES_MAX = 32 * 1024 * 1024;

/** As it could be written on the command line. */
function nameOf(name: FileSide["name"], path: string, io: CliIo): string {
  const shown = relative(io.cwd, path) || ".";
  if (name.kind === "path") return name.path;
  return name.path === undefined
    ? `git:${name.revision}`
    : `git:${name.revision}:${isInRepository(name.path) ? name.path : `./${shown}`}`;
}
