// Runs the benchmarks: the TypeScript harness against a fresh build of the gateway.
//   npm run bench                    npm run bench -- json stream --rounds 7
//   npm run bench -- guardrails DIR  npm run bench -- json --no-build     (with the existing dist/)
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const given = process.argv.slice(2).filter((word) => word !== "--no-build");
const [program, ...rest] = given[0] === "guardrails" ? given : ["main", ...given];

if (program === "main" && !process.argv.includes("--no-build")) build();
const flags = ["--conditions=sluice-source", "--import", "tsx", join("bench", `${program}.ts`)];
const run = spawnSync(process.execPath, [...flags, ...rest], { cwd: root, stdio: "inherit" });
process.exit(run.status ?? 1);
