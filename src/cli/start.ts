/** `sluice start`: loads the configuration, serves it, reloads it when it changes, and stops on a signal. */
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { DEMO_TOKEN, demoIn, isLoopback } from "../config/check/demo-token.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { Diagnostic } from "../config/report/diagnostic.ts";
import { renderText } from "../config/report/render.ts";
import { ConfigError, createGateway, type Gateway, type ReloadOutcome } from "../gateway/gateway.ts";
import {
  type CliIo,
  type Command,
  configPath,
  EXIT,
  expectedValue,
  hasColors,
  usageError,
} from "./command.ts";

export const command: Command = {
  name: "start",
  summary: "serve a configuration",
  help: `Usage: sluice start [--config PATH] [--overlay FILE]... [--root DIR]
                    [--fallback last-valid]

Loads and checks the configuration, and serves it until SIGTERM or SIGINT. Changed files are loaded when they are saved
(unless \`reload.watch\` is false); an invalid change is reported and the last valid configuration stays in effect.

  --config PATH    a YAML file or a folder of them (default: SLUICE_CONFIG, else gateway.config.yaml)
  --overlay FILE   a partial configuration merged over it; may be repeated
  --root DIR       the folder that the files of the configuration must stay inside (default: the folder of PATH)
  --fallback last-valid
                   keep a copy of each valid configuration in state.directory (files with secrets are linked, not
                   copied); if the configuration is invalid at start, report the errors and serve the last copy

Signals: SIGHUP reloads. SIGTERM and SIGINT drain open calls for server.drain_timeout_ms, then exit with 0; a second one
exits at once with 130.

Exit status: 0 stopped by a signal, 1 invalid configuration or failure, 64 usage error.

Examples:
  sluice start
  sluice start --config ./gateway --overlay ./production.yaml`,
  run: start,
};

/**
 * Growth of the old heap generation between collections. By default V8 lets it grow to several times its size in a busy
 * process (35 MB more with 2,000 open streams), and collects it every few megabytes when the configuration is large.
 */
const HEAP_GROWTH_PERCENT = 30;

async function start(args: readonly string[], io: CliIo): Promise<number> {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  const { values } = parseArgs({
    args: [...args],
    options: {
      config: { type: "string" },
      overlay: { type: "string", multiple: true },
      root: { type: "string" },
      fallback: { type: "string" },
    },
  });
  const { fallback } = values;
  if (fallback !== undefined && fallback !== "last-valid")
    return usageError(io, "start", expectedValue("--fallback", fallback, ["last-valid"]));
  const path = configPath(values.config, io.env);
  let gateway: Gateway;
  try {
    const { overlay: overlays = [], root } = values;
    gateway = await createGateway({
      ...{ configPath: path, overlays, root, env: io.env, fallback },
      ...(io.isErrorTerminal === true && {
        reloadReported: (outcome) => io.stderr(reloadText(outcome, hasColors(io, "stderr"))),
      }),
    });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    io.stderr(
      renderText([...error.errors, ...error.warnings] satisfies Diagnostic[], hasColors(io, "stderr")),
    );
    return EXIT.failed;
  }
  const refusal = demoBeyondLoopback(gateway.config);
  if (refusal !== undefined) {
    io.stderr(refusal);
    return EXIT.failed;
  }
  const ended = untilStopped(gateway, io);
  const { url, adminUrl } = await gateway.start();
  io.stderr(banner(gateway.config, url, adminUrl));
  return ended;
}

function demoBeyondLoopback(config: ResolvedConfig): string | undefined {
  if (demoIn(config) === undefined || isLoopback(config.server.host)) return undefined;
  return `error: the demo token is public and cannot be used with server.host ${config.server.host}.
Replace it (sluice token new prints one), or set server.host to 127.0.0.1.\n`;
}

/** Printed on a terminal in addition to the log line, in the format of `sluice validate`. */
export function reloadText({ ok, generation, errors, warnings }: ReloadOutcome, colored: boolean): string {
  if (ok) return `configuration valid again, generation ${generation}\n`;
  return `${renderText([...errors, ...warnings], colored)}configuration rejected, keeping generation ${generation}\n`;
}

/** A crashed process that does not finish draining is ended this long after its drain time. */
const CRASH_MARGIN_MS = 15_000;

/**
 * Resolves with the exit code when the gateway has stopped: after a signal, or after an uncaught error. A second signal
 * does not wait for open calls.
 */
function untilStopped(gateway: Gateway, io: CliIo): Promise<number> {
  return new Promise((resolve) => {
    let isStopping = false;
    let crashed = false;
    const stop = (): void => {
      if (isStopping) process.exit(130);
      isStopping = true;
      gateway.stop().then(
        () => resolve(crashed ? 1 : 0),
        (thrown: unknown) => {
          io.stderr(`sluice start: could not stop cleanly: ${String(thrown)}\n`);
          resolve(1);
        },
      );
    };
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
    process.on("SIGHUP", () => {
      // Configuration errors are reported with the outcome; anything else is a bug and must not end the process.
      gateway
        .reload()
        .catch((thrown: unknown) => io.stderr(`sluice start: reload failed: ${String(thrown)}\n`));
    });
    // Unhandled rejections are raised as uncaught exceptions, with their origin.
    process.on("uncaughtException", (thrown, origin) => {
      const ended = gateway.crash(thrown, origin);
      if (crashed) return;
      crashed = true;
      const { drain_timeout_ms: drainMs } = gateway.config.server;
      // Neither resources left open by the error nor a close that waits for them may keep the process alive.
      setTimeout(() => process.exit(1), drainMs + CRASH_MARGIN_MS).unref();
      const exit = (): never => process.exit(1);
      ended.then(exit, exit);
    });
  });
}

function banner(config: ResolvedConfig, url: string, adminUrl: string | undefined): string {
  const lines = [`sluice listens on ${url}`];
  if (adminUrl !== undefined) lines.push(`health and metrics on ${adminUrl}`);
  const demo = demoIn(config);
  if (demo !== undefined && demo.slug !== "") {
    lines.push(
      "",
      `demo token (public, loopback only): ${DEMO_TOKEN}`,
      "try it:",
      "",
      `  curl ${url}/api/${demo.projectUuid}/${demo.slug} -H 'Authorization: Bearer ${DEMO_TOKEN}' -H 'Content-Type: application/json' -d '{"message":"Hello!"}'`,
      "",
      'or streamed, with -N and {"message":"Hello!","stream":true}',
    );
  }
  return `${lines.join("\n")}\n`;
}
