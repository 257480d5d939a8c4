// Compiles src, plugins and providers to dist/. Exits with the compiler's own code, so a broken build is seen.
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** Compiles into dist/, from nothing: a file deleted in the sources must not live on in the output. */
export function build() {
  const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
  const tsc = join(dirname(manifest), "bin/tsc");
  rmSync(join(root, "dist"), { recursive: true, force: true });
  const run = spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (run.status !== 0) process.exit(run.status ?? 1);
  writeFileSync(join(root, "dist/.built"), `${new Date().toISOString()}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build();
