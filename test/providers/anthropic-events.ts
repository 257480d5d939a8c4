/** Events of an answer as Anthropic streams it, invented, for the tests of those who read them. */

export const start = (message: object = {}): object => ({
  type: "message_start",
  message: {
    id: "msg_1",
    model: "claude-tea-1",
    content: [],
    usage: { input_tokens: 7, output_tokens: 1 },
    ...message,
  },
});
export const blockStart = (index: number, content_block: object): object => ({
  type: "content_block_start",
  index,
  content_block,
});
export const delta = (index: number, about: object): object => ({
  type: "content_block_delta",
  index,
  delta: about,
});
export const say = (text: string, index = 0): object => delta(index, { type: "text_delta", text });
export const args = (index: number, partial_json: string): object =>
  delta(index, { type: "input_json_delta", partial_json });
export const blockStop = (index: number): object => ({ type: "content_block_stop", index });
export const end = (stop_reason: string, usage: object = { output_tokens: 3 }): object[] => [
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
  { type: "message_stop" },
];
export const boil = (id = "toolu_1", input: object = {}): object => ({
  type: "tool_use",
  id,
  name: "boil",
  input,
});
