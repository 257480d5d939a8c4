/** Requirements of plans: which rule a difference between two configurations falls under. */
export const RULES_OF_PLANS = {
  "plan.rules":
    "Every difference falls under a rule with a risk, and has object, path, place, both values and one sentence.",
  "plan.rules.keys": "Every key of the configuration has its rules, in both directions.",
  "plan.rules.one":
    "A single field that differs is told by one rule, or by one for each direction where they cannot be told apart.",
  "plan.rules.mirror":
    "The plan of the opposite change mirrors the plan: weaker becomes stricter, and dearer cheaper; equal sides have none.",
  "plan.rules.behavior":
    "Calls differ where a plan says more than safe, and where it says that something is switched on; nowhere else.",
  "plan.rules.unknown":
    "What nobody can compare counts as stricter and weaker: references, undeclared options, unknown keys.",
  "plan.rules.idle": "What is inactive, expired or not in use changes safely.",
  "plan.cause":
    "What several endpoints inherit from one line, or use by one template, is one change with the objects that it reaches.",
  "plan.place":
    "A change is shown on the side where its value is; one that is gone may be accepted at what held it.",
  "plan.hosts":
    "A host that the configuration did not name before is told; one in a reference is an unknown host.",
  "plan.money":
    "A model that costs more is told in USD per 1,000 calls before and after, at measured or assumed tokens.",
  "plan.schema":
    "A schema whose change is not called narrower accepts every document that it accepted before; annotations change nothing.",
  "plan.strength":
    "A guardrail that its declared strength says is stricter catches every text that it caught before.",
} as const;
