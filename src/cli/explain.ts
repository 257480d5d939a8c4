/** `sluice explain`: what would happen to one request, stage by stage, with the lines of the configuration that decide. */
import { readFile } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../base/clock.ts";
import { isJsonObject } from "../base/json.ts";
import { renderText } from "../config/report/render.ts";
import { ConfigError } from "../gateway/config-error.ts";
import { type Loaded, load } from "../gateway/load.ts";
import { type ExplainRequest, explain } from "../offline/explain/explain.ts";
import type { Explanation } from "../offline/explain/explanation.ts";
import type { Written } from "../offline/explain/places.ts";
import { AdminError } from "./admin-client.ts";
import {
  type CliIo,
  type Command,
  configPath,
  EXIT,
  expectedValue,
  hasColors,
  usageError,
} from "./command.ts";
import { explainRunning, type RunningRequest } from "./explain/running.ts";
import { explanationText } from "./explain/text.ts";
import { columnsOf, styleOf } from "./terminal.ts";

const HELP = `Usage: sluice explain [PATH] --endpoint NAME (--message TEXT | --body FILE | -) [OPTIONS]
       sluice explain --running URL --request-id ID [--output text|json]

Runs one request through the whole chain without network, state or secrets, and prints what each stage decides and the
lines of the configuration that decide it: token and scopes, rate windows, the estimate and the budget, each guardrail
with its verdict, the schemas, the final prompt with where each part comes from, and the models that are asked in order.

  PATH             a YAML file or a folder of them (default: SLUICE_CONFIG, else gateway.config.yaml)
  --endpoint NAME  \`project/slug\` of an endpoint, alias or proxy endpoint; \`slug\` alone where it is the only one
  --message TEXT   the user's message
  --body FILE      the request's body as JSON; \`-\` reads standard input
  --token NAME     the token that calls, by name or id (default: the first active one with the scope)
  --stream         as a streamed request
  --reply TEXT     what the model answers: explains the way back too (output schema, guardrails, cost)
  --show-text      show the texts that guardrails found beside their positions
  --overlay FILE   a partial configuration merged over it; may be repeated, later ones win
  --root DIR       the folder that included files must stay inside (default: the folder of PATH)
  --no-plugins     execute no plugin code, for untrusted configurations: guardrails and stages of plugins are skipped
  --output FORMAT  text or json
  --running URL    explains a call that a gateway has answered: its admin listener, with the token in SLUICE_ADMIN_TOKEN;
                   places are those of PATH if the call ran on that configuration
  --request-id ID  that call: X-Request-Id of its response

Positions are [start, end) in UTF-16 code units. Rate windows, spend and conversations begin empty.

Exit status: 0 explained, also when the request would be refused; 1 the configuration is invalid or the call is not
known; 64 usage error.

Examples:
  sluice explain --endpoint support/summarise --message "Write to ann@example.org"
  sluice explain --endpoint summarise --body request.json --token web --reply '{"level": 2}'
  sluice explain --endpoint summarise - --output json < request.json
  sluice explain --running http://127.0.0.1:9090 --request-id 5b0d6d3e-8f7e-4c5c-9f0b-2f1f7f0f3a11`;

const FORMATS = ["text", "json"] as const;

export const command: Command = {
  name: "explain",
  summary: "show what happens to one request, stage by stage, and which lines decide",
  help: HELP,
  async run(args, io) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        endpoint: { type: "string" },
        message: { type: "string" },
        body: { type: "string" },
        token: { type: "string" },
        stream: { type: "boolean", default: false },
        reply: { type: "string" },
        "show-text": { type: "boolean", default: false },
        overlay: { type: "string", multiple: true, default: [] },
        root: { type: "string" },
        "no-plugins": { type: "boolean", default: false },
        output: { type: "string", default: "text" },
        running: { type: "string" },
        "request-id": { type: "string" },
      },
    });
    const { output } = values;
    if (output !== "text" && output !== "json")
      return usageError(io, "explain", expectedValue("--output", output, FORMATS));
    const paths = positionals.filter((one) => one !== "-");
    if (paths.length > 1) return usageError(io, "explain", "expected at most one PATH");
    const { endpoint, running, "request-id": requestId } = values;
    if (running !== undefined || requestId !== undefined) {
      if (running === undefined || requestId === undefined)
        return usageError(io, "explain", "expected --running URL and --request-id ID together");
      if (endpoint !== undefined)
        return usageError(io, "explain", "expected either --endpoint or --running, not both");
      const { overlay: overlays, root } = values;
      return past({ url: running, requestId, path: paths[0], overlays, root }, output, io);
    }
    if (endpoint === undefined)
      return usageError(io, "explain", "missing --endpoint; name one as project/slug");
    const readsStdin = positionals.includes("-") || values.body === "-";
    const body = await bodyOf({ message: values.message, file: values.body, readsStdin }, io);
    if (typeof body === "string") return usageError(io, "explain", body);
    const loaded = await load({
      path: resolve(io.cwd, configPath(paths[0], io.env)),
      root: values.root === undefined ? undefined : resolve(io.cwd, values.root),
      overlays: values.overlay.map((one) => resolve(io.cwd, one)),
      env: io.env,
      ...{ secrets: "keep", shows: true, strict: false },
      plugins: values["no-plugins"] ? "skip" : "load",
    });
    const asked = requestOf(loaded, io);
    if (asked === undefined) return invalid(loaded, io);
    const { token, stream, reply, "show-text": showsText } = values;
    const explanation = await explain({ ...asked, endpoint, body, token, stream, reply, showsText }).catch(
      (thrown: unknown) => {
        if (thrown instanceof ConfigError) return thrown;
        throw thrown;
      },
    );
    if (explanation instanceof ConfigError) return invalid(explanation, io);
    if (typeof explanation === "string") return usageError(io, "explain", explanation);
    io.stdout(printed(explanation, output, io));
    return EXIT.ok;
  },
};

async function past(
  request: Omit<RunningRequest, "writtenOf">,
  output: (typeof FORMATS)[number],
  io: CliIo,
): Promise<number> {
  try {
    const writtenOf = (loaded: Loaded): Written => writtenIn(loaded, io);
    io.stdout(printed(await explainRunning({ ...request, writtenOf }, io), output, io));
    return EXIT.ok;
  } catch (thrown) {
    if (!(thrown instanceof AdminError)) throw thrown;
    io.stderr(`sluice explain: ${thrown.message}\n`);
    return EXIT.failed;
  }
}

export function printed(explanation: Explanation, output: (typeof FORMATS)[number], io: CliIo): string {
  if (output === "json") return `${JSON.stringify(explanation, undefined, 2)}\n`;
  return explanationText(explanation, { style: styleOf(io, "stdout"), columns: columnsOf(io) });
}

/** The configuration's side of the request; undefined: it is not valid. */
function requestOf(
  loaded: Loaded,
  io: CliIo,
): Omit<ExplainRequest, "endpoint" | "body" | "stream" | "showsText"> | undefined {
  const { config, registry, hash, warnings } = loaded;
  if (config === undefined) return undefined;
  const isSkipped = warnings.some(({ code }) => code === "W0116");
  return {
    ...{ config, registry, hash, written: writtenIn(loaded, io), nowMs: systemClock().nowMs() },
    notes: isSkipped ? [PLUGINS_SKIPPED] : [],
  };
}

function writtenIn({ shown }: Loaded, io: CliIo): Written {
  return {
    placeOf: (path) => shown?.originOf(path)?.at,
    placeText: ({ file, line, column }) => `${shownPath(file, io.cwd)}:${line}:${column}`,
    writtenAt: (path) => shown?.referenceOf(path) ?? valueAt(shown?.config, path),
  };
}

const PLUGINS_SKIPPED =
  "Plugins were not executed (--no-plugins): their guardrails and stages let everything pass here.";

function valueAt(root: unknown, path: readonly (string | number)[]): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function shownPath(file: string, cwd: string): string {
  const path = relative(cwd, file);
  return path === "" || path.startsWith("..") || isAbsolute(path) ? file : path;
}

function invalid({ errors, warnings }: Pick<Loaded, "errors" | "warnings">, io: CliIo): number {
  io.stderr(renderText([...errors, ...warnings], hasColors(io, "stderr"), io.cwd));
  return EXIT.failed;
}

interface BodySources {
  readonly message: string | undefined;
  readonly file: string | undefined;
  readonly readsStdin: boolean;
}

/** A text: why there is none. */
async function bodyOf(
  { message, file, readsStdin }: BodySources,
  io: CliIo,
): Promise<Readonly<Record<string, unknown>> | string> {
  const sources = [message, file, readsStdin && file !== "-" ? "-" : undefined].filter(
    (one) => one !== undefined,
  );
  if (sources.length !== 1) return "expected one of --message TEXT, --body FILE and - for standard input";
  if (message !== undefined) return { message };
  const name = readsStdin ? "standard input" : (file ?? "");
  let value: unknown;
  try {
    value = JSON.parse(readsStdin ? await io.stdin() : await readFile(resolve(io.cwd, name), "utf8"));
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return `the body cannot be read from ${name}: ${reason}`;
  }
  return isJsonObject(value) ? value : `the body in ${name} must be a JSON object`;
}
