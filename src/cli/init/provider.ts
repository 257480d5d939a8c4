/** The template of a provider: a vendor that speaks OpenAI's format. */
import type { Template } from "./template.ts";

export const provider: Template = {
  summary: "how one vendor's models are asked",
  plugin: ({
    name,
  }) => `/** A vendor that speaks OpenAI's format. It only translates: the gateway owns sockets and timeouts. */
import { defineProvider, openAiChat } from "sluice/provider";

export default defineProvider({
  name: "${name}",
  // For messages: "Provider call failed: <label> 500: …".
  label: "${name}",
  description: "Models of a vendor of your own.",
  defaultBaseUrl: "https://models.example.com/v1",
  needsApiKey: true,
  schema: {
    type: "object",
    additionalProperties: false,
    properties: { region: { type: "string", description: "Where the model is to run." } },
  },
  examples: [{ region: "eu" }],
  // Differences from OpenAI go into the second argument; see providers/README.md.
  setup: ({ region }, host) => openAiChat(host, { fields: { region } }),
});
`,
  test: ({ name, variable }) => `/** Encoded requests and decoded answers, without a network. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isFailure, type ProviderRequest, type WireFormat } from "sluice/provider";
import { testHost } from "sluice/testing";
import ${variable} from "./${name}.ts";

const request: ProviderRequest = {
  model: "large-1",
  messages: [{ role: "user", content: "Is the kettle on?" }],
  temperature: 0.5,
  topP: undefined,
  maxOutputTokens: 100,
  responseSchema: undefined,
  options: undefined,
};

async function wireFormat(options: { readonly region?: string }): Promise<WireFormat> {
  const made = await ${variable}.setup(options, testHost());
  assert.ok("encode" in made);
  return made;
}

test("a call goes out in the vendor's words", async () => {
  const format = await wireFormat({ region: "eu" });
  const credential = { name: "main", apiKey: "k", baseUrl: "https://models.example.com/v1" };
  const { url, headers, body } = format.encode(request, credential, false);
  assert.equal(url, "https://models.example.com/v1/chat/completions");
  assert.equal(headers["authorization"], "Bearer k");
  const sent: unknown = JSON.parse(body);
  assert.ok(typeof sent === "object" && sent !== null);
  assert.deepEqual({ ...sent, messages: undefined }, {
    model: "large-1",
    messages: undefined,
    temperature: 0.5,
    max_tokens: 100,
    region: "eu",
  });
});

test("an answer is read, and one that is not the vendor's is a failure", async () => {
  const format = await wireFormat({});
  const message = { role: "assistant", content: "It is." };
  const answer = format.decode(
    JSON.stringify({ id: "a1", model: "large-1", choices: [{ message, finish_reason: "stop" }] }),
  );
  assert.ok(!isFailure(answer));
  assert.deepEqual([answer.content, answer.finishReason], ["It is.", "stop"]);
  assert.ok(isFailure(format.decode("<html>")));
});
`,
  yaml: ({ name }) => `projects:
  - # …
    credentials:
      - { name: ${name}-main, provider: ${name}, api_key: "\${env:API_KEY}", options: { region: eu } }
    endpoints:
      - { name: Ask, provider: ${name}, model: large-1, credential: ${name}-main }
`,
};
