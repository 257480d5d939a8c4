/**
 * Every message of the chat surface, byte for byte: the session that was recorded with curl is repeated in its order, and
 * every answer must be the recorded one.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startGateway } from "./kit/gateway.ts";
import { sessionOf, withPlaceholders } from "./kit/session-file.ts";
import { verifies } from "./verifies.ts";

const read = (name: string): string => readFileSync(fileURLToPath(new URL(name, import.meta.url)), "utf8");

const recorded = sessionOf(read("messages.session.txt"));
const played = new Set<string>();
const g = await startGateway({ after }, { config: read("messages.gateway.yaml"), server: {} });

/** A test that makes the calls of these titles, in their order. */
function plays(...titles: readonly string[]): () => Promise<void> {
  return async () => {
    for (const title of titles) {
      const call = recorded.find((one) => one.title === title);
      assert.ok(call, title);
      played.add(title);
      const { method, path, headers, body, printed } = call;
      const answer = await g.client.send(path, { method, headers, body });
      assert.equal(withPlaceholders(`${answer.head}\n\n${answer.text}`), printed, title);
    }
  };
}

verifies(
  ["auth.header.missing", "auth.token.prefix", "error.status.401"],
  "calls without a token or with an unknown prefix are answered as recorded",
  plays("No Authorization header", "A token with no known prefix"),
);

verifies(
  ["auth.token.unknown", "auth.token.inactive"],
  "unknown and deactivated tokens are answered as recorded",
  plays("An unknown token", "A deactivated token"),
);

verifies(
  ["auth.scope.chat", "auth.project.foreign", "auth.project.type"],
  "tokens that may not call the endpoint are answered as recorded",
  plays("A token without the scope", "A token of another project", "A project of another type"),
);

verifies(
  ["chat.endpoint.unknown", "chat.endpoint.inactive", "error.status.404"],
  "unknown and inactive endpoints are answered as recorded",
  plays("A slug that does not exist", "An inactive endpoint"),
);

verifies(
  ["rate.message", "token-cap.message", "error.status.422"],
  "calls over a rate limit or the token cap are answered as recorded",
  plays(
    "The only call allowed per minute",
    "The next call in the same minute",
    "More tokens than one request may have",
  ),
);

verifies(
  ["budget.endpoint.message", "budget.token.message", "error.status.402"],
  "calls over a budget are answered as recorded",
  plays(
    "A call within the endpoint's budget",
    "A call over the endpoint's budget",
    "A call within the token's cap",
    "A call over the token's cap",
  ),
);

verifies(
  ["guard.pii.block", "guard.injection.block", "guard.keyword.block"],
  "input that a guardrail blocks is answered as recorded",
  plays("Personal data in the input", "A prompt injection", "A blocked keyword"),
);

verifies(
  ["guard.length.block", "schema.input.message", "schema.output.json"],
  "content that is too long or does not match a schema is answered as recorded",
  plays(
    "Content that is too long",
    "A body that does not match the input schema",
    "An answer that does not match the output schema",
  ),
);

verifies(
  ["failure.status", "provider.disabled"],
  "failing and disabled providers are answered as recorded",
  plays("A provider that fails", "A disabled provider"),
);

test("every call of messages.session.txt is made, once", () => {
  const titles = recorded.map(({ title }) => title);
  assert.deepEqual([...played], titles);
});

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
