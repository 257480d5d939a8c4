/** How a surface answers. The pipeline decides what is said, a surface how it looks on its wire. */
import type { ChatResult, GatewayError, Usage } from "../plugin/index.ts";
import type { Call } from "./call.ts";

export interface Reply {
  /** A whole answer. `usage` is reported or estimated. */
  whole(x: Call, result: ChatResult, usage: Usage): void;
  /** A refusal or failure, when nothing has been sent yet. */
  refuse(x: Call, error: GatewayError): void;
  /** Where a streamed answer goes. Called once, when the first content has come. */
  events(x: Call): EventWriter;
}

/** A streamed answer whose text is out. */
export interface ClosingAnswer {
  readonly result: ChatResult;
  readonly usage: Usage;
  /** `{"id":…,"object":…,"created":…,"model":…,"choices":[` of events that the gateway writes itself. */
  readonly head: string;
  /** JSON text of the provider's own last events, where the call asked for them (`CallOptions.native`). */
  readonly finishEvent: string | undefined;
  readonly usageEvent: string | undefined;
}

/** The client's end of a streamed answer. The head goes out with the first write, so that until then an error can still have its own status. */
export interface EventWriter {
  /** True once the head has gone out. */
  readonly open: boolean;
  /** Text of whole events. False: hold back, `onDrain` will run once. */
  write(text: string): boolean;
  onDrain(run: () => void): void;
  /** The events that end an answer. Absent: the chat surface's (CONTRACT section 4). */
  closing?(answer: ClosingAnswer): string;
  /** A failure after the first byte: the error body as an event, then the end. */
  fail(error: GatewayError): void;
  end(): void;
}
