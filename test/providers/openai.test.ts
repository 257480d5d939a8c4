/** What is OpenAI's own: its account headers, and what its models take. The format itself: openai-chat.test.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openai } from "../../providers/openai.ts";
import { bodyOf, CREDENTIAL, countingHost, formatOf } from "./chat-format.ts";
import { requestFor } from "./stand-ins.ts";

const format = await formatOf(openai.setup({}, countingHost()));
const tools = [{ name: "boil" }];

/** Settings that a model refuses, given the options of its credential. */
function refused(model: string, options: { readonly reasoning_effort?: "none" | "low" } = {}): string[] {
  assert.ok(typeof openai.constraints === "function");
  return openai
    .constraints(options)
    .filter(({ models }) => models?.test(model) ?? true)
    .map(({ setting }) => setting);
}

test("each family of OpenAI's models is asked in its own words", () => {
  const schema = { type: "object" };
  const words = (model: string): string => {
    const about = { maxOutputTokens: 100, responseSchema: schema, options: { stop: ["."] } };
    const { model: _, messages: __, ...rest } = bodyOf(format, { model, about });
    return Object.keys(rest).join(" ");
  };
  const families: Record<string, string[]> = {
    "max_tokens response_format stop": [
      "gpt-4o",
      "gpt-4.1-nano",
      "ft:gpt-4o-mini:acme::1",
      "gpt-4o-search-preview",
      "llama-3",
      "gpt-oss-20b",
    ],
    "max_tokens stop": ["gpt-4", "gpt-4-turbo", "ft:gpt-3.5-turbo:acme::2", "gpt-35-turbo"],
    "max_completion_tokens response_format stop": ["gpt-5-chat-latest", "o1"],
    "max_completion_tokens response_format": [
      "o3-mini",
      "o4-mini",
      "gpt-5",
      "ft:gpt-5-mini:acme::3",
      "gpt-5.6",
      "gpt-6-luna",
      "gpt-6.1-sol",
      "gpt-10",
    ],
  };
  for (const [expected, names] of Object.entries(families)) {
    for (const name of names) assert.equal(words(name), expected, name);
  }
});

test("reasoning models refuse sampling settings, search models a temperature, others nothing", () => {
  for (const model of ["o1", "o3-mini", "gpt-5", "ft:gpt-5-mini:a::1", "gpt-5.1", "gpt-6-luna", "gpt-10"]) {
    assert.deepEqual(refused(model), ["temperature", "top_p"], model);
  }
  assert.deepEqual(refused("gpt-4o-mini-search-preview"), ["temperature"]);
  for (const model of ["gpt-4o", "gpt-4.1", "gpt-35-turbo", "gpt-5-chat-latest", "gpt-oss-20b", "llama-3"]) {
    assert.deepEqual(refused(model), [], model);
  }
});

test("at an effort of none some reasoning models take sampling settings", () => {
  const none = { reasoning_effort: "none" } as const;
  for (const model of ["gpt-5.1", "gpt-5.6-mini", "gpt-6-sol", "gpt-6-luna", "gpt-6.1-terra"]) {
    assert.deepEqual(refused(model, none), [], model);
  }
  for (const model of ["o3", "gpt-5", "gpt-5-mini", "gpt-6-astra", "gpt-6.1-sol"]) {
    assert.deepEqual(refused(model, none), ["temperature", "top_p"], model);
  }
  assert.deepEqual(refused("gpt-5.1", { reasoning_effort: "low" }), ["temperature", "top_p"]);
});

test("an effort goes to the models that reason, and to no other", async () => {
  const low = await formatOf(openai.setup({ reasoning_effort: "low" }, countingHost()));
  const effort = (model: string): unknown => bodyOf(low, { model })["reasoning_effort"];
  assert.deepEqual(["gpt-5", "o3", "gpt-4o", "gpt-5-chat-latest"].map(effort), [
    "low",
    "low",
    undefined,
    undefined,
  ]);
  assert.equal("reasoning_effort" in bodyOf(format, { model: "gpt-5" }), false);
});

test("models that take tools only at an effort of none are told so", async () => {
  const low = await formatOf(openai.setup({ reasoning_effort: "low" }, countingHost()));
  const about = { options: { tools } };
  assert.equal(bodyOf(format, { model: "gpt-5.6-mini", about })["reasoning_effort"], "none");
  assert.equal(bodyOf(low, { model: "gpt-5.6", about })["reasoning_effort"], "none");
  assert.equal(bodyOf(low, { model: "gpt-5.4", about })["reasoning_effort"], "none");
  assert.equal(bodyOf(format, { model: "gpt-5.4", about })["reasoning_effort"], undefined);
  assert.equal(bodyOf(low, { model: "gpt-5", about })["reasoning_effort"], "low");
});

test("a stream asks OpenAI for usage and for no padding", () => {
  const { stream, stream_options } = bodyOf(format, { stream: true });
  assert.deepEqual([stream, stream_options], [true, { include_usage: true, include_obfuscation: false }]);
});

test("a call carries the account's headers", async () => {
  const accounts = await formatOf(openai.setup({ organization: "org-a", project: "proj-b" }, countingHost()));
  assert.deepEqual(accounts.encode(requestFor("gpt-4o"), CREDENTIAL, false).headers, {
    "content-type": "application/json",
    authorization: "Bearer sk-test",
    "openai-organization": "org-a",
    "openai-project": "proj-b",
  });
});
