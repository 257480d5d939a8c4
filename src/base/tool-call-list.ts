/** Puts the tool calls of a streamed answer together again, from the parts in which they come. */
import type { ToolCall, ToolCallDelta } from "../plugin/chat.ts";

/** The calls of a streamed answer, as far as they have come. */
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
