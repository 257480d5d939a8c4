/** Requirements of server-side conversations. */
export const SESSIONS = {
  "session.created": "The first call to an endpoint with sessions returns `meta.session_id`, a UUID.",
  "session.idle": "A session that was idle longer than `session_ttl_seconds` expires.",
  "session.idle.renewed": "Every call on a session renews its idle time.",
  "session.unknown": "An unknown or expired id gets 404 `Session '<id>' not found or expired.`.",
  "session.bound.token": "A session is not found with another token of the project.",
  "session.bound.endpoint": "A session is not found on another endpoint.",
  "session.disabled":
    "`session_id` without sessions on the endpoint gets 400 `Sessions are not enabled for this endpoint.`.",
  "session.serial":
    "Concurrent calls on one session run one after the other, and each sees the turns before it.",
  "session.busy":
    "The tenth concurrent call on one session gets 409 `Session is busy.` with `Retry-After: 1`.",
  "session.waiting.gone": "A call whose client disconnected no longer waits for a session.",
  "session.stored.success-only": "A failed call stores no turn.",
  "session.stored.before-template": "The user's text is stored before the template is applied.",
  "session.stored.after-masks": "The user's text is stored after masking.",
  "session.stored.answer": "The answer is stored as the client received it.",
  "session.stored.streamed": "A streamed answer is stored like any other.",
  "session.max-messages.trim": "With `trim` the oldest turns are removed, a pair at a time.",
  "session.max-messages.reject": "With `reject` a full session gets 422 with its messages and the maximum.",
  "session.max-tokens.trim": "With `trim` the oldest turns are removed until `session_max_tokens` is met.",
  "session.max-tokens.reject":
    "With `reject` a session over its tokens gets 422 with the tokens and the maximum.",
  "session.header": "A stream of a session has `X-Session-Id`.",
  "session.delete": "`DELETE /api/{project}/sessions/{id}` ends a session with 204.",
  "state.file.crash": "With the file store nothing that was answered to a client is lost by `kill -9`.",
  "state.file.disk-full":
    "When the disk is full the gateway degrades with a log message or refuses calls, depending on `state.on_error`.",
  "session.lru": "At `state.max_sessions` the least recently used session is removed.",
  "session.shares": "A project that uses less than an equal share loses no session to another project.",
  "session.bytes": "Sessions are bounded in bytes as well, in total and per project.",
  "state.file.damage":
    "A damaged journal is read past the damage and the loss is logged; a possible loss of spend or revocations prevents the start.",
  "state.file.fence":
    "A process whose state folder was taken over by another one stops writing and refuses calls.",
  "state.file.write-ahead":
    "A reservation is in the journal before the provider is called, and a block before the client is answered.",
  "state.clock.windows": "Clock changes do not affect windows and timeouts.",
  "state.clock.months":
    "A month of budgets never repeats, and a clock set forward starts the next one only if it stays there.",
  "state.redis.shared": "With the Redis store limits and budgets apply across all replicas.",
  "state.redis.data-loss":
    "After a data loss in Redis `state.on_data_loss` decides: deny (503 until an operator confirms) or allow; revocations stay in effect either way.",
  "state.redis.session-turn":
    "A turn that an unreachable Redis cannot store is not answered as if it were stored: with `deny` the call gets 503.",
  "state.redis.lost": "While Redis is unreachable `state.on_unavailable` decides: deny (503) or allow.",
};
