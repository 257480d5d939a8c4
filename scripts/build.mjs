// Bundles src, plugins and providers into a few JavaScript files in dist/ (opening hundreds of modules would take longer
// than running them) and, where TypeScript is installed, checks the types and writes declarations to dist/types.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
/** The program, the plugin API, and what threads and child processes run, side by side: they find each other by relative URLs. */
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
/** Made a part of the output, for its seventy files; all other packages are loaded as they are, when they are needed. */
const INLINED = ["yaml"];

/** Builds dist/ from nothing: a file deleted in the sources must not live on in the output. */
export function build() {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  bundle();
  writeFileSync(join(root, "dist/.built"), `${new Date().toISOString()}\n`);
}

/** Type checks, and writes declarations. Exits with the compiler's own code, so that a broken build is seen. */
function declare() {
  const tsc = compilerPath();
  // Without development packages there is nobody to compile plugins against the types.
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

function bundle() {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const packages = Object.keys({ ...dependencies, ...optionalDependencies });
  buildSync({
    absWorkingDir: root,
    entryPoints: ENTRIES,
    outdir: "dist",
    chunkNames: "part-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    external: packages.filter((name) => !INLINED.includes(name)),
    // Built-in plugins and third parties' come through one and the same door.
    alias: { "sluice/plugin": "./src/plugin/index.ts", "sluice/provider": "./src/provider-kit/index.ts" },
    // What is inlined asks for Node's own modules by `require`.
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
