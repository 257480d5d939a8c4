/** What rules find: a draft as long as its place is not known and equal causes are not put together, then a change. */
import type { SourcePlace } from "../config/model.ts";
import type { JsonValue } from "../plugin/chat.ts";
import type { Finding } from "./finding.ts";
import type { ConfigObject, ObjectRef } from "./objects.ts";
import type { PreparedSide } from "./prepared-side.ts";
import type { Risk, RuleId } from "./rules.ts";

export interface Sides {
  readonly from: PreparedSide;
  readonly to: PreparedSide;
}

export interface Draft extends Finding {
  readonly action: "add" | "change" | "remove";
  /** undefined: `to` has added it. */
  readonly was: ConfigObject | undefined;
  /** undefined: `to` has it no longer. */
  readonly is: ConfigObject | undefined;
  readonly reaches: readonly ObjectRef[];
}

export interface PlanChange {
  readonly rule: RuleId;
  readonly risk: Risk;
  /** What happens to the object; a parent is not changed by its child. */
  readonly action: "add" | "change" | "remove";
  readonly object: ObjectRef;
  /** As the YAML has it: `projects[0].endpoints[2].guardrails`. */
  readonly path: string;
  /** On the side where the value stands: `to`, or `from` where it is gone. */
  readonly at: SourcePlace;
  readonly side: "from" | "to";
  /** In `to`: the value's place, or that of the list or map that held it. Comments that accept the change stand there. */
  readonly acceptedAt: SourcePlace;
  /** undefined: there is none. No secret is in it. */
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
  /** One sentence. */
  readonly message: string;
  /** Other objects that it is felt in, for a change that is a cause. */
  readonly reaches: readonly ObjectRef[];
}
