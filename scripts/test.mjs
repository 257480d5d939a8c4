// Runs the tests with Node's own runner, TypeScript as it stands: all of test/, or the files given.
//   npm test                       npm test -- test/config/parse.test.ts
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const given = process.argv.slice(2);
const found = readdirSync(join(root, "test"), { recursive: true })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => join("test", name))
  .sort();
const files = given.length > 0 ? given : found;
const flags = [
  "--conditions=sluice-source",
  "--import",
  "tsx",
  "--test",
  `--test-concurrency=${Math.max(2, availableParallelism())}`,
];
const run = spawnSync(process.execPath, [...flags, ...files], { cwd: root, stdio: "inherit" });
process.exit(run.status ?? 1);
