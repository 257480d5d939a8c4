// Runs the tests with Node's test runner and tsx: all of test/, or the given files. All of test/ runs in a few processes
// instead of one per file, since starting a process takes longer than most files.
//   npm test                       npm test -- test/config/parse.test.ts
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "./build.mjs";

/** The runner kills a process after this time. test-limit.mjs ends a single test earlier. */
const PROCESS_TIMEOUT_MS = 600_000;
/** More than one, to balance slow groups. */
const GROUPS_PER_CORE = 3;

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const cores = Math.max(2, availableParallelism());
const given = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "sluice-tests-"));
try {
  process.exitCode = run(given.length > 0 ? given : grouped(allFiles(), cores * GROUPS_PER_CORE));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Compiles the sources for threads and processes that tests start, which would otherwise compile them at each start, into
 * a folder laid out like the package. undefined: coverage is measured, which needs the sources.
 */
function compiled() {
  if (process.env.NODE_V8_COVERAGE !== undefined) return undefined;
  copyFileSync(join(root, "package.json"), join(folder, "package.json"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  bundle(join(folder, "dist"));
  return join(folder, "dist");
}

function allFiles() {
  return readdirSync(join(root, "test"), { recursive: true })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join("test", name))
    .sort();
}

/** One module per group that imports its files. Files next to each other take similar time, so they are distributed in turn. */
function grouped(files, count) {
  return Array.from({ length: Math.min(count, files.length) }, (_, group) => {
    const path = join(folder, `group-${group + 1}.mjs`);
    const own = files.filter((_, index) => index % count === group);
    const url = (file) => JSON.stringify(pathToFileURL(resolve(root, file)).href);
    writeFileSync(path, own.map((file) => `import ${url(file)};\n`).join(""));
    return path;
  });
}

function run(files) {
  const limit = pathToFileURL(join(root, "scripts/test-limit.mjs")).href;
  const loaders = ["--conditions=sluice-source", "--import", "tsx", "--import", limit];
  // One process more than cores: many tests wait for other processes and for the disk.
  const limits = [`--test-timeout=${PROCESS_TIMEOUT_MS}`, `--test-concurrency=${cores + 1}`];
  const folderOfCompiled = compiled();
  const done = spawnSync(process.execPath, [...loaders, "--test", ...limits, ...files], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...(folderOfCompiled && { SLUICE_COMPILED: folderOfCompiled }) },
  });
  return done.status ?? 1;
}
