/** Requirements of streamed answers. */
export const STREAM = {
  "stream.content":
    "The first chunk carries the role assistant, text is in `choices[0].delta.content`, and exactly one chunk carries `finish_reason`.",
  "stream.usage":
    "The last chunk before `[DONE]` has empty `choices`, `usage`, and `meta` as in the JSON answer.",
  "stream.refused-before":
    "A call refused before its first byte is answered in JSON with its status, stream or not.",
  "stream.failure-late":
    "A failure after the first byte is one `data:` line with the error body, then `[DONE]`.",
  "stream.failover-early": "Before the first byte a failed stream fails over to the next target.",
  "stream.no-failover-late": "After the first byte no other target is tried.",
  "stream.keep-alive": "After 15 s without an event a comment line is sent.",
  "stream.idle":
    "A stream without provider events for `stream_idle_timeout_ms` (the provider's or the server's) ends.",
  "stream.no-total-limit": "An active stream has no total limit unless one is set.",
  "stream.client-gone": "A client that disconnects cancels the provider call.",
  "stream.client-gone.settled": "Usage until the client disconnected is settled.",
  "stream.backpressure": "A client that does not read pauses the provider, in bounded memory.",
  "stream.output-schema":
    "An output schema is checked at the end of a stream, as a failure after the first byte.",
};
