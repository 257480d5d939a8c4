/** Assembles the tool calls of a streamed answer from their deltas. */
import type { ToolCall, ToolCallDelta } from "../plugin/chat.ts";

/** The calls received so far. */
export class ToolCallList {
  readonly #calls: ToolCall[] = [];

  add(deltas: readonly ToolCallDelta[]): void {
    for (const { index, id, name, arguments: text } of deltas) {
      const known = this.#calls[index];
      this.#calls[index] = {
        id: known?.id ?? id ?? "",
        name: known?.name ?? name ?? "",
        arguments: (known?.arguments ?? "") + text,
      };
    }
  }

  get calls(): readonly ToolCall[] {
    return this.#calls;
  }
}
