/** `sluice state confirm`: accepts a detected loss of data in Redis, so that calls are admitted again. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { loadConfig, type PluginLoader } from "../config/load.ts";
import { renderText } from "../config/report/render.ts";
import { confirmLoss } from "../state/redis/confirm.ts";
import { type CliIo, configPath, EXIT, hasColors, usageError } from "./command.ts";

export async function confirmState(
  args: readonly string[],
  io: CliIo,
  loadPlugins: PluginLoader,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { config: { type: "string" }, root: { type: "string" } },
  });
  if (positionals.length > 0) return usageError(io, "state", "confirm takes no FILE");
  const path = resolve(io.cwd, configPath(values.config, io.env));
  const root = values.root === undefined ? undefined : resolve(io.cwd, values.root);
  const request = { path, root, overlays: [], env: io.env, secrets: "resolve", strict: false } as const;
  const { config, errors } = await loadConfig(request, loadPlugins);
  if (config === undefined || errors.length > 0) {
    io.stderr(renderText(errors, hasColors(io, "stderr"), io.cwd));
    return EXIT.failed;
  }
  const { driver, url, key_prefix: keyPrefix } = config.state;
  if (driver !== "redis") {
    io.stderr(`sluice state: confirm needs state.driver 'redis'; this configuration has '${driver}'\n`);
    return EXIT.failed;
  }
  try {
    const { server, lost } = await confirmLoss({ url, keyPrefix });
    io.stdout(
      lost === undefined
        ? `redis (${server}): no data loss to confirm\n`
        : `redis (${server}): confirmed the data loss of ${new Date(lost.atMs).toISOString()} (${lost.reason}); ` +
            "calls are admitted again\n",
    );
    return EXIT.ok;
  } catch (error) {
    io.stderr(`sluice state: ${error instanceof Error ? error.message : "no answer from redis"}\n`);
    return EXIT.failed;
  }
}
