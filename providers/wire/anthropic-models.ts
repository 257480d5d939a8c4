/** How Anthropic's models differ: tables of facts, looked up by name. As of November 2026. */
import type { SettingConstraint } from "sluice/provider";

/** The most that a model writes, by name; no name matches two. */
const OUTPUT_TOKENS_MAX: readonly (readonly [models: RegExp, tokens: number])[] = [
  [/claude-(?:2|instant|3-(?:opus|sonnet|haiku))/, 4096],
  [/claude-3-5-/, 8192],
  [/claude-opus-4(?!\d|-[5-9](?!\d))/, 32_000],
  [/claude-(?:3-7-sonnet|opus-4-5(?!\d)|(?:sonnet|haiku)-4(?!\d|-[6-9](?!\d)))/, 64_000],
  [/claude-[a-z]+-(?:4-[6-9]|[5-9]|[1-9]\d)(?!\d)/, 128_000],
];
/** For names that nothing is known of: what every model takes. */
export const OUTPUT_TOKENS_DEFAULT = 4096;

/** Opus 4.7 and later, and every model since the fifth generation. */
const NO_SAMPLING = /claude-(?:opus-4-[7-9]|[a-z]+-(?:[5-9]|[1-9]\d))(?!\d)/;
/** Either of temperature and top_p, not both. */
const ONE_OF_SAMPLING = /claude-(?:opus-4-[1-6]|(?:sonnet|haiku)-4-[56])(?!\d)/;
const NO_FORCED_TOOL = /claude-(?:(?:opus|sonnet)-5-5|fable-5-[12])(?!\d)/;
const TAKES_SCHEMA = /claude-[a-z]+-(?:4-[5-9]|[5-9]|[1-9]\d)(?!\d)/;

const TAKES_EFFORT =
  /claude-(?:opus-4-[5-9]|sonnet-4-[6-9]|(?:opus|sonnet|haiku|fable)-(?:[5-9]|[1-9]\d))(?!\d)/;

/** From this version of the API on, calls with sampling settings are refused whatever the model. */
const NO_SAMPLING_VERSION = "2026-10-21";

export interface AnthropicModel {
  /** Sent where nobody asks for less: the API wants a number. */
  readonly outputTokensMax: number;
  /** A tool can be required. */
  readonly forcedTool: boolean;
  /** Can be told a schema for its answer. */
  readonly schema: boolean;
  /** Can be told how much effort to make. */
  readonly effort: boolean;
}

export function anthropicModel(name: string): AnthropicModel {
  const [, outputTokensMax = OUTPUT_TOKENS_DEFAULT] =
    OUTPUT_TOKENS_MAX.find(([models]) => models.test(name)) ?? [];
  return {
    outputTokensMax,
    forcedTool: !NO_FORCED_TOOL.test(name),
    schema: TAKES_SCHEMA.test(name),
    effort: TAKES_EFFORT.test(name),
  };
}

/** What models refuse under a version of the API, written as a date. */
export function anthropicConstraints(version: string): readonly SettingConstraint[] {
  const range = { min: 0, max: 1 };
  const reason = "newer models choose it themselves";
  const old = "this version of the API takes no sampling settings";
  const sampling: readonly SettingConstraint[] =
    version >= NO_SAMPLING_VERSION
      ? [
          { setting: "temperature", reason: old },
          { setting: "top_p", reason: old },
        ]
      : [
          { setting: "temperature", range, reason: "Anthropic takes 0 to 1" },
          { models: NO_SAMPLING, setting: "temperature", reason },
          { models: NO_SAMPLING, setting: "top_p", reason },
          {
            models: ONE_OF_SAMPLING,
            setting: "top_p",
            conflictsWith: "temperature",
            reason: "the model takes it or temperature",
          },
        ];
  return [
    ...sampling,
    ...OUTPUT_TOKENS_MAX.map(
      ([models, max]): SettingConstraint => ({
        models,
        setting: "max_output_tokens",
        range: { min: 1, max },
        reason: "the model writes no more",
      }),
    ),
  ];
}
