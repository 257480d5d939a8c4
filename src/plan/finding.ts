/** What rules say of a change, before its place is known. */
import type { ConfigPath } from "../config/shown.ts";
import type { JsonValue } from "../plugin/chat.ts";
import type { Risk, RuleId } from "./rules.ts";

/** What a rule says of a change. */
export interface Finding {
  readonly rule: RuleId;
  /** Where it is not the rule's. */
  readonly risk?: Risk;
  readonly message: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
  /** From the object to the value, on each side. */
  readonly fromPath: ConfigPath;
  readonly toPath: ConfigPath;
}
