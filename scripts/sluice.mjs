// Runs `sluice COMMAND …` from a clone: rebuilds dist/ when a source is newer than the last build, then runs the program in
// this process, so that signals and exit codes are the program's.
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const stamp = join(root, "dist/.built");

function isNewerThan(path, timeMs) {
  const entry = statSync(path);
  if (entry.isFile()) return entry.mtimeMs > timeMs;
  return entry.mtimeMs > timeMs || readdirSync(path).some((name) => isNewerThan(join(path, name), timeMs));
}

/** Needs esbuild, which is a runtime dependency. */
async function compile() {
  try {
    const { build } = await import("./build.mjs");
    build();
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" && error.code !== "MODULE_NOT_FOUND") throw error;
    process.stderr.write("sluice: packages are missing; run: npm ci\n");
    process.exit(1);
  }
}

// The same check as src/cli/node-version.ts: nothing is compiled yet.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`Sluice needs Node 20.19 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}

const sources = ["src", "plugins", "providers", "package.json", "tsconfig.json", "tsconfig.build.json"];
if (!existsSync(stamp) || sources.some((name) => isNewerThan(join(root, name), statSync(stamp).mtimeMs))) {
  process.stderr.write("building dist/ …\n");
  await compile();
}
await import("../dist/main.js");
