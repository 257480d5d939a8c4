/** `sluice reload`: has a running gateway load its configuration now, on request only if it is the change of a plan. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { isJsonObject, type JsonMap } from "../base/json.ts";
import type { PluginLoader } from "../config/load.ts";
import type { Diagnostic } from "../config/report/diagnostic.ts";
import { renderText } from "../config/report/render.ts";
import { type ReloadConflictBody, type Reloaded, reloadSchemas } from "../gateway/overview.ts";
import {
  ADMIN_OPTIONS,
  ADMIN_OPTIONS_HELP,
  type AdminAnswer,
  type AdminClient,
  AdminError,
  adminClient,
} from "./admin-client.ts";
import { type CliIo, type Command, EXIT, expectedValue, hasColors, usageError } from "./command.ts";
import { conforms } from "./conforms.ts";
import { printable, styleOf } from "./terminal.ts";
import { counted } from "./units.ts";

const HELP = `Usage: sluice reload [--url URL] [--plan FILE] [--output text|json]

Has a running gateway load its configuration now and reports the outcome. An invalid configuration is rejected with
its errors, and the one before stays in effect. Needs a control-plane token in SLUICE_ADMIN_TOKEN.

With a plan, what was reviewed is what goes live: the gateway applies the change only if it runs the configuration
that the plan starts from and has loaded the one that it leads to. Set \`reload.watch: false\` so that files are loaded
in no other way.

${ADMIN_OPTIONS_HELP}
  --plan FILE      a plan that was saved with \`sluice plan --save FILE\`
  --output FORMAT  text, or json: the body of POST /admin/v1/reload

Exit status: 0 applied or nothing to apply, 1 rejected, not the reviewed change, or no answer, 64 usage error.

Examples:
  sluice reload
  sluice plan --from running:http://127.0.0.1:8081 --save plan.json && sluice reload --plan plan.json`;

export function reloadCommand(loadPlugins: PluginLoader): Command {
  return {
    name: "reload",
    summary: "have a running gateway load its configuration now",
    help: HELP,
    async run(args, io) {
      const { values } = parseArgs({
        args: [...args],
        options: {
          ...ADMIN_OPTIONS,
          plan: { type: "string" },
          output: { type: "string", default: "text" },
        },
      });
      const { output, plan: path } = values;
      if (output !== "text" && output !== "json")
        return usageError(io, "reload", expectedValue("--output", output, ["text", "json"]));
      let client: AdminClient | undefined;
      try {
        const plan = path === undefined ? undefined : await planIn(path, io);
        client = await adminClient(values, io, loadPlugins);
        const body = plan && { from_hash: plan.from, to_hash: plan.to };
        const answer = await client.ask("POST", "/admin/v1/reload", body);
        if (output === "json") io.stdout(`${JSON.stringify(answer.body, null, 2)}\n`);
        return output === "json" ? exitOf(answer, plan) : report(answer, plan, client.url, io);
      } catch (error) {
        if (!(error instanceof AdminError)) throw error;
        io.stderr(`sluice reload: ${error.message}\n`);
        return EXIT.failed;
      } finally {
        client?.close();
      }
    },
  };
}

interface Plan {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Only the hashes are needed; plans have many changes, so the size is not bounded here. */
async function planIn(file: string, io: CliIo): Promise<Plan> {
  const fail = (reason: string) => new AdminError(`${file} ${reason}`, true);
  let plan: unknown;
  try {
    plan = JSON.parse(await readFile(resolve(io.cwd, file), "utf8"));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    throw fail(
      code === undefined
        ? "is not JSON; save a plan with `sluice plan --save FILE`"
        : `cannot be read: ${code}`,
    );
  }
  if (!isJsonObject(plan)) throw fail("is not a plan; save one with `sluice plan --save FILE`");
  if ("errors" in plan) throw fail("is a plan of an invalid configuration, which no gateway would apply");
  if (plan["plan_version"] !== 1)
    throw fail("has no `plan_version: 1`; save a plan with this version of Sluice");
  const [from, to] = [hashOf(plan["from"]), hashOf(plan["to"])];
  if (from === undefined || to === undefined)
    throw fail("lacks `from.hash` or `to.hash`; save the plan again");
  return { file, from, to };
}

function hashOf(side: JsonMap[string] | undefined): string | undefined {
  const hash = isJsonObject(side) ? side["hash"] : undefined;
  return typeof hash === "string" && hash !== "" ? hash : undefined;
}

function exitOf({ status, body }: AdminAnswer, plan: Plan | undefined): number {
  return status === 200 || (status === 409 && isDone(body, plan)) ? EXIT.ok : EXIT.failed;
}

/** The running configuration is the one that the plan leads to: somebody, or a file watch, was faster. */
function isDone(body: JsonMap, plan: Plan | undefined): boolean {
  const found = body["found"];
  return body["side"] === "running" && isJsonObject(found) && found["hash"] === plan?.to;
}

/** Enough to tell configurations apart. */
const HASH_CHARACTERS = 12;
const short = (hash: string): string => printable(hash.slice(0, HASH_CHARACTERS));

function report(answer: AdminAnswer, plan: Plan | undefined, url: string, io: CliIo): number {
  const { status, body } = answer;
  if (status !== 200 && status !== 409 && status !== 422) {
    const error = typeof body["error"] === "string" ? `: ${printable(body["error"])}` : "";
    throw new AdminError(`${url} answers ${status}${error}`, true);
  }
  const fault = conforms(body, reloadSchemas[status]);
  if (fault !== undefined)
    throw new AdminError(
      `${url} answers as another version of Sluice would (${fault}); see --output json`,
      true,
    );
  if (status === 409) return reportConflict(answer, plan, io);
  reportOutcome(body as unknown as Reloaded, io); // Just checked by its schema.
  return exitOf(answer, plan);
}

function reportConflict(answer: AdminAnswer, plan: Plan | undefined, io: CliIo): number {
  const { side, found } = answer.body as unknown as ReloadConflictBody; // As above.
  if (isDone(answer.body, plan)) {
    io.stdout(`nothing to apply: the planned configuration ${short(found.hash)} is in use already\n`);
    return EXIT.ok;
  }
  const { red } = styleOf(io, "stderr");
  const expected = short((side === "running" ? plan?.from : plan?.to) ?? "");
  const what =
    side === "running"
      ? `the gateway runs ${short(found.hash)}, and ${plan?.file} was made for ${expected}`
      : `the gateway has loaded ${short(found.hash)}, and ${plan?.file} leads to ${expected}`;
  io.stderr(`${red("not applied")}: ${what}
Review what would change now: sluice plan --from running:URL --save ${plan?.file}\n`);
  return EXIT.failed;
}

function reportOutcome(outcome: Reloaded, io: CliIo): void {
  const { ok, changed, generation, config_hash, revision, needs_restart, errors, warnings } = outcome;
  const style = styleOf(io, "stdout");
  const frames = renderText(
    [
      ...errors.map((one) => diagnosticOf(one, "error")),
      ...warnings.map((one) => diagnosticOf(one, "warning")),
    ],
    hasColors(io, "stdout"),
    io.cwd,
  );
  if (!ok) {
    io.stdout(`${frames}\n${style.red("rejected")}: generation ${generation} stays in effect\n`);
    return;
  }
  const commit =
    revision === ""
      ? ""
      : `, revision ${printable(/^[0-9a-f]{40}/.test(revision) ? shortRevision(revision) : revision)}`;
  const noted = warnings.length === 0 ? "" : ` (${counted(warnings.length, "warning")})`;
  if (needs_restart.length > 0)
    io.stdout(
      `${style.yellow("restart needed")} for changes of ${needs_restart.map(printable).join(", ")}\n`,
    );
  const what = changed ? style.green("applied") : "nothing had changed";
  io.stdout(`${what}: generation ${generation}, configuration ${short(config_hash)}${commit}${noted}\n`);
}

function shortRevision(revision: string): string {
  return revision.replace(/^([0-9a-f]{12})[0-9a-f]*/, "$1");
}

function diagnosticOf(one: Reloaded["errors"][number], severity: Diagnostic["severity"]): Diagnostic {
  // Any code is printed as it is; one of another version may not be known here.
  return { ...one, code: one.code as Diagnostic["code"], severity, message: printable(one.message) };
}
