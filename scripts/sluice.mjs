// Runs `sluice COMMAND …` from a clone: bundles first when a source is newer than the last build, then hands over
// to the program in this very process, so that signals and exit codes are its own.
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

/** Needs esbuild, which is among the packages that the program runs with. */
async function compile() {
  try {
    const { build } = await import("./build.mjs");
    build();
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" && error.code !== "MODULE_NOT_FOUND") throw error;
    process.stderr.write("sluice cannot be compiled: packages are missing. Run: npm ci\n");
    process.exit(1);
  }
}

// src/cli/node-version.ts says the same for the installed package; here nothing is compiled yet.
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
