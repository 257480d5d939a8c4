/** The mock provider shows what a real one would be given: an edited prompt is visible, and embeddings are answered. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startWrapper } from "../surfaces/openai/kit.ts";
import { assertAnswered, at } from "./kit/client.ts";
import { startGateway } from "./kit/gateway.ts";

const plain = { name: "plain", provider: "mock" };
const onMock = { provider: "mock", model: "demo", credential: "plain" };

test("after a reload the mock's answer shows the edited prompt", async (t) => {
  const parts = (prompt: string) => ({ credentials: [plain], endpoint: { ...onMock, prompt } });
  const g = await startGateway(t, parts("Answer briefly."));
  assert.match(assertAnswered(await g.call({ message: "hi" })), /“Answer briefly\.”/);
  g.rewrite(parts("Answer in verse."));
  await g.gateway.reload();
  assert.match(assertAnswered(await g.call({ message: "hi" })), /“Answer in verse\.”/);
});

test("the mock answers embeddings: equal texts have equal vectors, others differ", async (t) => {
  const g = await startWrapper(t, onMock, { credentials: [plain] });
  const answer = await g.post("embeddings", {
    model: "default",
    input: ["one", "two", "one"],
    dimensions: 4,
  });
  assert.equal(answer.status, 200, answer.text);
  const [one, two, again] = [0, 1, 2].map((n) => at(answer.json, "data", n, "embedding"));
  assert.ok(Array.isArray(one) && one.length === 4);
  assert.deepEqual(one, again);
  assert.notDeepEqual(one, two);
});
