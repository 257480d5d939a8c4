/** A body of very many small members is refused before it is parsed, on every surface that reads JSON. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hasTooManyMembers, MEMBERS_MAX } from "../../src/http/body.ts";
import { assertRefused } from "./kit/client.ts";
import { endpointEntry, PROJECT, TOKENS } from "./kit/config.ts";
import { startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

verifies("http.members", "a body with more than 100,000 members is refused", async (t) => {
  const g = await startGateway(t, { endpoint: endpointEntry({}) });
  const refusal = `JSON body has more than ${MEMBERS_MAX} members.`;
  const many = Array.from({ length: MEMBERS_MAX }, () => 0);
  assertRefused(await g.call({ message: "hi", many }), 400, refusal);
  const keys = Object.fromEntries(many.map((_, n) => [`k${n}`, n]));
  assertRefused(await g.call({ message: "hi", keys }), 400, refusal);
  const nested = `{"message":"hi","deep":${"[".repeat(MEMBERS_MAX)}${"]".repeat(MEMBERS_MAX)}}`;
  const answer = await g.client.send(`/api/${PROJECT}/ask`, { token: TOKENS.web, body: nested });
  assertRefused(answer, 400, refusal);
  g.provider.says("Fine.");
  const text = ",[{".repeat(MEMBERS_MAX);
  assert.equal((await g.call({ message: text })).status, 200, "what stands in a string is no member");
});

test("members are counted as a parser would find them", () => {
  const countOf = (value: unknown): number => {
    if (typeof value !== "object" || value === null) return 0;
    const children = Object.values(value);
    return Math.max(1, children.length) + children.reduce<number>((sum, child) => sum + countOf(child), 0);
  };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.boolean(), (value, spaced) => {
      const json = Buffer.from(JSON.stringify(value, undefined, spaced ? 2 : 0));
      const count = countOf(value);
      // A text that is shorter than the bound is not looked at, as it cannot reach it.
      assert.equal(hasTooManyMembers(json, count), false);
      if (count > 0) assert.equal(hasTooManyMembers(json, count - 1), true);
    }),
    { numRuns: 300 },
  );
});
