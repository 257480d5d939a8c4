/** `POST /admin/v1/reload`: loads the configuration now, or refuses when that is not the change that was reviewed. */
import { reject } from "../../../plugin/index.ts";
import type { ValueOf } from "../../../plugin/schema-type.ts";
import { changeFields, type Reload } from "../../shared-routes.ts";
import type { ApiAnswer, ApiRoute } from "./api-route.ts";
import { diagnostic, type ShownDiagnostic } from "./overview-schema.ts";
import { choice, count, flag, list, object, text } from "./schema.ts";

/** As `config_hash`. */
const HASH = { minLength: 1, maxLength: 128 };

const reviewed = {
  type: "object",
  description:
    "The change that was reviewed, as `from.hash` and `to.hash` of a saved plan. Both or none: without them, whatever is there is loaded.",
  properties: {
    from_hash: text("Hash of the configuration that must be running.", HASH),
    to_hash: text("Hash that the loaded configuration must have.", HASH),
  },
  dependentRequired: { from_hash: ["to_hash"], to_hash: ["from_hash"] },
  additionalProperties: false,
} as const;

const shared = {
  changed: flag("False: nothing had changed, or nothing was applied."),
  generation: count("Of the configuration in use."),
  config_hash: text("Of the configuration in use."),
  revision: text("Its git revision; empty if unknown."),
  needs_restart: list("Sections whose changes wait for a restart.", text("`server`, `admin` or `state`.")),
  errors: list("Why it was rejected.", diagnostic),
  warnings: list("Warnings.", diagnostic),
};

const summarizedChange = object("One change, as a plan judges it.", {
  rule: text("Such as `P101`."),
  risk: choice("How much it matters.", ["breaking", "weakens", "money", "behavior", "safe"]),
  object: object("What has changed.", {
    kind: text("Such as `endpoint`."),
    project: { type: ["string", "null"] as const, description: "The project's name as a slug; null: none." },
    name: text("Its name in the project."),
  }),
  path: text("Such as `projects[0].endpoints[2].prompt`."),
  file: text("Absolute path."),
  line: count("From 1."),
  column: count("From 1."),
  message: text("One sentence."),
  reaches: count("Objects that it is felt in beside its own."),
});

const changes = {
  counts: object("What has changed, as in a plan.", {
    add: count("Objects added."),
    change: count("Objects changed."),
    remove: count("Objects removed."),
    breaking: count("Changes of that risk."),
    weakens: count("Changes of that risk."),
    money: count("Changes of that risk."),
    behavior: count("Changes of that risk."),
    safe: count("Changes of that risk."),
  }),
  changes: list("Changes, those of the highest risk first, at most 100.", summarizedChange),
  changes_total: count("All of them."),
};

export const applied = object(
  "The configuration is in use.",
  { ok: { const: true, description: "Always true." }, ...shared, ...changes },
  ["counts", "changes", "changes_total"],
);

export const rejected = object("The configuration is invalid; the one before it stays in use.", {
  ok: { const: false, description: "Always false." },
  ...shared,
});

export const conflict = object("Another configuration than the reviewed one. Nothing was applied.", {
  ok: { const: false, description: "Always false." },
  error: text("Which one differs, and how."),
  side: choice(
    "`running`: the one in use differs from `from_hash`. `new`: the one that was loaded, from `to_hash`.",
    ["running", "new"],
  ),
  found: object("What was found in place of the reviewed one.", {
    hash: text("Its hash."),
    revision: text("Its git revision; empty if unknown."),
  }),
});

export const postReload: ApiRoute = {
  ...{ method: "POST", path: "/admin/v1/reload" },
  summary:
    "Loads the configuration; with `from_hash` and `to_hash`, only if that is the change between these two.",
  body: reviewed,
  responses: {
    200: { description: "Applied, or nothing had changed.", schema: applied },
    409: { description: "Not what was reviewed; nothing was applied.", schema: conflict },
    422: { description: "Invalid; nothing was applied.", schema: rejected },
  },
  async handler(ctx, { body }) {
    const { from_hash: fromHash, to_hash: toHash } = body as ValueOf<typeof reviewed>; // Checked by this schema.
    const isReviewed = fromHash !== undefined && toHash !== undefined;
    const outcome = await ctx.reload(isReviewed ? { fromHash, toHash } : undefined);
    return answerOf(outcome, isReviewed ? { running: fromHash, new: toHash } : { running: "", new: "" });
  },
};

export type Reloaded = ValueOf<typeof applied> | ValueOf<typeof rejected>;
export type ReloadConflictBody = ValueOf<typeof conflict>;

function answerOf(
  outcome: Reload,
  expected: Readonly<Record<ReloadConflictBody["side"], string>>,
): ApiAnswer {
  if (outcome.conflict !== undefined) {
    const { side, found } = outcome.conflict;
    const refusal = reject("config_not_reviewed", {
      ...{ side, hash: found.hash, expected: expected[side] },
    });
    const content: ReloadConflictBody = { ok: false, error: refusal.message, side, found };
    return { refusal, content };
  }
  const { ok, changed, generation, inUse, needsRestart, errors, warnings } = outcome;
  const content: Reloaded = {
    ...{ ok, changed, generation, config_hash: inUse.hash, revision: inUse.revision },
    ...{ needs_restart: needsRestart, errors: errors.map(shown), warnings: warnings.map(shown) },
    ...(outcome.changes === undefined ? {} : changeFields(outcome.changes)),
  };
  return { status: ok ? 200 : 422, content };
}

/** What operators see of a diagnostic. */
export function shown(one: Reload["errors"][number]): ShownDiagnostic {
  const { code, message, file, line, column, path, suggestion, help, frame } = one;
  return {
    ...{ code, message, file, line, column, path },
    ...(suggestion !== undefined && { suggestion }),
    ...(help !== undefined && { help }),
    ...(frame !== undefined && { frame }),
  };
}
