/** `sluice start`: loads the configuration, serves it, reloads it when it changes, and stops when it is told to. */
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { DEMO_TOKEN, demoIn, isLoopback } from "../config/check/demo-token.ts";
import type { ResolvedConfig } from "../config/model.ts";
import { type Diagnostic, renderText } from "../config/report/diagnostic.ts";
import { ConfigError, createGateway, type Gateway, type ReloadOutcome } from "../gateway/gateway.ts";
import { type CliIo, type Command, misused } from "./command.ts";

export const command: Command = {
  name: "start",
  summary: "serve a configuration",
  help: `Usage: sluice start [--config PATH] [--overlay FILE]... [--root DIR]
                    [--fallback last-valid]

Loads the configuration, checks it, and serves it until SIGTERM or SIGINT. Changed files are taken up as they are
saved (unless \`reload.watch\` is false); an invalid change is reported and the last valid configuration stays in effect.
SIGHUP loads again at once.

  --config PATH    a YAML file or a folder of them (default: SLUICE_CONFIG, else gateway.config.yaml)
  --overlay FILE   a partial configuration merged over it; may be repeated
  --root DIR       the folder that the files of the configuration must stay inside (default: the folder of PATH)
  --fallback last-valid
                   keep each valid configuration in its state.directory (files with secrets are linked, not copied),
                   and when a start finds an invalid one, serve what was kept last and report the errors

Examples:
  sluice start
  sluice start --config ./gateway --overlay ./production.yaml`,
  run: start,
};

/**
 * The old generation may grow by so much before it is collected. Left to itself V8 lets that of a busy process grow to
 * several times its size (35 MB more with 2,000 open streams) and collects that of a large configuration every few
 * megabytes, which calls then pay for.
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
    return misused(io, "start", `unknown fallback '${fallback}'; expected last-valid`);
  const path = values.config ?? io.env["SLUICE_CONFIG"] ?? "gateway.config.yaml";
  let gateway: Gateway;
  try {
    const { overlay: overlays = [], root } = values;
    gateway = await createGateway({
      ...{ configPath: path, overlays, root, env: io.env, fallback },
      ...(io.isErrorTerminal === true && {
        reloadReported: (outcome) => io.stderr(reloadText(outcome, io.isTerminal)),
      }),
    });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    io.stderr(renderText([...error.errors, ...error.warnings] satisfies Diagnostic[], io.isTerminal));
    return 1;
  }
  const refusal = demoBeyondLoopback(gateway.config);
  if (refusal !== undefined) {
    io.stderr(refusal);
    return 1;
  }
  const ended = untilStopped(gateway, io);
  const { url, adminUrl } = await gateway.start();
  io.stderr(banner(gateway.config, url, adminUrl));
  return ended;
}

function demoBeyondLoopback(config: ResolvedConfig): string | undefined {
  if (demoIn(config) === undefined || isLoopback(config.server.host)) return undefined;
  return `error: the configuration has the demo token, which is public, and server.host is ${config.server.host}.
Remove the token from the configuration (make one with: sluice token new), or listen on 127.0.0.1.\n`;
}

/** For a person at a terminal, beside the log line: as `sluice validate` shows it. */
export function reloadText({ ok, generation, errors, warnings }: ReloadOutcome, colored: boolean): string {
  if (ok) return `configuration valid again, generation ${generation}\n`;
  return `${renderText([...errors, ...warnings], colored)}configuration rejected, keeping generation ${generation}\n`;
}

/** A crashed process that does not come to its end ends this long after its drain time. */
const CRASH_MARGIN_MS = 15_000;

/**
 * Resolves with the exit code when the gateway has stopped: after a signal, or after an error that no guard has caught.
 * A second signal does not wait for open calls.
 */
function untilStopped(gateway: Gateway, io: CliIo): Promise<number> {
  return new Promise((resolve) => {
    let told = false;
    let crashed = false;
    const stop = (): void => {
      if (told) process.exit(130);
      told = true;
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
      // What a configuration has wrong is in its outcome, and reported; anything else is a bug and must not end us.
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
      // Whatever the error has left open must not keep the process alive, nor may a close that waits for it.
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
