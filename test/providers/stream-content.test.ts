/** From which event on a stream counts as begun, for each vendor: an opening does not count, a thought does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { anthropic } from "../../providers/anthropic.ts";
import { cohere } from "../../providers/cohere.ts";
import { google } from "../../providers/google.ts";
import { mistral } from "../../providers/mistral.ts";
import { ollama } from "../../providers/ollama.ts";
import { openai } from "../../providers/openai.ts";
import type { HttpClient, HttpHandler } from "../../src/net/http-client.ts";
import type { ProviderSink, WireFormat } from "../../src/provider-kit/index.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { wireProvider } from "../../src/upstream/wire.ts";
import { callAt, hostWith } from "./stand-ins.ts";

const clock = virtualClock();
const host = hostWith(clock);

interface Vendor {
  readonly format: unknown;
  readonly opening: unknown;
  readonly thought: unknown;
}

const chunk = (delta: object): object => ({ id: "1", model: "m", choices: [{ index: 0, delta }] });

const VENDORS: Readonly<Record<string, Vendor>> = {
  openai: {
    format: openai.setup({}, host),
    opening: chunk({ role: "assistant", content: "" }),
    thought: chunk({ reasoning_content: "Hm." }),
  },
  mistral: {
    format: mistral.setup({}, host),
    opening: chunk({ role: "assistant", content: "" }),
    thought: chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] }),
  },
  anthropic: {
    format: anthropic.setup({}, host),
    opening: { type: "message_start", message: { id: "1", model: "m", usage: {} } },
    thought: { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
  },
  google: {
    format: google.setup({}, host),
    opening: { responseId: "1", usageMetadata: { promptTokenCount: 1 } },
    thought: { candidates: [{ content: { parts: [{ text: "Hm.", thought: true }] } }] },
  },
  cohere: {
    format: cohere.setup({}, host),
    opening: { type: "message-start", id: "1" },
    thought: { type: "content-delta", index: 0, delta: { message: { content: { thinking: "Hm." } } } },
  },
  ollama: {
    format: ollama.setup({}, host),
    opening: { model: "m", message: { role: "assistant", content: "" }, done: false },
    thought: { model: "m", message: { role: "assistant", content: "", thinking: "Hm." }, done: false },
  },
};

const SINK: ProviderSink = { begin() {}, batch() {}, end() {}, fail() {} };

for (const [name, { format: made, opening, thought }] of Object.entries(VENDORS)) {
  test(`${name}: a thought ends the wait for content, an opening does not`, () => {
    // These six set up a wire format, synchronously.
    const format = made as WireFormat;
    let handler: HttpHandler | undefined;
    let begun = 0;
    const client: HttpClient = {
      send(_request, to) {
        handler = to;
        return { pause() {}, resume() {}, cancel() {}, contentBegun: () => void begun++ };
      },
      connections: () => [],
      close: async () => {},
    };
    const credential = { name: "main", apiKey: "sk-test-12345", baseUrl: "http://provider.invalid" };
    const timeouts = { timeoutMs: 1, firstByteTimeoutMs: 1, idleTimeoutMs: 1, connectionsMax: 1 };
    const provider = wireProvider(format, credential, client, timeouts);
    const nothing = { temperature: undefined, topP: undefined, maxOutputTokens: undefined };
    const request = {
      ...{ model: "m", messages: [{ role: "user", content: "Hi" }] as const, ...nothing },
      ...{ responseSchema: undefined, options: undefined },
    };
    provider.stream(request, callAt(clock), SINK);
    const send = (event: unknown): void => {
      const json = JSON.stringify(event);
      handler?.onChunk(Buffer.from(format.framing === "sse" ? `data: ${json}\n\n` : `${json}\n`));
    };
    handler?.onHead(200, { record: () => ({}) });
    send(opening);
    assert.equal(begun, 0, "after the opening");
    send(thought);
    assert.equal(begun, 1, "after a thought");
    send(thought);
    assert.equal(begun, 1, "told once");
  });
}
