/** `sluice doctor`: whether a gateway could serve this configuration on this machine, and what to do where it could not. */
import { relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { demoIn, isLoopback } from "../../config/check/demo-token.ts";
import { type LoadRequest, loadConfig } from "../../config/load.ts";
import type { Diagnostic } from "../../config/report/diagnostic.ts";
import { type Loaded, load, pluginLoader } from "../../gateway/load.ts";
import { eventFoldersOf } from "../../gateway/watch.ts";
import { type CliIo, type Command, configPath, EXIT, expectedValue, usageError } from "../command.ts";
import { columnsOf, styleOf } from "../terminal.ts";
import { counted } from "../units.ts";
import { advised, type Check, type Finding, finding, type Subject } from "./finding.ts";
import { checkClock, checkNode, checkPorts, checkWatching } from "./machine.ts";
import { checkNetwork } from "./network.ts";
import { checkSecrets } from "./secrets.ts";
import { checkState } from "./state.ts";
import { targetsOf } from "./targets.ts";
import { doctorJson, doctorText } from "./view.ts";

const HELP = `Usage: sluice doctor [PATH] [--overlay FILE]... [--root DIR] [--network] [--output text|json]

Checks whether a gateway could serve a configuration on this machine, and says what to do where it could not: Node's
version, the configuration, each secret reference (never its value), ports, the state folder or Redis, file watching
and the clock. Nothing is served and no call is made.

  PATH             a YAML file or a folder of them (default: SLUICE_CONFIG, else gateway.config.yaml)
  --overlay FILE   a partial configuration merged over it; may be repeated, later ones win
  --root DIR       the folder that the files of the configuration must stay inside (default: the folder of PATH)
  --network        also connect to the addresses of providers, webhooks and other receivers: DNS, TLS, time. No
                   credential is sent
  --output FORMAT  text, or json: {ok, checks: [{check, level, subject, message, advice}]}

Exit status: 0 nothing would keep the gateway from serving, 1 something would, 64 usage error.

Examples:
  sluice doctor
  sluice doctor ./gateway --overlay ./production.yaml --network
  sluice doctor --output json | jq '.checks[] | select(.level == "error")'`;

export const command: Command = {
  name: "doctor",
  summary: "check whether this machine could serve a configuration",
  help: HELP,
  async run(args, io) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        overlay: { type: "string", multiple: true, default: [] },
        root: { type: "string" },
        network: { type: "boolean", default: false },
        output: { type: "string", default: "text" },
      },
    });
    const { output, overlay, root, network } = values;
    if (positionals.length > 1)
      return usageError(io, "doctor", "expected at most one PATH; name overlays with --overlay");
    if (output !== "text" && output !== "json")
      return usageError(io, "doctor", expectedValue("--output", output, ["text", "json"]));
    const request: LoadRequest = {
      path: resolve(io.cwd, configPath(positionals[0], io.env)),
      root: root === undefined ? undefined : resolve(io.cwd, root),
      overlays: overlay.map((one) => resolve(io.cwd, one)),
      ...{ env: io.env, secrets: "resolve", strict: false },
    };
    const found = await examine(request, io, network);
    io.stdout(
      output === "json" ? doctorJson(found) : doctorText(found, styleOf(io, "stdout"), columnsOf(io)),
    );
    return found.some(({ level }) => level === "error") ? EXIT.failed : EXIT.ok;
  },
};

async function examine(request: LoadRequest, io: CliIo, network: boolean): Promise<readonly Finding[]> {
  const asked = await load(request);
  // Without values of secrets most can still be looked at.
  const lenient = asked.config === undefined ? await load({ ...request, secrets: "skip" }) : asked;
  const { shown } = await loadConfig(
    { ...request, secrets: "keep", plugins: "skip", shows: true },
    pluginLoader,
  );
  const { config, registry } = lenient;
  const found: Finding[] = [
    checkNode(process.versions.node),
    ...checkConfiguration(asked, lenient, request.path, io),
    ...(shown === undefined ? [unlooked("secrets")] : checkSecrets(shown, io)),
  ];
  if (config === undefined) {
    const unseen: Check[] = ["ports", "state", "watching", ...(network ? (["network"] as const) : [])];
    return [...found, ...unseen.map(unlooked), checkClock(asked.watch, Date.now())];
  }
  const subject: Subject = { io, config };
  const ports = await checkPorts(subject);
  found.push(
    ...ports,
    ...(await checkState(
      subject,
      ports.some(({ message }) => message.includes("running gateway")),
    )),
  );
  found.push(
    ...(await checkWatching(subject, { ...asked.watch, eventFolders: eventFoldersOf(asked.watch) })),
  );
  found.push(checkClock(asked.watch, Date.now()));
  if (network) found.push(...(await checkNetwork(subject, targetsOf(config, registry))));
  return found;
}

function unlooked(check: Check): Finding {
  return finding(check, "skipped", "", "not checked until the configuration is valid");
}

/** Of the errors; `sluice validate` shows all of them, with their frames. */
const ERRORS_MAX = 5;

function checkConfiguration(asked: Loaded, lenient: Loaded, path: string, io: CliIo): readonly Finding[] {
  const file = relative(io.cwd, path) || ".";
  const validate = `sluice validate ${file}`;
  const { config, warnings, watch } = asked;
  if (config !== undefined) {
    const noted = warnings.length === 0 ? "" : `, ${counted(warnings.length, "warning")}`;
    const size = `${counted(watch.files.length, "file")}, ${counted(config.projects.length, "project")}`;
    const one = finding("configuration", "ok", file, `valid: ${size}${noted}`);
    const shown = warnings.length === 0 ? one : advised(one, validate);
    return demoIn(config) === undefined || isLoopback(config.server.host) ? [shown] : [shown, DEMO];
  }
  if (lenient.config !== undefined) {
    const missing = finding(
      "configuration",
      "error",
      file,
      "valid, but references have no value: see Secrets",
    );
    return [advised(missing, validate)];
  }
  const errors = lenient.errors.slice(0, ERRORS_MAX).map((error) => errorFinding(error, io));
  const more = lenient.errors.length - errors.length;
  const last = more > 0 ? [finding("configuration", "error", file, counted(more, "more error"))] : [];
  return [...errors, ...last].map((one) => advised(one, validate));
}

const DEMO = advised(
  finding(
    "configuration",
    "error",
    "demo token",
    "is public, and server.host is not loopback: `start` refuses that",
  ),
  "remove it (`sluice token new` creates another), or set server.host to 127.0.0.1",
);

function errorFinding({ code, message, file, line }: Diagnostic, { cwd }: CliIo): Finding {
  const near = message.replaceAll(`${cwd}/`, "");
  return finding("configuration", "error", `${relative(cwd, file) || file}:${line}`, `${near} [${code}]`);
}
