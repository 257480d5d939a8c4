/** The tester of stages passes correct ones, and finds each kind of mistake. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { definePlugin, type Hooks, refuse } from "sluice/plugin";
import { stageChecks, testStage } from "sluice/testing";

const head = {
  ...({ name: "acme-team", stage: "validate", description: "Refuses calls without a team." } as const),
  ...{ schema: { type: "object", additionalProperties: false }, examples: [{}] },
};

const requireTeam = definePlugin<object>({
  ...head,
  setup: () => ({
    request: (x) => (x.headers["x-team"] === undefined ? refuse(422, "team_missing", "No team.") : undefined),
  }),
});

const withTeam = { headers: { "x-team": "search" } };

testStage(requireTeam, {
  admit: [withTeam],
  refuse: [{ call: {}, status: 422, code: "team_missing", message: "No team." }],
});

async function mistake(hooks: Hooks): Promise<string> {
  const plugin = definePlugin<object>({ ...head, setup: () => hooks });
  for (const { run } of stageChecks(plugin, { refuse: [{ call: {}, status: 422, code: "team_missing" }] })) {
    try {
      await run();
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
  return "none";
}

/** A value of a type that a hook must not return. */
function wrong(value?: unknown): never {
  // What plugins written in JavaScript may return.
  return value as never;
}

for (const [what, hooks, expected] of [
  ["a call that should be refused", {}, /the call is not refused/],
  ["a call that should be admitted", { request: () => refuse(400, "no", "No.") }, /it is refused: No\./],
  ["another code", { request: (x) => (x.stream ? wrong() : refuse(422, "other", "No.")) }, /refused|other/],
  ["an outcome that is none", { request: () => wrong(true) }, /request returns/],
  ["an answer without content", { response: () => wrong({}) }, /response returns/],
  ["a hook without chunk", { stream: () => wrong({}) }, /stream returns/],
  ["a chunk that is none", { stream: () => ({ chunk: () => wrong("text") }) }, /chunk returns/],
  ["a commit that returns a text", { commit: () => wrong("stored") }, /commit returns/],
] satisfies readonly (readonly [string, Hooks, RegExp])[]) {
  test(`the tester finds ${what}`, async () => {
    assert.match(await mistake(hooks), expected);
  });
}
