// Runs `sluice COMMAND …` from a clone: compiles first when a source is newer than the last build, then hands over
// to the compiled program in this very process, so that signals and exit codes are its own.
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

/** Compiling takes what `npm ci` leaves out where it is told to, or where NODE_ENV is production. */
async function compile() {
  try {
    const { build } = await import("./build.mjs");
    build();
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" && error.code !== "MODULE_NOT_FOUND") throw error;
    process.stderr.write(
      "sluice cannot be compiled: packages are missing. Run: npm ci --include=dev\n" +
        "(after `npm run build` the program in dist/ runs without those: node dist/main.js start)\n",
    );
    process.exit(1);
  }
}

const sources = ["src", "plugins", "providers", "package.json", "tsconfig.json", "tsconfig.build.json"];
if (!existsSync(stamp) || sources.some((name) => isNewerThan(join(root, name), statSync(stamp).mtimeMs))) {
  process.stderr.write("compiling …\n");
  await compile();
}
await import("../dist/main.js");
