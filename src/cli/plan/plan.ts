/** `sluice plan`: what a deploy of one configuration in place of another would change. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { PluginLoader } from "../../config/load.ts";
import { acceptancesIn, isRule } from "../../plan/acceptance.ts";
import { type AcceptedRule, type DocumentChange, type Plan, planOf } from "../../plan/document.ts";
import { SideError } from "../../plan/git/git.ts";
import { judge } from "../../plan/plan.ts";
import { RISKS, type Risk, RULES } from "../../plan/rules.ts";
import { type CliIo, type Command, EXIT, expectedValue, usageError } from "../command.ts";
import { HELP } from "./help.ts";
import { FORMATS, type Format, renderInvalid, renderPlan } from "./output.ts";
import type { LoadedSide } from "./side-outcome.ts";
import { loadSides, parseSide, type SideName, workingTree } from "./sides.ts";
import { usageOf } from "./usage.ts";

export interface PlanDeps {
  readonly loadPlugins: PluginLoader;
  nowMs(): number;
}

interface PlanOptions {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly overlays: readonly string[];
  readonly root: string | undefined;
  readonly format: Format;
  readonly all: boolean;
  readonly exitCode: boolean;
  readonly failOn: ReadonlySet<Risk>;
  readonly accept: readonly AcceptedRule[];
  readonly usage: string | undefined;
  readonly save: string | undefined;
}

export function planCommand(deps: PlanDeps): Command {
  return {
    name: "plan",
    summary: "show what a deploy would change, and what that means",
    help: HELP,
    async run(args, io) {
      const options = optionsOf(args);
      if (typeof options === "string") return usageError(io, "plan", options);
      try {
        return await plan(options, io, deps);
      } catch (error) {
        if (!(error instanceof SideError)) throw error;
        const help = error.help === undefined ? "" : `\n${error.help}`;
        if (error.isUsage) return usageError(io, "plan", error.message + help);
        io.stderr(`sluice plan: ${error.message}${help}\n`);
        return EXIT.failed;
      }
    },
  };
}

/** A text: what is wrong with the arguments. */
function optionsOf(args: readonly string[]): PlanOptions | string {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      from: { type: "string" },
      to: { type: "string" },
      overlay: { type: "string", multiple: true, default: [] },
      root: { type: "string" },
      output: { type: "string", default: "text" },
      all: { type: "boolean", default: false },
      "exit-code": { type: "boolean", default: false },
      "fail-on": { type: "string", multiple: true, default: [] },
      accept: { type: "string", multiple: true, default: [] },
      usage: { type: "string" },
      save: { type: "string" },
    },
  });
  const [first] = positionals;
  if (first !== undefined) return `unexpected argument '${first}'; name the sides with --from and --to`;
  const format = FORMATS.find((known) => known === values.output);
  if (format === undefined) return expectedValue("--output", values.output, FORMATS);
  const failOn = new Set<Risk>();
  for (const name of listed(values["fail-on"])) {
    const risk = RISKS.find((known) => known === name);
    if (risk === undefined) return expectedValue("--fail-on", name, RISKS);
    failOn.add(risk);
  }
  const accept: AcceptedRule[] = [];
  for (const entry of listed(values.accept)) {
    const [rule = "", object] = splitAt(entry);
    if (!isRule(rule)) return expectedValue("--accept", rule, Object.keys(RULES));
    accept.push({ rule, object });
  }
  const { from, to, overlay: overlays, root, all, usage, save } = values;
  return {
    from,
    to,
    overlays,
    root,
    format,
    all,
    exitCode: values["exit-code"],
    failOn,
    accept,
    usage,
    save,
  };
}

const listed = (values: readonly string[]): readonly string[] =>
  values
    .flatMap((value) => value.split(","))
    .map((value) => value.trim())
    .filter((value) => value !== "");

function splitAt(entry: string): readonly [string, string | undefined] {
  const at = entry.indexOf("@");
  return at < 0 ? [entry, undefined] : [entry.slice(0, at), entry.slice(at + 1)];
}

/** Defaults: from git's HEAD to the working tree. */
function sideNames({ from, to }: PlanOptions, io: CliIo): { readonly from: SideName; readonly to: SideName } {
  const fromName = parseSide(from ?? "git:HEAD");
  return { from: fromName, to: to === undefined ? workingTree(fromName, io) : parseSide(to) };
}

async function plan(options: PlanOptions, io: CliIo, deps: PlanDeps): Promise<number> {
  const { overlays, root, format } = options;
  const sides = await loadSides({ ...sideNames(options, io), overlays, root }, io, deps.loadPlugins);
  if ("findings" in sides.from || "findings" in sides.to) {
    io.stdout(renderInvalid(format, sides, io));
    return EXIT.failed;
  }
  const { from, to } = sides;
  const made = await planBetween({ from, to }, options, io, deps);
  const fails = ({ risk, accepted }: DocumentChange): boolean =>
    accepted === null && options.failOn.has(risk);
  if (options.save !== undefined)
    writeFileSync(resolve(io.cwd, options.save), `${JSON.stringify(made.plan.document, null, 2)}\n`);
  io.stdout(renderPlan(format, made.plan, { ...made, all: options.all, fails, io }));
  // What reads JSON from standard output still tells a person.
  if (format === "json")
    for (const { at, message } of made.warnings) io.stderr(`warning: ${at.file}:${at.line}: ${message}\n`);
  const { changes } = made.plan.document;
  if (changes.some(fails)) return EXIT.failed;
  return options.exitCode && changes.length > 0 ? EXIT.changes : EXIT.ok;
}

interface MadePlan {
  readonly plan: Plan;
  readonly warnings: ReturnType<typeof acceptancesIn>["warnings"];
  readonly skippedPlugins: number;
  readonly asksUsage: boolean;
}

async function planBetween(
  { from, to }: { readonly from: LoadedSide; readonly to: LoadedSide },
  { usage: url, accept }: PlanOptions,
  io: CliIo,
  { loadPlugins, nowMs }: PlanDeps,
): Promise<MadePlan> {
  const builtIn = await loadPlugins([]);
  const usage =
    url === undefined ? undefined : await usageOf(url, { from: from.side, to: to.side }, io, loadPlugins);
  const now = nowMs();
  const changes = judge(from.side, to.side, {
    findPlugin: (kind, name) => builtIn.find(kind, name),
    nowMs: now,
    ...(usage === undefined ? {} : { tokensOf: usage.tokensOf }),
  });
  const acceptances = acceptancesIn(to.texts, now);
  const plan = planOf({
    ...{ from: from.side, to: to.side, changes, acceptances, accept, cwd: io.cwd },
    ...usage?.reportOf(changes),
  });
  return {
    plan,
    warnings: acceptances.warnings,
    skippedPlugins: Math.max(from.skippedPlugins, to.skippedPlugins),
    asksUsage: usage !== undefined,
  };
}
