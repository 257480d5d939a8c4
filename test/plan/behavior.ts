/**
 * Whether calls really differ where a plan says so: the chain of both sides answers the same probes, and what clients and
 * providers see is compared. One group of keys at a time, so that no refusal hides another.
 */
import assert from "node:assert/strict";
import { chatRequest, openOffline, toolRequest } from "../../src/offline/offline.ts";
import type { OfflineResult } from "../../src/offline/result.ts";
import type { ScriptEntry } from "../../src/offline/script.ts";
import { judge } from "../../src/plan/plan.ts";
import type { WholeSide } from "../../src/plan/side.ts";
import { PROJECT_UUID } from "../config/kit.ts";
import { NOW_MS, OPTIONS, registry, sideInMemory } from "./kit.ts";
import { type Json, type JsonMap, Random } from "./random-config.ts";

/** Values of keys whose every difference some probe shows. */
const ENDPOINT_GROUPS: Readonly<Record<string, Readonly<Record<string, readonly Json[]>>>> = {
  limits: {
    rate_limit_per_minute: [null, 1, 2, 5],
    rate_limit_per_hour: [null, 1, 3],
    usage_hard_limit_tokens: [null, 3, 40],
  },
  money: { estimated_cost_per_1k_tokens_usd: [0.001, 0.002], monthly_budget_usd: [null, 5, 9] },
  settings: {
    temperature: [null, 0.2, 1],
    top_p: [null, 0.5],
    max_output_tokens: [64, 4096],
    prompt: ["", "Be brief.", "Be kind."],
    user_prompt_template: ["", "Q: {{input}}"],
    model: ["gpt-4.1-mini", "gpt-4.1", "gpt-4.1-nano"],
    failover: [[], [{ credential: "main", model: "gpt-4o" }], [{ credential: "main", model: "gpt-4o-mini" }]],
    streaming_enabled: [true, false],
    is_active: [true, false],
    expose_as_mcp_tool: [true, false],
    // Safe: no call shows them.
    description: ["", "Sorts tickets."],
    session_ttl_seconds: [3600, 60],
  },
  // Of the two sizes the smaller one hides the other.
  sessions: {
    sessions_enabled: [true, true, false],
    session_ttl_seconds: [60, 3600],
    session_max_messages: [4, 8],
    session_overflow: ["trim", "reject"],
  },
  "session tokens": {
    sessions_enabled: [true, true, false],
    session_max_tokens: [null, 10],
    session_overflow: ["trim", "reject"],
  },
  schemas: {
    input_schema: [
      ...[null, { type: "object", required: ["ticket"] }, { properties: { message: { maxLength: 5 } } }],
      ...[
        { properties: { message: { maxLength: 12 } } },
        { properties: { message: { maxLength: 12 } }, title: "A" },
      ],
    ],
    output_schema: [null, { type: "string", maxLength: 3 }, { type: "string", maxLength: 30 }],
  },
};

const GUARDRAILS: readonly (readonly [use: string, options: Readonly<Record<string, readonly Json[]>>])[] = [
  ["content_length", { max: [5, 12, 8000] }],
  [
    "keyword_blocklist",
    {
      keywords: [["red"], ["green"], ["red", "green"]],
      whole_word: [true, false],
      case_sensitive: [true, false],
    },
  ],
  ["pii", { mode: ["block", "mask"], kinds: [["email"], ["ssn"], ["email", "ssn"]] }],
  ["patterns", { mode: ["block", "mask"], patterns: [{ a: "x+" }, { a: "x+", b: "y+" }] }],
  ["secrets", { mode: ["block", "mask"] }],
];

const OWN_KEYS: Readonly<Record<string, readonly Json[]>> = {
  on: [["input"], ["output"], ["input", "output"]],
  shadow: [false, true],
};

const TOKEN_KEYS: Readonly<Record<string, readonly Json[]>> = {
  name: ["web", "site"],
  scopes: [["chat"], ["chat", "mcp"], ["mcp"]],
  is_active: [true, false],
  expires_at: [null, "2027-01-01T00:00:00Z", "2026-11-22T13:00:00Z", "2026-01-01T00:00:00Z"],
  monthly_budget_usd_cap: [null, 3, 7],
};

interface Parts {
  readonly endpoint: JsonMap;
  readonly token: JsonMap;
}

const TEXTS = [
  ...["hi", "good morning", "x".repeat(30), "a".repeat(100), "red", "RED", "redder", "green"],
  ...["GREEN", "greener", "a ".repeat(100), "a ".repeat(4100)],
  ...["mail red@example.org", "ssn 219-09-9999", "say yyy", `key sk-proj-${"aB3dE5fG7h".repeat(5)}`],
];

function configOf({ endpoint, token }: Parts): string {
  const own = {
    name: "Triage",
    provider: "openai",
    model: "gpt-4.1-mini",
    credential: "main",
    expose_as_mcp_tool: true,
    ...endpoint,
  };
  return JSON.stringify({
    version: 1,
    projects: [
      {
        ...{ uuid: PROJECT_UUID, name: "Support", type: "ai_gateway" },
        credentials: [{ name: "main", provider: "openai", api_key: "${env:KEY}" }],
        tokens: [{ id: 7, hash: `sha256:${"a".repeat(64)}`, scopes: ["chat", "mcp"], ...token }],
        endpoints: [{ estimated_cost_per_1k_tokens_usd: 0.001, session_max_messages: 8, ...own }],
      },
    ],
  });
}

/** Two configurations that differ in one key, drawn from a seed; undefined: the checks reject one. */
export async function drawnPair(random: Random): Promise<readonly [WholeSide, WholeSide] | undefined> {
  const [before, after] = random.chance(0.35)
    ? guardrailPair(random)
    : random.chance(0.2)
      ? tokenPair(random)
      : endpointPair(random);
  const [from, to] = [
    await sideInMemory(configOf(before), "before"),
    await sideInMemory(configOf(after), "after"),
  ];
  return from === undefined || to === undefined ? undefined : [from, to];
}

type Pools = Readonly<Record<string, readonly Json[]>>;

function draw(random: Random, pools: Pools): JsonMap {
  return Object.fromEntries(
    Object.entries(pools)
      .filter(() => random.chance(0.6))
      .map(([key, values]) => [key, random.of(values)]),
  );
}

function withOther(random: Random, own: JsonMap, pools: Pools): JsonMap {
  const key = random.of(Object.keys(pools));
  return { ...own, [key]: random.of(pools[key] ?? []) };
}

function endpointPair(random: Random): readonly [Parts, Parts] {
  const pools = random.of(Object.values(ENDPOINT_GROUPS));
  const own = draw(random, pools);
  return [
    { endpoint: own, token: {} },
    { endpoint: withOther(random, own, pools), token: {} },
  ];
}

function tokenPair(random: Random): readonly [Parts, Parts] {
  const own = draw(random, TOKEN_KEYS);
  return [
    { endpoint: {}, token: own },
    { endpoint: {}, token: withOther(random, own, TOKEN_KEYS) },
  ];
}

function guardrailPair(random: Random): readonly [Parts, Parts] {
  const [use, options] = random.of(GUARDRAILS);
  const required = Object.fromEntries(
    Object.entries(options).map(([key, values]): [string, Json] => [key, random.of(values)]),
  );
  const own = { use, ...required, ...draw(random, OWN_KEYS) };
  const other = random.chance(0.2) ? [] : [withOther(random, own, { ...options, ...OWN_KEYS })];
  const pair = [[own], other].map((guardrails) => ({ endpoint: { guardrails }, token: {} }));
  const [one, two] = random.chance(0.5) ? pair : pair.reverse();
  if (one === undefined || two === undefined) throw new Error("a pair has two");
  return [one, two];
}

/** What clients and providers see of a call, and what is kept of it: no ids, no times. */
function observed({
  status,
  answer,
  error,
  sent,
  guardrails,
  costNanoUsd,
  trace,
  json,
  headers,
}: OfflineResult): unknown {
  const session = /"session_id":"/.test(JSON.stringify(json ?? {}));
  return {
    ...{ status, answer, costNanoUsd, session, type: headers["content-type"] },
    error: error === undefined ? undefined : [error.code, error.message, error.detail],
    sent: sent.map(({ body }) => body),
    guardrails: guardrails.map(({ name, input, output }) => [name, input, output]),
    verdicts: trace?.guardrails.map(({ side, verdicts }) => [
      side,
      verdicts.map(({ verdict, shadow }) => [verdict, shadow]),
    ]),
    claims: trace?.claims.map((claim) => [
      claim.kind,
      claim.outcome,
      claim.limit,
      claim.windowMs,
      claim.capNanoUsd,
      claim.reservedNanoUsd,
    ]),
  };
}

/** Everything that the probes show of one side. */
export async function behaviorOf({ config, hash }: WholeSide): Promise<string> {
  const offline = await openOffline({ config, registry, hash });
  const token = offline.token(PROJECT_UUID, "7");
  const seen: unknown[] = [];
  const ask = (body: object) => chatRequest(PROJECT_UUID, "triage", { ...body }, token);
  const one = async (
    bodies: readonly object[],
    script: readonly ScriptEntry[] | undefined,
    waitMs = 0,
  ): Promise<void> => {
    const run = await offline.case({ startMs: NOW_MS });
    let session: unknown;
    for (const body of bodies) {
      const request = ask({ ...body, ...(session === undefined ? {} : { session_id: session }) });
      const result = await run.call(request, script === undefined ? {} : { script });
      session = "session" in body ? undefined : sessionOf(result.json);
      seen.push(observed(result));
      run.advance(waitMs);
    }
  };
  for (const message of TEXTS) await one([{ message }], [{ reply: "ok" }]);
  for (const reply of TEXTS) await one([{ message: "hi" }], [{ reply }]);
  await one([{ message: "hi", stream: true }], [{ chunks: ["good ", "morning"] }]);
  await one([{ message: "hi" }], [{ status: 503 }, { reply: "ok" }]);
  const hello = { message: "hello there, good people" };
  const turns = Array.from({ length: 6 }, () => hello);
  for (const waitMs of [0, 100_000, 90_000_000]) await one(turns, undefined, waitMs);
  await later(offline, seen, ask(hello));
  const run = await offline.case({ startMs: NOW_MS });
  const tool = await run.call(toolRequest(PROJECT_UUID, "triage", { message: "hi" }, token));
  seen.push(observed(tool), "error" in Object(tool.json));
  await offline.close();
  return JSON.stringify(seen);
}

/** Tokens expire. */
async function later(
  offline: Awaited<ReturnType<typeof openOffline>>,
  seen: unknown[],
  request: ReturnType<typeof chatRequest>,
): Promise<void> {
  for (const waitMs of [2 * 3_600_000, 90 * 86_400_000]) {
    const run = await offline.case({ startMs: NOW_MS });
    run.advance(waitMs);
    seen.push(observed(await run.call(request)));
  }
}

function sessionOf(json: unknown): unknown {
  const { session_id: own, meta } = Object(json);
  return own ?? Object(meta)["session_id"];
}

/** Of one key that differs: calls differ exactly when the plan says more than safe, or that something is switched on. */
export async function checkBehavior(seed: number): Promise<void> {
  const pair = await drawnPair(new Random(seed));
  if (pair === undefined) return;
  const [from, to] = pair;
  const changes = judge(from, to, OPTIONS);
  const says = changes.some(({ risk, rule }) => risk !== "safe" || rule === "P502");
  const differs = (await behaviorOf(from)) !== (await behaviorOf(to));
  const told = changes.map(({ rule, message }) => `${rule} ${message}`).join("\n");
  const message = `calls ${differs ? "differ" : "do not differ"}, and the plan says: ${told || "nothing"}`;
  assert.equal(differs, says, message);
}
