/** Estimates of usage against what vendors counted, over the recorded answers where `../shared/recordings` is there. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { estimateAddedTokens, estimateMediaTokens } from "../../src/provider-kit/index.ts";
import { measure, RECORDINGS, summary, table } from "./estimated-usage.ts";

/** The recordings are not part of the repository: without them there is nothing to play. */
const recordedTest = existsSync(RECORDINGS) ? test : () => undefined;

const DEVIATION_MAX = 0.3;

recordedTest("estimates are within 30 % of what vendors counted, in sum and in the median", async (t) => {
  const measured = await measure({ after: (close) => t.after(close) });
  const shown = table(measured);
  t.diagnostic(shown);
  const prompts = summary(measured.map(({ prompt }) => prompt));
  const completions = summary(measured.map(({ completion }) => completion));
  for (const [{ recordings, sum, median }, least] of [
    [prompts, 20],
    [completions, 28],
  ] as const) {
    assert.ok(recordings >= least, `only ${recordings} recordings are compared`);
    assert.ok(Math.abs(sum) <= DEVIATION_MAX, `sum off by ${sum}\n${shown}`);
    assert.ok(Math.abs(median) <= DEVIATION_MAX, `median off by ${median}\n${shown}`);
  }
});

test("a vendor's chat template counts with its prompts, and an image of unknown size as half of the largest", () => {
  assert.equal(estimateAddedTokens(undefined, "mistral"), 17);
  assert.equal(estimateAddedTokens({ tools: [{ name: "tide" }] }, "anthropic"), 7 + 340);
  // By its rule alone: four characters are a token.
  assert.equal(estimateAddedTokens(undefined, "openai"), 0);
  const image = { type: "image", url: "https://pictures.example/1.png", detail: undefined } as const;
  const low = { ...image, detail: "low" } as const;
  const tokens = (part: typeof image | typeof low, measure: "most" | "usual"): number =>
    estimateMediaTokens([{ role: "user", content: [part] }], "openai", measure);
  // 85, and 170 for each of eight tiles.
  assert.deepEqual([tokens(image, "most"), tokens(image, "usual")], [1_445, 723]);
  assert.deepEqual([tokens(low, "most"), tokens(low, "usual")], [85, 85]);
});

test("deviations are summed by tokens, and the median is that of the recordings", () => {
  const pairs = [
    { told: 10, estimated: 5 },
    { told: 100, estimated: 110 },
    undefined,
    { told: 4, estimated: 4 },
  ];
  const { recordings, sum, median } = summary(pairs);
  assert.deepEqual([recordings, sum.toFixed(3), median], [3, "0.044", 0]);
  assert.equal(summary([...pairs, { told: 10, estimated: 12 }]).median.toFixed(3), "0.050");
});
