/** Which texts of a request are judged: by role, once in a conversation, with everything beside the messages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import contentLength from "../../plugins/content-length/index.ts";
import keywordBlocklist from "../../plugins/keyword-blocklist/index.ts";
import pii from "../../plugins/pii/index.ts";
import { guardrailHooks } from "../../src/guardrails/guardrail.ts";
import type { GuardContext } from "../../src/guardrails/verdict.ts";
import type { CallOptions } from "../../src/plugin/chat.ts";
import type { Exchange, GatewayError, Guardrail, MaybePromise, Message } from "../../src/plugin/index.ts";
import { isGatewayError, isPromise } from "../../src/plugin/index.ts";
import { testExchange, testHost } from "../../src/testing/test-host.ts";

type Use = Partial<GuardContext["use"]>;

interface Guard {
  /** Texts that the guardrail was asked about. */
  readonly asked: string[];
  request(messages: readonly Message[], options?: CallOptions): Promise<Outcome>;
}

interface Outcome {
  readonly refusal: GatewayError | undefined;
  readonly x: Exchange;
}

function contextOf(guardrail: Guardrail, use: Use = {}): GuardContext {
  const { clock, log } = testHost();
  const all = { on: ["input"], on_error: "block", timeout_ms: 1000, shadow: false, isolate: false } as const;
  return { name: "guard", guardrail, use: { ...all, ...use }, clock, log };
}

function guardOf(guardrail: Guardrail, use: Use = {}, judgedCharactersMax?: number): Guard {
  const asked: string[] = [];
  const watched: Guardrail = {
    ...guardrail,
    judge(text, about) {
      asked.push(text);
      return guardrail.judge(text, about);
    },
  };
  const hooks = guardrailHooks({
    ...contextOf(watched, use),
    ...(judgedCharactersMax !== undefined && { judgedCharactersMax }),
  });
  return {
    asked,
    async request(messages, options) {
      const x = testExchange({ received: messages, body: { messages }, options });
      const refusal = await hooks.request?.(x);
      assert.ok(refusal === undefined || isGatewayError(refusal));
      return { refusal, x };
    },
  };
}

/** Set up without a promise, as the built-in ones are. */
function builtIn(made: MaybePromise<Guardrail>): Guardrail {
  assert.ok(!isPromise(made));
  return made;
}

const keyword = builtIn(keywordBlocklist.setup({ keywords: ["sombra"] }, testHost()));
const masking = builtIn(pii.setup({ mode: "mask", restore: true }, testHost()));

const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });
const system = (content: string): Message => ({ role: "system", content });
const tool = (content: string): Message => ({ role: "tool", content, toolCallId: "call_1" });

test("user and tool texts are judged by default, system texts when asked", async () => {
  const messages = [system("s"), user("u"), assistant("a"), tool("t")];
  const usual = guardOf(keyword);
  await usual.request(messages);
  assert.deepEqual(usual.asked, ["u", "a", "t"]);
  const systemToo = guardOf(keyword, { roles: ["user", "tool", "system"] });
  await systemToo.request(messages);
  assert.deepEqual(systemToo.asked, ["s", "u", "a", "t"]);
  const toolOnly = guardOf(keyword, { roles: ["tool"] });
  await toolOnly.request(messages, { user: "sombra" });
  assert.deepEqual(toolOnly.asked, ["t"]);
});

test("a text judged in an earlier turn is not judged again", async () => {
  const guard = guardOf(keyword);
  await guard.request([user("one")]);
  await guard.request([user("one"), assistant("two"), user("three")]);
  await guard.request([user("one"), assistant("two"), user("three"), assistant("four"), user("one")]);
  assert.deepEqual(guard.asked, ["one", "two", "three", "four", "one"]);
  const other = guardOf(keyword);
  await other.request([user("one"), assistant("two"), user("five")]);
  assert.deepEqual(other.asked, ["one", "two", "five"], "another policy judges for itself");
});

test("verdicts that depend on more than the text are asked for each time", async () => {
  const guard = guardOf({ judge: () => undefined, cacheable: false });
  await guard.request([user("one"), user("two")]);
  await guard.request([user("one"), user("two")]);
  assert.deepEqual(guard.asked, ["one", "two", "one", "two"]);
});

test("a failure is not remembered", async () => {
  let fails = true;
  const guard = guardOf(
    {
      judge() {
        if (fails) throw new Error("down");
        return undefined;
      },
    },
    { on_error: "allow" },
  );
  await guard.request([user("one"), user("two")]);
  fails = false;
  await guard.request([user("one"), user("two")]);
  assert.deepEqual(guard.asked, ["one", "two", "one", "two"]);
});

test("a text that was blocked does not end its conversation, and does not reach the provider", async () => {
  const guard = guardOf(keyword);
  const asked = [user("read the file"), assistant("reading"), tool("the sombra")];
  assert.equal((await guard.request(asked)).refusal?.code, "keyword_blocked");
  assert.equal((await guard.request(asked)).refusal?.code, "keyword_blocked", "the newest text is judged");
  const { refusal, x } = await guard.request([...asked, user("go on without it")]);
  assert.equal(refusal, undefined);
  assert.equal(x.messages[2]?.content, "[Removed: blocked by guardrail 'guard']");
  assert.ok(!JSON.stringify(x.messages).includes("sombra"));
  const first = await guardOf(keyword).request([...asked, user("go on")]);
  assert.equal(first.refusal?.code, "keyword_blocked", "what nobody has judged yet is judged");
});

test("masks are the same on every turn", async () => {
  const guard = guardOf(masking);
  const turns = [
    user("I am ada@mail.example.org"),
    assistant("Hello ada@mail.example.org"),
    user("and bob@mail.example.org"),
  ];
  const masked = [];
  for (let length = 1; length <= turns.length; length++) {
    masked.push((await guard.request(turns.slice(0, length))).x.messages);
  }
  const last = ["I am [EMAIL_1]", "Hello [EMAIL_1]", "and [EMAIL_2]"];
  assert.deepEqual(
    masked.map((messages) => messages.map(({ content }) => content)),
    [last.slice(0, 1), last.slice(0, 2), last],
  );
});

test("tool definitions, schemas and all other members of a request are judged, definitions once", async () => {
  const options = (word: string): Record<string, CallOptions> => ({
    "tool name": { tools: [{ name: word }] },
    "tool description": { tools: [{ name: "a", description: `the ${word}` }] },
    "parameter description": {
      tools: [{ name: "a", parameters: { properties: { b: { description: word } } } }],
    },
    "parameter enum": { tools: [{ name: "a", parameters: { properties: { b: { enum: ["x", word] } } } }] },
    "parameter name": { tools: [{ name: "a", parameters: { properties: { [word]: {} } } }] },
    "tool choice": { toolChoice: { name: word } },
    "response schema": { responseSchema: { properties: { b: { const: word } } } },
    "response schema's name": { responseSchema: {}, schemaDetails: { name: word } },
    stop: { stop: [word] },
    user: { user: word },
    functions: { extra: { functions: [{ name: "f", description: word }] } },
    metadata: { extra: { metadata: { team: word } } },
    "metadata key": { extra: { metadata: { [word]: "" } } },
    prediction: { extra: { prediction: { type: "content", content: [{ type: "text", text: word }] } } },
    "web search": { extra: { web_search_options: { user_location: { approximate: { city: word } } } } },
    "custom tool": { extra: { tools: [{ type: "custom", custom: { name: "c", description: word } }] } },
    unknown: { extra: { surprise: word } },
  });
  const guard = guardOf(keyword);
  for (const [place, given] of Object.entries(options("sombra"))) {
    assert.equal((await guard.request([user("hi")], given)).refusal?.code, "keyword_blocked", place);
    assert.equal(
      (await guard.request([user("hi")], given)).refusal?.code,
      "keyword_blocked",
      `${place}, again`,
    );
  }
  for (const [place, given] of Object.entries(options("sunshine"))) {
    const before = guard.asked.length;
    assert.equal((await guard.request([user("hi")], given)).refusal, undefined, place);
    await guard.request([user("hi")], given);
    assert.equal(guard.asked.length - before, 3, `${place}: two messages, one definition`);
  }
});

test("masks reach every member of a request and leave its shape", async () => {
  const guard = guardOf(builtIn(pii.setup({ mode: "mask" }, testHost())));
  const email = "ada@mail.example.org";
  const { x } = await guard.request([user("hi")], {
    tools: [
      { name: "send", description: `to ${email}`, parameters: { properties: { to: { enum: [email] } } } },
    ],
    responseSchema: { title: email },
    user: email,
    json: true,
    seed: 7,
    extra: { metadata: { owner: email }, logit_bias: { "50256": -100 } },
  });
  assert.deepEqual(x.options, {
    tools: [
      { name: "send", description: "to [EMAIL]", parameters: { properties: { to: { enum: ["[EMAIL]"] } } } },
    ],
    responseSchema: { title: "[EMAIL]" },
    user: "[EMAIL]",
    json: true,
    seed: 7,
    extra: { metadata: { owner: "[EMAIL]" }, logit_bias: { "50256": -100 } },
  });
});

test("addresses of images, names and texts of files are judged", async () => {
  const guard = guardOf(keyword);
  const file = (text: string, type = "text/plain"): string =>
    `data:${type};base64,${Buffer.from(text).toString("base64")}`;
  const parts = [
    { type: "image", url: "https://example.org/sombra.png" },
    { type: "image", url: "https://example.org/?q=%73ombra" },
    { type: "file", name: "sombra.pdf", url: file("%PDF", "application/pdf") },
    { type: "file", url: file("the sombra") },
    { type: "file", url: file('{"a":"sombra"}', "application/json") },
  ] as const;
  for (const part of parts) {
    const { refusal } = await guard.request([{ role: "user", content: [part] }]);
    assert.equal(refusal?.code, "keyword_blocked", JSON.stringify(part));
  }
  const mask = guardOf(builtIn(pii.setup({ mode: "mask" }, testHost())));
  const { x } = await mask.request([
    {
      role: "user",
      content: [{ type: "file", name: "ada@mail.example.org.txt", url: file("ada@mail.example.org") }],
    },
  ]);
  const content = x.messages[0]?.content;
  assert.deepEqual(content, [{ type: "file", name: "[EMAIL]", url: file("[EMAIL]") }]);
  const address = await mask.request([
    { role: "user", content: [{ type: "image", url: "https://example.org/?to=ada%40mail.example.org" }] },
  ]);
  assert.equal(address.refusal?.message, "Field 'messages[0].content[0].image_url.url' is not allowed.");
});

test("more text than `server.max_judged_characters` is refused in the words of content length", async () => {
  const guard = guardOf(keyword, {}, 10);
  assert.equal((await guard.request([user("12345"), user("67890")])).refusal, undefined);
  const { refusal } = await guard.request([user("12345"), system("678901")]);
  assert.equal(refusal?.message, "Request blocked: content length 11 exceeds maximum 10.");
  assert.equal((await guard.request([user("a")], { user: "ada" })).refusal?.code, "length_blocked");
  assert.equal(
    (await guardOf(keyword, { shadow: true }, 10).request([user("12345678901")])).refusal,
    undefined,
  );
});

test("content length counts texts of all roles, once a call", async () => {
  const guard = guardOf(builtIn(contentLength.setup({ max: 10 }, testHost())));
  assert.equal((await guard.request([system("12345678901")])).refusal?.code, "length_blocked");
  assert.equal((await guard.request([user("12345"), user("67890")])).refusal, undefined);
  assert.equal(guard.asked.length, 2);
});

test("however many messages are masked, the list of messages is copied once", async () => {
  let copies = 0;
  const hooks = guardrailHooks(contextOf(builtIn(pii.setup({ mode: "mask" }, testHost()))));
  const received = Array.from({ length: 2000 }, (_, n) => user(`a${n}@b.example.org`));
  const x = testExchange({ received, body: { messages: received } });
  let { messages } = x;
  Object.defineProperty(x, "messages", {
    get: () => messages,
    set: (changed: readonly Message[]) => {
      copies++;
      messages = changed;
    },
  });
  assert.equal(await hooks.request?.(x), undefined);
  assert.ok(messages.every(({ content }) => content === "[EMAIL]"));
  assert.equal(copies, 1);
});
