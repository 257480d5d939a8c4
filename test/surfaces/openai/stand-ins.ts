/**
 * Two upstreams of OpenAI's format, one that says all that the format has and one that is careless with it. Bodies only:
 * what must become of them is for others to say.
 */
import { jsonAnswer, type ScriptedAnswer, sseAnswer } from "../../../src/testing/fake-upstream.ts";

const USAGE = { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 };

const token = (text: string, logprob: number): object => ({
  token: text,
  logprob,
  bytes: [...Buffer.from(text)],
  top_logprobs: [{ token: text, logprob, bytes: null }],
});
const logprobs = { content: [token("Tea", -0.1), token(".", -0.4)], refusal: null };
const called = (index: number): object => ({
  id: `call_${index}`,
  type: "function",
  function: { name: "get_tide", arguments: '{"port":"Brest"}' },
});

const HEAD = {
  id: "chatcmpl-1",
  created: 1_790_000_000,
  model: "model-1-2026-01-01",
  service_tier: "default",
  system_fingerprint: "fp_1",
};
const WHOLE = { ...HEAD, object: "chat.completion", metadata: { team: "blue" }, moderation: null };
const said = (message: object): object => ({ role: "assistant", content: null, refusal: null, ...message });
const citation = { url: "https://tea.example/", title: "Tea", start_index: 0, end_index: 3 };
const audio = { id: "audio_1", data: "AAAA", expires_at: 1_790_000_000, transcript: "Tea." };

/** Whole answers with all that OpenAI's format has. */
export const RICH_ANSWERS: readonly object[] = [
  {
    ...WHOLE,
    choices: [
      { index: 0, message: said({ content: "Tea." }), logprobs, finish_reason: "stop" },
      { index: 1, message: said({ refusal: "No tea." }), logprobs: null, finish_reason: "stop" },
      {
        index: 2,
        message: said({ tool_calls: [called(1), called(2)] }),
        logprobs: null,
        finish_reason: "tool_calls",
      },
    ],
    usage: {
      ...USAGE,
      prompt_tokens_details: { cached_tokens: 2, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 1, accepted_prediction_tokens: 1 },
    },
  },
  {
    ...WHOLE,
    choices: [
      {
        index: 0,
        message: said({
          content: "Tea.",
          annotations: [{ type: "url_citation", url_citation: citation }],
          audio,
        }),
        logprobs: null,
        finish_reason: "length",
      },
    ],
    usage: USAGE,
  },
];

const event = (delta: object, rest: object = {}): object => ({
  ...HEAD,
  object: "chat.completion.chunk",
  obfuscation: "aXk2",
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...rest }],
  usage: null,
});
const usageEvent = { ...HEAD, object: "chat.completion.chunk", choices: [], usage: USAGE };
const part = (tool_call: object): object => event({ tool_calls: [tool_call] });

/** Streams with all that OpenAI's format has, without the `[DONE]` at their end. */
export const RICH_STREAMS: readonly (readonly object[])[] = [
  [
    event({ role: "assistant", content: "", refusal: null }),
    event({ content: "Tea" }, { logprobs: { content: [token("Tea", -0.1)], refusal: null } }),
    event({ content: "." }, { logprobs: { content: [token(".", -0.4)], refusal: null } }),
    event({}, { finish_reason: "stop" }),
    usageEvent,
  ],
  [
    event({ role: "assistant", content: null, refusal: "" }),
    event({ refusal: "No tea." }),
    event({}, { finish_reason: "stop" }),
    usageEvent,
  ],
  [
    event({ role: "assistant", content: null }),
    part({ index: 0, id: "call_1", type: "function", function: { name: "get_tide", arguments: "" } }),
    part({ index: 0, function: { arguments: '{"port":' } }),
    part({ index: 0, function: { arguments: '"Brest"}' } }),
    part({ index: 1, id: "call_2", type: "function", function: { name: "get_wind", arguments: "{}" } }),
    event({}, { finish_reason: "tool_calls" }),
    usageEvent,
  ],
];

/** What compatible servers leave out, write as null, or say in words of their own. */
const CARELESS_ANSWERS: readonly object[] = [
  { choices: [{ message: { content: "Tea." } }] },
  {
    object: "text_completion",
    created: 1.5,
    id: 7,
    model: null,
    service_tier: "on_demand",
    system_fingerprint: null,
    metadata: null,
    choices: [
      {
        index: "0",
        message: {
          role: "model",
          content: [{ type: "text", text: "Tea." }],
          tool_calls: null,
          function_call: null,
        },
        logprobs: { content: null },
        finish_reason: "eos",
      },
    ],
    usage: {
      prompt_tokens: 5,
      prompt_tokens_details: null,
      completion_tokens_details: { reasoning_tokens: null },
    },
  },
  {
    choices: [
      {
        message: {
          content: "",
          refusal: 0,
          tool_calls: [{ function: { name: "get_tide", arguments: { port: "Brest" } } }],
        },
        finish_reason: "stop",
      },
    ],
    usage: null,
  },
];

const CARELESS_STREAMS: readonly (readonly object[])[] = [
  [
    { id: "gen-1", choices: [{ delta: { role: "", content: null, tool_calls: null } }] },
    {
      choices: [{ delta: { content: "Tea" }, logprobs: {}, finish_reason: "" }],
      service_tier: "on_demand",
      usage: {},
    },
    {
      id: 7,
      model: null,
      choices: [{ index: "0", delta: { content: "." } }],
      system_fingerprint: null,
      obfuscation: null,
    },
    {
      choices: [{ delta: null, finish_reason: "eos" }],
      usage: { prompt_tokens: 5, completion_tokens_details: null },
    },
  ],
  [
    {
      choices: [
        { delta: { tool_calls: [{ id: "", function: { name: "get_tide", arguments: { port: "Brest" } } }] } },
      ],
    },
    { choices: [{ delta: { tool_calls: [{ function: { name: "get_wind" } }] }, finish_reason: "stop" }] },
  ],
  [
    { id: "gen-3", model: "m", choices: [{ delta: { content: [{ type: "text", text: "Tea." }] } }] },
    { choices: [{ finish_reason: "length" }], usage: null },
    { id: null, model: null, service_tier: "on_demand", choices: [], usage: { prompt_tokens: 5 } },
  ],
];

export interface StandIn {
  readonly name: string;
  readonly answers: readonly ScriptedAnswer[];
  readonly streams: readonly ScriptedAnswer[];
}

const streamed = (events: readonly object[]): ScriptedAnswer => sseAnswer([...events, "[DONE]"]);

export const STAND_INS: readonly StandIn[] = [
  {
    name: "rich",
    answers: RICH_ANSWERS.map((answer) => jsonAnswer(answer)),
    streams: RICH_STREAMS.map(streamed),
  },
  {
    name: "careless",
    answers: CARELESS_ANSWERS.map((answer) => jsonAnswer(answer)),
    streams: CARELESS_STREAMS.map(streamed),
  },
];
