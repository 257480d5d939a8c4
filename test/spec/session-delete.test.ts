/** Ending a conversation before its time. */
import assert from "node:assert/strict";
import { assertAnswered, assertRefused, at } from "./kit/client.ts";
import { OTHER_PROJECT, PROJECT, TOKENS } from "./kit/config.ts";
import { startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const sessions = { sessions_enabled: true };

verifies("session.delete", "a session is ended only by its own token, once", async (t) => {
  const g = await startGateway(t, { endpoint: sessions });
  g.provider.says("Yes.");
  const first = await g.call({ message: "Remember me." });
  assertAnswered(first);
  const id = String(at(first.json, "meta", "session_id"));
  const end = (project: string, token: string, wanted = id) =>
    g.client.send(`/api/${project}/sessions/${wanted}`, { method: "DELETE", token });
  const missing = `Session '${id}' not found or expired.`;

  assertRefused(await end(PROJECT, TOKENS.tester), 404, missing);
  assertRefused(await end(OTHER_PROJECT, TOKENS.other), 404, missing);
  assertRefused(await end(PROJECT, TOKENS.admin), 403, /scope/);
  assertRefused(await end(PROJECT, TOKENS.unknown), 401, /.+/);
  assertAnswered(await g.call({ message: "Still there?", session_id: id }));

  const ended = await end(PROJECT, TOKENS.web);
  assert.deepEqual([ended.status, ended.text], [204, ""]);
  assertRefused(await end(PROJECT, TOKENS.web), 404, missing);
  assertRefused(await g.call({ message: "And now?", session_id: id }), 404, missing);
  assertRefused(await end(PROJECT, TOKENS.web, "no-uuid"), 404, "Session 'no-uuid' not found or expired.");
  const read = await g.client.send(`/api/${PROJECT}/sessions/${id}`, { method: "GET", token: TOKENS.web });
  assert.equal(read.status, 405);
  assert.equal(read.headers["allow"], "DELETE");
});
