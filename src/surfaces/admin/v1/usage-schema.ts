/** The body of `GET /admin/v1/usage`: who is affected by a change. The gateway puts it together. */
import type { ValueOf } from "../../../plugin/schema-type.ts";
import { choice, count, decimal, flag, list, moment, object, text } from "./schema.ts";

const anything = (description: string) => ({ description }) as const;

export const usage = object("Calls and tokens of the last 30 days, spend of the month, and overrides.", {
  ok: { const: true, description: "Always true." },
  hash: text("Of the configuration in use, as `config_hash` elsewhere."),
  since: moment("From when calls and tokens are counted: 30 days ago, or the first call that is known."),
  month: text("`YYYY-MM`, of the spend."),
  objects: list(
    "Endpoints, aliases and tokens that had calls or spend.",
    object("One of them.", {
      kind: choice("`endpoint` stands for aliases and proxy endpoints too.", ["endpoint", "token"]),
      project: text("UUID of its project."),
      name: text("The slug or alias, or the token's id."),
      calls: count("Calls since `since`."),
      prompt_tokens: count("Tokens of their prompts."),
      completion_tokens: count("Tokens of their answers."),
      spend_usd: decimal("Settled and reserved in this month."),
    }),
  ),
  overrides: list(
    "Differences from git that were made at run time.",
    object("One of them.", {
      key: text("Its key in the state store."),
      kind: text("`token`, `revoked` or `endpoint`."),
      project: text("UUID of its project."),
      name: text("The token's id, or the endpoint's slug."),
      value: anything("What is in effect."),
      replaced: anything("What git said when it was made: it ends when git says otherwise."),
      actor: text("Who made it."),
      set_at: moment("When."),
    }),
  ),
  overrides_known: flag("False: the state store does not answer, so the list may be incomplete."),
});

export type Usage = ValueOf<typeof usage>;
