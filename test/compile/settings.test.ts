/** Settings that models refuse: how rules are applied, and that each change is told once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { adjustmentText, fitSettings } from "../../src/plugin/settings.ts";
import type { SettingConstraint } from "../../src/provider-kit/index.ts";
import { assertAnswered } from "../spec/kit/client.ts";
import { endpointEntry } from "../spec/kit/config.ts";
import { startGateway } from "../spec/kit/gateway.ts";

const reason = "it is so";
const all = { temperature: 1.4, topP: 0.3, maxOutputTokens: 5_000 };

test("a setting without a range is left out, one with a range is brought to its nearer end", () => {
  const rules: readonly SettingConstraint[] = [
    { setting: "top_p", reason },
    { setting: "temperature", range: { min: 0, max: 1 }, reason },
    { setting: "max_output_tokens", range: { min: 8_000, max: 9_000 }, reason },
  ];
  const { settings, adjustments } = fitSettings(rules, "any", all);
  assert.deepEqual(settings, { temperature: 1, topP: undefined, maxOutputTokens: 8_000 });
  assert.deepEqual(adjustments, [
    { setting: "top_p", wanted: 0.3, sent: undefined, reason },
    { setting: "temperature", wanted: 1.4, sent: 1, reason },
    { setting: "max_output_tokens", wanted: 5_000, sent: 8_000, reason },
  ]);
});

test("what is not set, in range or asked of another model is left as it is, object and all", () => {
  const rules: readonly SettingConstraint[] = [
    { setting: "top_p", reason },
    { setting: "temperature", range: { min: 0, max: 2 }, reason },
    { models: /^other/, setting: "max_output_tokens", reason },
  ];
  const wanted = { ...all, topP: undefined };
  assert.equal(fitSettings(rules, "this", wanted).settings, wanted);
  assert.deepEqual(fitSettings(rules, "this", wanted).adjustments, []);
});

test("all rules count in their order, and a setting is told once with the reason of the last", () => {
  const rules: readonly SettingConstraint[] = [
    { setting: "temperature", range: { min: 0, max: 1.2 }, reason: "first" },
    { setting: "temperature", range: { min: 0, max: 1 }, reason: "second" },
    { setting: "temperature", range: { min: 0, max: 1.1 }, reason: "changes nothing" },
  ];
  assert.deepEqual(fitSettings(rules, "any", all).adjustments, [
    { setting: "temperature", wanted: 1.4, sent: 1, reason: "second" },
  ]);
  const dropped = fitSettings([{ setting: "temperature", reason: "gone" }, ...rules], "any", all);
  assert.deepEqual(dropped.adjustments, [
    { setting: "temperature", wanted: 1.4, sent: undefined, reason: "gone" },
  ]);
});

test("`beside` looks at what is wanted, whatever has become of it", () => {
  const rules: readonly SettingConstraint[] = [
    { setting: "temperature", reason },
    { setting: "top_p", conflictsWith: "temperature", reason },
  ];
  assert.deepEqual(fitSettings(rules, "any", all).settings, {
    ...all,
    temperature: undefined,
    topP: undefined,
  });
  const alone = { ...all, temperature: undefined };
  assert.equal(fitSettings(rules, "any", alone).settings, alone);
});

test("a pattern with the flag g or y matches every time", () => {
  for (const models of [/mini/g, /o4/y]) {
    for (let n = 0; n < 3; n += 1) {
      const { settings } = fitSettings([{ models, setting: "temperature", reason }], "o4-mini", all);
      assert.equal(settings.temperature, undefined);
    }
  }
});

test("an adjustment in words names the setting, what is sent and why", () => {
  const [clamped] = fitSettings(
    [{ setting: "temperature", range: { min: 0, max: 1 }, reason }],
    "m",
    all,
  ).adjustments;
  const [dropped] = fitSettings([{ setting: "top_p", reason }], "m", all).adjustments;
  assert.ok(clamped && dropped);
  assert.equal(adjustmentText(clamped, "model m"), "temperature 1.4 is sent as 1 to model m: it is so");
  assert.equal(adjustmentText(dropped, "model m"), "top_p 0.3 is not sent to model m: it is so");
});

type Fields = Readonly<Record<string, unknown>>;

/** A provider that says what it was asked with; how far its temperature goes is an option. */
const PICKY = `export default {
  api: 1, kind: "provider", name: "picky", label: "Picky", description: "Says what it is asked with.", examples: [{}],
  defaultBaseUrl: "picky://here", needsApiKey: false,
  schema: { type: "object", additionalProperties: false, properties: { max: { type: "number", default: 1 } } },
  constraints: ({ max }) => [
    { models: /^calm/, setting: "temperature", range: { min: 0, max }, reason: "calm models stay calm" },
    { models: /^stern/, setting: "temperature", reason: "stern models choose it themselves" },
  ],
  setup: () => ({
    complete: ({ temperature, maxOutputTokens, model }) => ({ id: "p-1", model,
      content: String(temperature) + " " + maxOutputTokens, finishReason: "stop",
      usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }),
    stream() { throw new Error("not streamed"); },
  }),
};`;

const picky = (fields: Fields): Fields =>
  endpointEntry({
    provider: "picky",
    credential: "picky",
    temperature: 1.5,
    max_output_tokens: 77,
    ...fields,
  });

test("each target is asked with what its model takes, and each change is logged once, over reloads too", async (t) => {
  const parts = {
    files: { "picky.js": PICKY },
    root: { plugins: ["./picky.js"] },
    credentials: [
      { name: "picky", provider: "picky" },
      { name: "wild", provider: "picky", options: { max: 1.2 } },
    ],
    endpoint: picky({ model: "calm-1" }),
    endpoints: [
      picky({ name: "Wild", model: "calm-1", credential: "wild" }),
      picky({ name: "Stern", model: "stern-1" }),
      picky({ name: "Free", model: "free-1" }),
      ...Array.from({ length: 20 }, (_, n) => picky({ name: `More ${n}`, model: "stern-1" })),
    ],
  };
  const g = await startGateway(t, parts);
  assert.equal(assertAnswered(await g.call({ message: "?" })), "1 77");
  assert.equal(assertAnswered(await g.call({ message: "?" }, { slug: "wild" })), "1.2 77");
  assert.equal(assertAnswered(await g.call({ message: "?" }, { slug: "stern" })), "undefined 77");
  assert.equal(assertAnswered(await g.call({ message: "?" }, { slug: "free" })), "1.5 77");
  g.rewrite({
    ...parts,
    endpoints: [...parts.endpoints, picky({ name: "Last", model: "stern-1" })],
  });
  await g.gateway.reload();
  assert.equal(assertAnswered(await g.call({ message: "?" }, { slug: "last" })), "undefined 77");
  const told = g.lines.filter((line) => line.includes('"setting":"temperature"'));
  assert.equal(told.length, 2, told.join("\n"));
  assert.match(told[0] ?? "", /temperature 1\.5 is sent as 1 to model calm-1: calm models stay calm/);
  assert.match(told[1] ?? "", /temperature 1\.5 is not sent to model stern-1: stern models/);
});
