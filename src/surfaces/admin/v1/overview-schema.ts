/** The body of `GET /admin/v1/overview`: how the gateway is, on one page. The gateway puts it together. */
import type { ValueOf } from "../../../plugin/schema-type.ts";
import { count, decimal, flag, list, moment, object, text } from "./schema.ts";

export const diagnostic = object(
  "An error or warning of the configuration.",
  {
    code: text("Such as `E0203`; docs/errors.md explains it."),
    message: text("What was found and what is allowed."),
    file: text("Absolute path."),
    line: count("From 1."),
    column: count("From 1, in UTF-16 code units."),
    path: text("Such as `projects[0].endpoints[2].temperature`; empty for a whole file."),
    suggestion: text("What to write in place of the marked text."),
    help: text("What to do about it."),
    frame: object(
      "The line, with secrets hidden, and how much of it is meant.",
      {
        text: text("The line, or a part of it."),
        length: count("Characters that are marked, from `column`."),
        offset: count("Characters of the line before `text`."),
      },
      ["offset"],
    ),
  },
  ["suggestion", "help", "frame"],
);

const project = object("A project.", { uuid: text("Its UUID."), name: text("Its name.") });

const override = object("A difference from git that was made at run time.", {
  kind: text("`token`, `revoked` or `endpoint`."),
  project,
  id: text("The token's id, or the endpoint's slug."),
  name: text("The token's name where it is known, else as `id`."),
  change: text("What it does, such as `switched off`."),
  actor: text("Who made it."),
  set_at: moment("When."),
});

const budget = object("A monthly budget of which more than 80 % is used.", {
  of: text("`endpoint` (aliases included) or `token`."),
  project,
  name: text("The endpoint's slug, the alias or the token's name."),
  cap_usd: decimal("The budget."),
  settled_usd: decimal("What calls of this month have cost."),
  reserved_usd: decimal("What open calls may cost."),
  used_percent: decimal("Settled and reserved, of the budget. Above 100 for a budget that was lowered."),
});

const circuit = object("A target that is skipped because it keeps failing.", {
  provider: text("The provider's key."),
  model: text("The model."),
  credential: text("The credential's name."),
});

const totals = {
  since: moment("From when it is counted: the beginning of the day or month, or the start of this process."),
  calls: count("Calls of this process."),
  errors: count("Calls answered 5xx."),
  refusals: count("Calls answered 4xx."),
  tokens: count("Tokens of prompts and answers."),
  cost_usd: decimal("What these calls have cost."),
};

export const overview = object("How the gateway is.", {
  ok: { const: true, description: "Always true." },
  version: text("Of Sluice."),
  node: text("Of Node."),
  at: moment("Now."),
  started_at: moment("When this process began to serve."),
  uptime_seconds: count("Since then."),
  ready: flag("As `/readyz`."),
  draining: flag("True while the gateway is shutting down."),
  config: object("The configuration in use.", {
    generation: count("Number of the configuration since the start."),
    hash: text("As `config_hash` elsewhere."),
    revision: text("Git revision of its folder, with `-dirty` where files differ; empty if unknown."),
    needs_restart: list("Sections whose changes wait for a restart.", text("`server`, `admin` or `state`.")),
  }),
  last_reload: object("The latest attempt to load the configuration.", {
    at: moment("When."),
    ok: flag("False: it was rejected, and the configuration before it stays in use."),
    errors: list("Why it was rejected, at most 20.", diagnostic),
    warnings: list("Warnings, at most 20.", diagnostic),
    omitted: object("How many more there are.", { errors: count("Errors."), warnings: count("Warnings.") }),
  }),
  store: object("The state store.", {
    driver: text("`memory`, `file`, `redis` or a plugin's."),
    ok: flag("False: what the driver promises does not hold now."),
    detail: text("In words."),
  }),
  calls: object("Calls that have not ended.", {
    open: count("All of them."),
    streams: count("Those that are answered as a stream."),
    shedding: flag("True while new calls are refused because the process is overloaded."),
  }),
  event_loop_delay_ms: decimal("How late timers run: 99th percentile, the worst of the last minute."),
  resident_memory_bytes: count("Of this process."),
  traffic: object("Means over the window.", {
    window_seconds: count("Up to 60."),
    calls_per_second: decimal("All calls."),
    errors_per_second: decimal("Calls answered 5xx."),
    refusals_per_second: decimal("Calls answered 4xx."),
  }),
  today: object("Totals of this process since midnight UTC.", totals),
  month: object("Totals of this process in this calendar month (UTC), and what the store knows of all.", {
    ...totals,
    name: text("`YYYY-MM`."),
    settled_usd: decimal("What calls of this month have cost, of all processes that share the store."),
    reserved_usd: decimal("What open calls may cost, of all processes."),
  }),
  overrides: list("Differences from git that were made at run time, at most 100.", override),
  overrides_total: count("All of them."),
  overrides_known: flag("False: the state store does not answer, so the list may be incomplete."),
  budgets: list("Budgets of which more than 80 % is used, the fullest first, at most 100.", budget),
  budgets_total: count("All of them."),
  circuits: list("Targets that are skipped now.", circuit),
});

export type Overview = ValueOf<typeof overview>;
export type ShownDiagnostic = ValueOf<typeof diagnostic>;
