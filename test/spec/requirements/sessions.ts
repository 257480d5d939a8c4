/** Rules of server-side conversations. */
export const SESSIONS = {
  "session.created": "The first call to an endpoint with sessions returns `meta.session_id`, a UUID.",
  "session.idle": "A session that was idle longer than `session_ttl_seconds` is gone.",
  "session.idle.renewed": "Every call on a session renews its idle time.",
  "session.unknown": "An unknown or expired id gets 404 `Session '<id>' not found or expired.`.",
  "session.bound.token": "Another token of the project finds no session of this one.",
  "session.bound.endpoint": "Another endpoint finds no session of this one.",
  "session.disabled":
    "`session_id` where sessions are off gets 400 `Sessions are not enabled for this endpoint.`.",
  "session.serial":
    "Two calls on one session run one after the other, and the second sees the first one's turn.",
  "session.busy": "The tenth call at once on one session gets 409 `Session is busy.` with `Retry-After: 1`.",
  "session.waiting.gone": "A call whose client left waits for no session any more.",
  "session.stored.success-only": "A call that failed leaves no turn behind.",
  "session.stored.before-template": "What is stored is the user's text before the template.",
  "session.stored.after-masks": "What is stored is the user's text after masks.",
  "session.stored.answer": "What is stored of the answer is what the client saw.",
  "session.stored.streamed": "A streamed answer is stored like any other.",
  "session.max-messages.trim": "With `trim` the oldest turns go, a pair at a time.",
  "session.max-messages.reject":
    "With `reject` a full session gets 422 with its messages and the maximum in it.",
  "session.max-tokens.trim": "With `trim` the oldest turns go until `session_max_tokens` holds.",
  "session.max-tokens.reject":
    "With `reject` a session over its tokens gets 422 with the tokens and the maximum in it.",
  "session.header": "A stream of a session carries `X-Session-Id`.",
  "session.delete": "`DELETE /api/{project}/sessions/{id}` ends a session with 204.",
  "state.file.crash": "With the file store nothing that a client was answered for is lost by kill -9.",
  "state.file.disk-full": "A full disk degrades loudly or refuses, as `state.on_error` says.",
  "session.lru": "At `state.max_sessions` the least recently used session goes first.",
  "session.shares": "A project that uses less than an equal share loses no session to another's.",
  "session.bytes": "Sessions are bounded in bytes as well, in all and by share of each project.",
  "state.file.damage":
    "A damaged journal is read past the damage; what is lost is told, and money or a revocation that may be lost refuses the start.",
  "state.file.fence": "A process whose state folder another one has taken stops writing and refuses calls.",
  "state.file.write-ahead":
    "A reservation is in the journal before the provider is asked, and a guardrail's block before the client is told.",
  "state.clock.windows": "Windows and timeouts do not follow a clock that is set forward or back.",
  "state.clock.months":
    "A month of budgets never comes again, and a clock set forward begins the next only when it stays there.",
  "state.redis.shared": "With the Redis store limits and budgets hold over all replicas.",
  "state.redis.data-loss":
    "A Redis that has lost data gets `state.on_data_loss`: deny (503 until an operator confirms) or allow; revocations hold in either case.",
  "state.redis.session-turn":
    "A turn that a lost Redis cannot store is not answered as if it was: with `deny` the call gets 503.",
  "state.redis.lost": "A lost Redis gets `state.on_unavailable`: deny (503) or allow.",
};
