/** How a recent call is shown: the fields of its log line and its stage trace. */
import { nanoUsdText } from "../../../base/money.ts";
import { type CallRecord, stagesMs } from "../../../history/call-record.ts";
import { STAGES } from "../../../plugin/index.ts";
import type { ValueOf } from "../../../plugin/schema-type.ts";
import { choice, count, decimal, flag, list, moment, object, orNull, text } from "./schema.ts";

const named = (what: string) =>
  object(what, {
    id: text("What it is known by: a UUID, slug, alias or token id."),
    name: text("Its name."),
  });

const tokens = object("Tokens of the call.", {
  prompt: count("Of the prompt; `cached` and `cache_write` are parts of it."),
  completion: count("Of the answer; `reasoning` is a part of it."),
  total: count("Both."),
  cached: count("Read from the provider's cache."),
  cache_write: count("Written into the provider's cache."),
  reasoning: count("The model's reasoning."),
  estimated: flag("True: the provider reported none, and these are estimates."),
});

const attempt = object("One try of one target.", {
  provider: text("Provider key."),
  model: text("Model."),
  credential: text("Name of the credential."),
  outcome: text("`ok`, or the failure in short."),
  status: orNull(count("The provider's HTTP status; null: it did not answer.")),
  started_at: moment("When it began."),
  duration_ms: decimal("How long it took."),
  dropped: list("Hints of the client that this provider has no field for.", text("Name of a field.")),
});

const verdict = object("What a guardrail decided about one text.", {
  verdict: choice("`replace` masks.", ["pass", "block", "replace", "error"]),
  shadow: flag("Recorded, not acted on."),
  rule: text("The rule that applied."),
  role: text("Whose text it was."),
  spans: count("Places in the text."),
});

const guardrail = object("A guardrail that judged the call on one side.", {
  guardrail: text("Its name."),
  side: choice("The side.", ["input", "output"]),
  verdicts: list("Its verdicts; none: everything passed.", verdict),
  more: count("Verdicts that were not kept."),
});

const claim = object("A limit or budget that the call was counted against.", {
  kind: choice("`rate`: a window. `spend`: a sum of money.", ["rate", "spend"]),
  key: text("What it is counted under."),
  outcome: choice("What was decided.", ["admitted", "refused", "not decided"]),
  limit: orNull(count("Calls of the window.")),
  window_ms: orNull(count("Length of the window.")),
  remaining: orNull(count("Calls that the window would still have admitted.")),
  reserved_usd: orNull(text("Reserved, a decimal.")),
  cap_usd: orNull(text("The budget, a decimal; null: none.")),
});

export const shownCall = object("A call that has ended.", {
  id: text("`request_id`."),
  trace_id: text("The trace that it was part of."),
  started_at: moment("When it arrived."),
  surface: text("The surface that answered it."),
  method: text("HTTP method."),
  path: text("Path without the query."),
  project: named("The project."),
  endpoint: orNull(named("Endpoint, alias or proxy endpoint; null: not known.")),
  token: orNull(named("Token; null: none was accepted.")),
  client: text("Address of the client."),
  status: count("HTTP status of the answer; 499: the client was gone."),
  outcome: choice("How it ended.", ["done", "refused", "failed", "client_gone"]),
  stream: flag("Answered as a stream."),
  provider: text("Provider that answered; empty: none."),
  model: text("Its model."),
  finish_reason: orNull(text("Why the answer ended.")),
  session_id: orNull(text("Id of the conversation.")),
  duration_ms: decimal("From its arrival to its end."),
  first_byte_ms: orNull(decimal("From its arrival to the first byte of the answer.")),
  tokens: orNull(tokens),
  cost_usd: text("What it has cost, a decimal."),
  list_cost_usd: orNull(text("What it would have cost by list prices.")),
  config: object("The configuration that it ran on.", {
    generation: count("Its number."),
    hash: text("As `config_hash`."),
    revision: text("Git revision; empty: not known."),
  }),
  stages: list(
    "The stages that it has been through, in order.",
    object("One stage.", { stage: choice("Its name.", STAGES), ms: decimal("Time spent in it.") }),
  ),
  refused_at: orNull(text("Stage that refused it, or `request`: before the chain.")),
  refused_by: orNull(text("The plugin whose hook refused it; `gateway`: a limit or budget.")),
  error: orNull(
    object("The refusal or failure.", {
      code: text("Error code."),
      message: text("As the client read it."),
      scope: orNull(text("`minute` or `hour` of a rate limit.")),
      detail: { description: "More, by error code; null: nothing." },
    }),
  ),
  claims: list("Limits and budgets, in their order.", claim),
  guardrails: list("Guardrails, in the order in which they ran.", guardrail),
  attempts: list("Tries of targets, in order.", attempt),
  texts: orNull(
    object("Texts, as `calls.content` says, each cut at 8 KiB.", {
      messages: list("The latest 50.", object("One.", { role: text("Its role."), text: text("Its text.") })),
      answer: orNull(text("The answer as the client saw it.")),
    }),
  ),
});

export type ShownCall = ValueOf<typeof shownCall>;

const iso = (ms: number): string => new Date(ms).toISOString();
const rounded = (ms: number): number => Math.max(0, Math.round(ms * 1000) / 1000);
const usdOrNull = (nanoUsd: number | undefined): string | null =>
  nanoUsd === undefined ? null : nanoUsdText(nanoUsd);

export function callShown(record: CallRecord): ShownCall {
  const { usage, error, texts, config, endpoint, token, project } = record;
  return {
    ...{ id: record.requestId, trace_id: record.traceId, started_at: iso(record.startedAtMs) },
    ...{ surface: record.surface, method: record.method, path: record.path },
    project: { id: project.uuid, name: project.name },
    endpoint: endpoint.slug === "" ? null : { id: endpoint.slug, name: endpoint.name },
    token: token.id === "" ? null : { id: token.id, name: token.name },
    ...{ client: record.client, status: record.status, outcome: record.outcome, stream: record.stream },
    ...{ provider: record.provider, model: record.model, finish_reason: record.finishReason ?? null },
    ...{ session_id: record.sessionId ?? null, duration_ms: rounded(record.durationMs) },
    first_byte_ms: record.firstByteMs === undefined ? null : rounded(record.firstByteMs),
    tokens: usage === undefined ? null : tokensOf(usage),
    cost_usd: nanoUsdText(record.costNanoUsd),
    list_cost_usd: usdOrNull(record.listCostNanoUsd),
    config: { generation: config.generation, hash: config.hash, revision: config.revision },
    stages: stagesMs(record),
    ...refusalOf(record),
    error:
      error === undefined
        ? null
        : {
            code: error.code,
            message: error.message,
            scope: error.scope ?? null,
            detail: error.detail ?? null,
          },
    claims: record.claims.map(claimOf),
    guardrails: record.guardrails.map(guardrailOf),
    attempts: record.attempts.map(attemptOf),
    texts: texts === undefined ? null : { messages: [...texts.messages], answer: texts.answer },
  };
}

function refusalOf({ error, stop, stageMs }: CallRecord): Pick<ShownCall, "refused_at" | "refused_by"> {
  if (error === undefined) return { refused_at: null, refused_by: null };
  const last = stageMs.findLastIndex((ms) => ms >= 0);
  return { refused_at: STAGES[stop?.stage ?? last] ?? "request", refused_by: stop?.plugin ?? null };
}

function tokensOf(usage: NonNullable<CallRecord["usage"]>): NonNullable<ShownCall["tokens"]> {
  return {
    ...{ prompt: usage.promptTokens, completion: usage.completionTokens, total: usage.totalTokens },
    ...{ cached: usage.cachedPromptTokens ?? 0, cache_write: usage.cacheWriteTokens ?? 0 },
    ...{ reasoning: usage.reasoningTokens ?? 0, estimated: usage.estimated === true },
  };
}

function claimOf(one: CallRecord["claims"][number]): ShownCall["claims"][number] {
  const { kind, key, outcome, limit, windowMs, remaining, reservedNanoUsd, capNanoUsd } = one;
  return {
    ...{
      kind,
      key,
      outcome,
      limit: limit ?? null,
      window_ms: windowMs ?? null,
      remaining: remaining ?? null,
    },
    ...{ reserved_usd: usdOrNull(reservedNanoUsd), cap_usd: usdOrNull(capNanoUsd) },
  };
}

function guardrailOf({
  guardrail,
  side,
  verdicts,
  more,
}: CallRecord["guardrails"][number]): ShownCall["guardrails"][number] {
  const shown = verdicts.map(({ verdict, shadow, reason, role, places }) => {
    return { verdict, shadow, rule: reason, role, spans: places };
  });
  return { guardrail, side, verdicts: shown, more };
}

function attemptOf(one: CallRecord["attempts"][number]): ShownCall["attempts"][number] {
  const { provider, model, credential, outcome, status, startedAtMs, durationMs, dropped } = one;
  return {
    ...{ provider, model, credential, outcome, status: status ?? null },
    ...{ started_at: iso(startedAtMs), duration_ms: rounded(durationMs), dropped: [...(dropped ?? [])] },
  };
}
