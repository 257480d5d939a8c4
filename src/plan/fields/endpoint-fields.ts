/** What a change of each key of an endpoint or alias means, those that stages declare included. */
import {
  byNumber,
  byRank,
  bySet,
  type Compare,
  directionOf,
  joined,
  known,
} from "../directions/direction.ts";
import { bySchema } from "../directions/schema.ts";
import {
  always,
  type Directed,
  directed,
  type Field,
  type Fields,
  finding,
  flagged,
  type ObjectPair,
  remembered,
  where,
} from "./field.ts";
import { guardrailList } from "./guardrails.ts";
import { choice, failover, outputTokens, ownPrice, stageList } from "./lists.ts";
import { activeCall, movedFrom, rateLimit } from "./project-fields.ts";

const hasSessions = ({ before, after }: ObjectPair): boolean =>
  before.value["sessions_enabled"] !== false || after.value["sessions_enabled"] !== false;

const inSessions = (field: Field): Field => where(hasSessions, "the endpoint keeps no sessions", field);

const sessionSize = (whenStricter: string): Field =>
  inSessions(directed(byNumber, { stricter: "P107", weaker: "P401", whenStricter }));

/** Whether any budget stands that the calls of an endpoint are held to. */
function hasBudget({ before, after, from, to }: ObjectPair): boolean {
  const isCapped = ({ value, projectUuid }: ObjectPair["before"], { objects }: ObjectPair["from"]): boolean =>
    value["monthly_budget_usd"] !== null ||
    objects.some(
      ({ ref, projectUuid: of, value: token }) =>
        ref.kind === "token" && of === projectUuid && token["monthly_budget_usd_cap"] !== null,
    );
  return isCapped(before, from) || isCapped(after, to);
}

/** What aliases have as well. */
const shared: Fields = {
  moved_from: movedFrom,
  is_active: activeCall,
  provider: choice,
  model: choice,
  credential: choice,
  provider_template: choice,
  failover,
  temperature: always("P401"),
  top_p: always("P401"),
  max_output_tokens: outputTokens,
  usage_hard_limit_tokens: directed(byNumber, {
    ...{ stricter: "P107", weaker: "P202" },
    whenStricter: "longer requests get 422",
    whenWeaker: "longer requests are admitted",
  }),
  monthly_budget_usd: directed(byNumber, {
    ...{ stricter: "P107", weaker: "P301" },
    whenStricter: "calls beyond it get 402",
    whenWeaker: "more can be spent in a month",
  }),
  budget_estimate: where(
    hasBudget,
    "no budget stands",
    directed(byRank("worst_case", "expected"), {
      ...{ stricter: "P107", weaker: "P301" },
      whenStricter: "calls reserve the most that they can cost, and get 402 sooner",
      whenWeaker: "calls reserve less than they can cost",
    }),
  ),
  estimated_cost_per_1k_tokens_usd: ownPrice,
  rate_limit_per_minute: rateLimit,
  rate_limit_per_hour: rateLimit,
  guardrails: remembered(guardrailList),
};

const inputSchemaRules: Directed = {
  ...{ stricter: "P106", weaker: "P201" },
  whenStricter: "bodies that were accepted get 422",
  whenWeaker: "bodies that got 422 are accepted",
};

/** Arguments of a tool without a schema. */
const MESSAGE_TOOL = { type: "object", properties: { message: { type: "string" } }, required: ["message"] };

/** What MCP clients are told as well, where the endpoint is a tool on both sides. */
const inputSchema: Field = (change) => {
  const { before, after } = change.pair;
  const isTool = [before, after].every(({ value }) => value["expose_as_mcp_tool"] === true);
  const compare: Compare = (was, is) =>
    isTool ? joined(bySchema(was, is), bySchema(was ?? MESSAGE_TOOL, is ?? MESSAGE_TOOL)) : bySchema(was, is);
  return directed(compare, inputSchemaRules)(change);
};

/** Any other schema may refuse answers that passed. */
const outputSchema: Field = (change) => {
  const { stricter, weaker } = bySchema(change.before, change.after);
  if (!stricter && !weaker) return inputSchema(change);
  if (change.after === null)
    return [finding(change, "P201", "`output_schema` is removed: answers are no longer checked.")];
  const verb = change.before === null ? "added" : "changed";
  return [finding(change, "P106", `\`output_schema\` is ${verb}: answers that passed may get 502.`)];
};

const endpoint: Fields = {
  ...shared,
  name: always("P501"),
  uuid: always("P401", "clients and webhooks know the endpoint by it"),
  slug: always("P501"),
  description: always("P501"),
  expose_as_mcp_tool: flagged(false, {
    ...{ stricter: "P106", weaker: "P202" },
    whenStricter: "MCP clients no longer have it as a tool",
    whenWeaker: "MCP clients have it as a tool",
  }),
  stages: stageList,
  streaming_enabled: flagged(false, {
    ...{ stricter: "P107", weaker: "P502" },
    whenStricter: "`stream` in a request is ignored",
    whenWeaker: "clients may ask for streams",
  }),
  prompt: always("P401"),
  user_prompt_template: always("P401"),
  input_schema: inputSchema,
  output_schema: remembered(outputSchema),
  sessions_enabled: flagged(false, {
    ...{ stricter: "P107", weaker: "P502" },
    whenStricter: "requests with a `session_id` get 400",
    whenWeaker: "clients may begin sessions",
  }),
  session_ttl_seconds: sessionSize("idle sessions end sooner"),
  session_max_messages: sessionSize("sessions are full sooner"),
  session_max_tokens: sessionSize("sessions are full sooner"),
  session_overflow: inSessions(
    directed(byRank("reject", "trim"), {
      ...{ stricter: "P107", weaker: "P401" },
      whenStricter: "calls of a full session get 422",
      whenWeaker: "a full session loses its oldest turns",
    }),
  ),
};

/** null: all but those that cost beyond what is reserved, which a list may have. */
const byAllowedFields = known((before, after) => {
  if (Array.isArray(before) && Array.isArray(after)) return bySet()(before, after);
  const list = before ?? after;
  const isEmpty = Array.isArray(list) && list.length === 0;
  return isEmpty ? directionOf(before === null, after === null) : directionOf(true, true);
});

const alias: Fields = {
  ...shared,
  alias: always("P501"),
  allowed_fields: directed(byAllowedFields, {
    ...{ stricter: "P107", weaker: "P202" },
    whenStricter: "requests with other members get 400",
    whenWeaker: "requests may have more members",
  }),
};

export const ENDPOINT_FIELDS = { endpoint, alias };
