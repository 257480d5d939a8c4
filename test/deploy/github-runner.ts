/** Runs the steps of a GitHub composite action as GitHub's runner does, as far as the action uses it. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Shell, ShellOutcome } from "../guides/shell.ts";

interface Step {
  readonly name: string;
  readonly id?: string;
  readonly if?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly run: string;
}

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default: string }>>;
  readonly runs: { readonly steps: readonly Step[] };
}

export interface ActionRun {
  /** Outcome by the step's name, of those that were run. A failed step ends the run. */
  readonly steps: ReadonlyMap<string, ShellOutcome>;
  /** What the job's summary shows. */
  readonly summary: string;
  readonly outputs: Readonly<Record<string, string>>;
}

export interface ActionContext {
  readonly inputs?: Readonly<Record<string, string>>;
  /** `github.…` by the path behind it. */
  readonly github: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** `folder`: of `action.yml`. */
export async function runAction(shell: Shell, folder: string, context: ActionContext): Promise<ActionRun> {
  // A file of this repository, whose shape the test is about.
  const action = parse(readFileSync(join(folder, "action.yml"), "utf8")) as Action;
  const temp = join(shell.folder, "..", "runner");
  mkdirSync(temp, { recursive: true });
  const [summary, output] = [join(temp, "summary.md"), join(temp, "output")];
  writeFileSync(summary, "");
  const values: Record<string, string> = {};
  for (const [name, { default: value }] of Object.entries(action.inputs)) values[`inputs.${name}`] = value;
  for (const [name, value] of Object.entries(context.github)) values[`github.${name}`] = value;
  for (const [name, value] of Object.entries(values)) values[name] = filled(value, values);
  for (const [name, value] of Object.entries(context.inputs ?? {})) values[`inputs.${name}`] = value;
  const steps = new Map<string, ShellOutcome>();
  for (const step of action.runs.steps) {
    if (step.if !== undefined && filled(step.if, values) !== "true") continue;
    writeFileSync(output, "");
    const env = Object.entries(step.env ?? {}).map(([name, text]) => [name, filled(text, values)] as const);
    const outcome = await shell.run(step.run, {
      ...context.env,
      ...Object.fromEntries(env),
      ...{
        GITHUB_ACTION_PATH: folder,
        GITHUB_STEP_SUMMARY: summary,
        GITHUB_OUTPUT: output,
        RUNNER_TEMP: temp,
      },
    });
    steps.set(step.name, outcome);
    for (const [, name = "", value = ""] of readFileSync(output, "utf8").matchAll(/^([^=\n]+)=(.*)$/gm))
      values[`steps.${step.id ?? ""}.outputs.${name}`] = value;
    if (outcome.status !== 0) break;
  }
  appendFileSync(summary, "");
  return { steps, summary: existsSync(summary) ? readFileSync(summary, "utf8") : "", outputs: values };
}

/** The text with its `${{ … }}` evaluated: names, `==`, `||`, texts in quotes. */
function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{\{\s*(.*?)\s*\}\}/g, (_, expression: string) => evaluated(expression, values));
}

function evaluated(expression: string, values: Readonly<Record<string, string>>): string {
  const one = (term: string): string => (term.startsWith("'") ? term.slice(1, -1) : (values[term] ?? ""));
  const [left = "", right] = expression.split(/\s*==\s*/);
  if (right !== undefined) return String(one(left) === one(right));
  return (
    expression
      .split(/\s*\|\|\s*/)
      .map(one)
      .find((value) => value !== "") ?? ""
  );
}
