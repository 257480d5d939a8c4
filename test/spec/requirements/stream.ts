/** Rules of streamed answers. */
export const STREAM = {
  "stream.content":
    "The first chunk carries the role assistant, text is in `choices[0].delta.content`, and exactly one chunk carries `finish_reason`.",
  "stream.usage":
    "The last chunk before `[DONE]` has empty `choices`, `usage`, and `meta` as in the JSON answer.",
  "stream.refused-before":
    "A call refused before its first byte is answered in JSON with its status, stream or not.",
  "stream.failure-late":
    "A failure after the first byte is one `data:` line with the error body, then `[DONE]`.",
  "stream.failover-early": "Before the first byte a failed stream moves on to the next target.",
  "stream.no-failover-late": "After the first byte no other target is asked.",
  "stream.keep-alive": "After 15 s without an event a comment line is sent.",
  "stream.idle":
    "Silence of the provider inside a stream ends it after `stream_idle_timeout_ms`, its own or the server's.",
  "stream.no-total-limit": "A stream that goes on has no total limit unless one is set.",
  "stream.client-gone": "A client that leaves cancels the provider's call.",
  "stream.client-gone.settled": "What was used until a client left is settled.",
  "stream.backpressure": "A client that does not read holds back the provider, in bounded memory.",
  "stream.output-schema": "An output schema is judged at the end, as a failure after the first byte.",
};
