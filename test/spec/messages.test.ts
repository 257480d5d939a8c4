/**
 * Every message of the specification's table for gateways, byte for byte: the session that was recorded with curl is
 * played again, in its order, and every answer must be the recorded one.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { startGateway } from "./kit/gateway.ts";
import { sessionOf, withPlaceholders } from "./kit/session-file.ts";
import { verifies } from "./verifies.ts";

const read = (name: string): string => readFileSync(fileURLToPath(new URL(name, import.meta.url)), "utf8");

verifies(
  [
    "auth.header.missing",
    "auth.token.prefix",
    "auth.token.unknown",
    "auth.token.inactive",
    "auth.scope.chat.direct",
    "auth.project.foreign",
    "auth.project.type",
    "chat.endpoint.unknown",
    "chat.endpoint.inactive",
    "rate.message",
    "token-cap.message",
    "budget.endpoint.message",
    "budget.token.message",
    "guard.pii.block",
    "guard.injection.block",
    "guard.keyword.block",
    "guard.length.block",
    "schema.input.message",
    "schema.output.message",
    "failure.status",
    "provider.disabled",
  ],
  "every call of messages.session.txt is answered as it was recorded",
  async (t) => {
    const g = await startGateway(t, { config: read("messages.gateway.yaml"), server: {} });
    for (const { title, method, path, headers, body, printed } of sessionOf(read("messages.session.txt"))) {
      const answer = await g.client.send(path, { method, headers, body });
      assert.equal(withPlaceholders(`${answer.head}\n\n${answer.text}`), printed, title);
    }
  },
);

test("a session file is read into calls and what they printed", () => {
  const [first, second, ...more] = sessionOf(
    "For people.\n\n## One\n$ curl -i http://h:1/a/b?c=d -H 'X-A: b: c' -d '{\"e\":1}'\nHTTP/1.1 200 OK\n\nbody\n\n## Two\n$ curl -i http://h:1/\nHTTP\n",
  );
  assert.deepEqual(first, {
    title: "One",
    method: "POST",
    path: "/a/b?c=d",
    headers: { "x-a": "b: c" },
    body: '{"e":1}',
    printed: "HTTP/1.1 200 OK\n\nbody",
  });
  assert.equal(second?.method, "GET");
  assert.deepEqual(more, []);
});
