// Bundles src, plugins and providers into a few JavaScript files in dist/ (opening hundreds of modules would take longer
// than running them) and, where TypeScript is installed, checks the types and writes declarations to dist/types.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
/** The program, the public packages, and the entries of threads and child processes. They find each other by relative URL. */
const ENTRIES = [
  "src/main.ts",
  "src/index.ts",
  { in: "src/plugin/index.ts", out: "plugin" },
  { in: "src/provider-kit/index.ts", out: "provider" },
  { in: "src/testing/index.ts", out: "testing" },
  "src/gateway/loader-worker.ts",
  "src/webhooks/dispatcher-worker.ts",
  "src/plugins-host/isolation/isolated-child.ts",
].map((entry) => (typeof entry === "string" ? { in: entry, out: entry.replace(/.*\/|\.ts$/g, "") } : entry));
/** Bundled, because it has seventy files; all other packages are loaded from node_modules when they are needed. */
const INLINED = ["yaml"];

/** Builds dist/ from scratch, so that files deleted in the sources disappear from the output. */
export function build() {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  bundle("dist");
  writeFileSync(join(root, "dist/.built"), `${new Date().toISOString()}\n`);
}

/** Type checks and writes declarations. Exits with the compiler's exit code. */
function declare() {
  const tsc = compilerPath();
  // Without development packages nothing compiles against the types.
  if (tsc === undefined) return;
  const run = spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (run.status !== 0) process.exit(run.status ?? 1);
}

function compilerPath() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  } catch {
    return undefined;
  }
}

/** `outdir`: relative to the repository, or absolute. */
export function bundle(outdir) {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const packages = Object.keys({ ...dependencies, ...optionalDependencies });
  buildSync({
    absWorkingDir: root,
    entryPoints: ENTRIES,
    outdir,
    chunkNames: "part-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    external: packages.filter((name) => !INLINED.includes(name)),
    // Built-in and third-party plugins import the same modules.
    alias: { "sluice/plugin": "./src/plugin/index.ts", "sluice/provider": "./src/provider-kit/index.ts" },
    // Bundled CommonJS packages call `require` for Node's modules.
    banner: {
      js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
    },
    logLevel: "warning",
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  build();
  declare();
}
