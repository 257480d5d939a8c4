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

const sources = ["src", "plugins", "providers", "package.json", "tsconfig.json", "tsconfig.build.json"];
if (!existsSync(stamp) || sources.some((name) => isNewerThan(join(root, name), statSync(stamp).mtimeMs))) {
  process.stderr.write("compiling …\n");
  const { build } = await import("./build.mjs");
  build();
}
await import("../dist/main.js");
