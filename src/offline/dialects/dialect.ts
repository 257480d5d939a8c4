/** What a dialect is: how one family of providers writes the answers that a case scripts. */
import type { FinishReason } from "../../plugin/chat.ts";
import type { ScriptedUsage } from "../script.ts";

/** A reply as dialects write it. */
export interface SpokenReply {
  readonly id: string;
  readonly model: string;
  readonly pieces: readonly string[];
  readonly toolCalls: readonly SpokenCall[];
  readonly finishReason: FinishReason;
  readonly usage: ScriptedUsage | undefined;
}

export interface SpokenCall {
  readonly id: string;
  readonly name: string;
  /** JSON text of an object. */
  readonly arguments: string;
}

/** How one family of providers writes its answers. */
export interface Dialect {
  readonly name: string;
  /** The body of a whole answer. */
  whole(reply: SpokenReply): string;
  /** The body of a streamed answer in network reads: what comes before the first text, a read for each, the end. */
  stream(reply: SpokenReply): StreamReads;
  /** The body of an answer with one vector for each text. undefined: the family has no embeddings. */
  vectors?(vectors: readonly (readonly number[])[], model: string): string;
  /** The body of an error that the script gives no body. */
  error(status: number): string;
}

export interface StreamReads {
  readonly before: string;
  readonly pieces: readonly string[];
  readonly after: string;
}
