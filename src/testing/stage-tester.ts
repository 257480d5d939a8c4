/**
 * Checks that a stage keeps its contract: calls that it admits and refuses, and hooks that return what the chain expects.
 *
 *     testStage(acmeTeams, {
 *       admit: [{ headers: { "x-team": "search" } }],
 *       refuse: [{ call: {}, status: 422, code: "team_missing" }],
 *     });
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatResult } from "../plugin/chat.ts";
import { textChunk } from "../plugin/chat.ts";
import type { Hooks, Outcome, StagePlugin } from "../plugin/contract.ts";
import { isGatewayError } from "../plugin/errors.ts";
import type { CallEnd, Exchange } from "../plugin/exchange.ts";
import { isChunkAnswer, isChunkHook, isOutcome, isResponse } from "../plugin-guard/answers.ts";
import { checkPluginShape, type PluginCheck } from "./plugin-checks.ts";
import { type TestHost, testExchange, testHost } from "./test-host.ts";

/** A call that a stage refuses. @since 0.2.0 */
export interface StageRefusal {
  readonly call: Partial<Exchange>;
  readonly status: number;
  readonly code: string;
  /** Default: not checked. */
  readonly message?: string | RegExp;
}

/** What a stage is tested with. @since 0.2.0 */
export interface StageCases<C> {
  /** What `setup` gets; checked against the schema. Default `{}`. */
  readonly options?: C;
  /** Calls that the stage admits. Default: one call without fields. */
  readonly admit?: readonly Partial<Exchange>[];
  readonly refuse?: readonly StageRefusal[];
  /** Default: a new `testHost()`. */
  readonly host?: TestHost;
}

/** Registers all checks with Node's test runner. @since 0.2.0 */
export function testStage<C>(plugin: StagePlugin<C>, cases: StageCases<C> = {}): void {
  for (const { name, run } of stageChecks(plugin, cases)) test(name, run);
}

/** The checks themselves, for other runners. @since 0.2.0 */
export function stageChecks<C>(plugin: StagePlugin<C>, cases: StageCases<C> = {}): readonly PluginCheck[] {
  const { admit = [{}], refuse = [], host = testHost({ plugin: plugin.name }) } = cases;
  // A stage without required options takes none.
  const options = cases.options ?? ({} as C);
  const withHooks = (name: string, check: (hooks: Hooks) => Promise<void>): PluginCheck => ({
    name: `${plugin.name} ${name}`,
    run: async () => {
      const hooks = await plugin.setup(options, host);
      await check(hooks);
      await hooks.close?.();
    },
  });
  return [
    {
      name: `${plugin.name} is a stage`,
      run: () => checkPluginShape(plugin, { kind: "stage", options, host }),
    },
    ...admit.map((call, n) => withHooks(`admits call ${n + 1}`, (hooks) => checkAdmitted(hooks, call))),
    ...refuse.map((refusal, n) =>
      withHooks(`refuses call ${n + 1} with ${refusal.code}`, (hooks) => checkRefused(hooks, refusal)),
    ),
  ];
}

async function requested(hooks: Hooks, x: Exchange): Promise<Outcome> {
  const outcome: unknown = await hooks.request?.(x);
  assert.ok(
    isOutcome(outcome),
    "request returns undefined, a refusal made with reject or refuse, or an answer",
  );
  // Checked just above.
  return outcome as Outcome;
}

async function checkRefused(hooks: Hooks, { call, status, code, message }: StageRefusal): Promise<void> {
  const x = testExchange(call);
  const outcome = await requested(hooks, x);
  assert.ok(isGatewayError(outcome), "the call is not refused");
  assert.deepEqual({ status: outcome.status, code: outcome.code }, { status, code });
  if (message instanceof RegExp) assert.match(outcome.message, message);
  else if (message !== undefined) assert.equal(outcome.message, message);
  await hooks.finish?.(x, { ...END, outcome: "refused", status, error: outcome });
}

/** Runs all hooks of an answered call, whole and streamed, in the order of the gateway. */
async function checkAdmitted(hooks: Hooks, call: Partial<Exchange>): Promise<void> {
  for (const stream of [false, true]) {
    const x = testExchange({ ...call, stream });
    const outcome = await requested(hooks, x);
    assert.ok(!isGatewayError(outcome), `it is refused: ${isGatewayError(outcome) ? outcome.message : ""}`);
    const result = outcome ?? RESULT;
    if (stream) await checkChunks(hooks, x);
    else {
      const response: unknown = await (hooks.response?.(x, result) ?? result);
      assert.ok(isResponse(response, x, result), "response returns an answer or a refusal");
    }
    const refusal: unknown = await hooks.commit?.(x, result);
    assert.ok(refusal === undefined || isGatewayError(refusal), "commit returns nothing or a refusal");
    await hooks.finish?.(x, { ...END, result });
  }
}

async function checkChunks(hooks: Hooks, x: Exchange): Promise<void> {
  const hook = hooks.stream?.(x);
  assert.ok(isChunkHook(hook), "stream returns undefined or an object with a `chunk` function");
  for (const text of ["Good ", "morning."]) {
    const chunk = textChunk(text);
    const returned: unknown = await (hook?.chunk(chunk) ?? null);
    assert.ok(isChunkAnswer(returned, chunk), "chunk returns a chunk, null or a refusal");
  }
  const last: unknown = await (hook?.end?.() ?? null);
  assert.ok(isChunkAnswer(last, undefined), "end returns a chunk, null or a refusal");
}

const USAGE = { promptTokens: 1, completionTokens: 2, totalTokens: 3 };
const RESULT: ChatResult = {
  ...{ id: "answer-1", model: "model-1", content: "Good morning.", finishReason: "stop", usage: USAGE },
};

const END: CallEnd = {
  ...{
    outcome: "done",
    status: 200,
    error: undefined,
    result: undefined,
    provider: "mock",
    model: "model-1",
  },
  ...{ usage: USAGE, finishReason: "stop", costNanoUsd: 0, durationMs: 1, firstByteMs: 1 },
  stageMs: [0, 0, 0, 0, 0, 0, 1, 0, 0],
};
