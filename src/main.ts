#!/usr/bin/env node
/**
 * The program: arguments to a command, its exit code to the shell. Imports nothing statically, so that a Node version that
 * could not even load the rest gets one clear line.
 */
/** Open handles may hold a failed command so long. */
const EXIT_MS = 1000;

const { unsupportedNode } = await import("./cli/node-version.ts");
const unsupported = unsupportedNode(process.versions.node);
if (unsupported !== undefined) {
  process.stderr.write(`${unsupported}\n`);
  process.exit(1);
}
const { main } = await import("./cli/main.ts");
process.exitCode = await main(process.argv.slice(2));
// A failed start may leave a plugin's connections open: they must not keep a process that serves nothing.
if (process.exitCode !== 0) setTimeout(() => process.exit(), EXIT_MS).unref();
