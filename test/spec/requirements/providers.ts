/** Requirements of provider calls: formats, failures, failover, disabled providers, the mock. */
export const PROVIDERS = {
  "provider.built-in":
    "Providers `openai`, `anthropic`, `google`, `mistral`, `groq`, `together`, `ollama` and `cohere` receive requests in their own format and answer whole and streamed.",
  "provider.finish-reasons":
    "A provider's finish reasons become stop, length, tool_calls or error: a plain stop with tool calls is tool_calls; an unknown reason is stop when text came, otherwise error.",
  "provider.usage": "Prompt, completion and total tokens of the provider are in the answer.",
  "failover.order":
    "Failover entries are tried in their order, after the primary; the answer's `model` is that of the entry that answered.",
  "failover.settings": "Temperature, top_p and max_tokens come from the endpoint for every entry.",
  "failure.status": "A provider's error gets 502 `Provider call failed: <Label> <status>: <short reason>`.",
  "failure.timeout": "A timeout gets 502 `Provider call failed: <Label> timed out after <n> ms`.",
  "failure.unreachable": "A refused connection gets 502 `Provider call failed: <Label> unreachable`.",
  "failure.no-retry":
    "A 502 caused by the provider's 400, 401, 403, 404, 413 or 422 has `X-Should-Retry: false`.",
  "failure.retry-after":
    "A provider's `Retry-After` is passed to the client, and the circuit breaker skips that target for as long, at most 5 minutes.",
  "failure.code": "`X-Error-Code` has the code of an error, `X-Provider-Error-Code` the provider's own.",
  "failure.log":
    "The log has finish reason `error` for a failed answer and none when the client disconnected, and counts reasoning and cache writes.",
  "failure.cause":
    "Log and attempts contain why a provider is unreachable (refused, DNS, TLS, reset); the client's answer does not.",
  "failure.not-a-stream": "A body that is not a stream is described: HTML, JSON, compressed data, empty.",
  "failure.detail.credential": "`detail` names the credentials when provider and model are the same.",
  "failure.scrubbed": "A key that the provider quotes in its error reaches neither client nor log.",
  "failure.detail": "With failover, `detail` lists every attempt.",
  "failover.on.failure":
    "A status 408, 429 or 5xx, a refused or reset connection, and a 200 that is not the provider's JSON fail over to the next entry.",
  "failover.on.498": "Groq's 498 fails over; Cohere's, an invalid key, does not.",
  "failover.on.timeout":
    "A stream without content within `first_byte_timeout_ms` fails over, whatever else was received; reasoning is content.",
  "failover.on.timeout.whole":
    "A provider that does not finish a whole answer within `timeout_ms` fails over.",
  "failover.on.stream-error": "An error event inside a 200 stream before its first content fails over.",
  "failover.on.passing": "A 409, 425 or 499 fails over.",
  "failover.on.credential":
    "A 401 or 403 fails over to an entry with another credential, is logged as an error, and counts in the circuit breaker.",
  "failover.not-on.4xx":
    "A 400 or 404, and a 401 or 403 without another credential, is answered without another attempt.",
  "failover.not-on.refusal":
    "A filtered or refused answer is 200 with finish_reason error, without failover.",
  "provider.raw-reason":
    "`meta.provider_finish_reason` has the provider's own reason when the answer was filtered or failed, also the reason `error`.",
  "provider.stream.incomplete": "A stream that ends without its completion signal is a failure, not a stop.",
  "provider.head-held": "No byte is sent to the client before the provider's first content.",
  "provider.base-url.credential": "Calls of a credential go to its base_url.",
  "provider.base-url.gateway": "Calls of credentials without a base_url go to `providers.<key>.base_url`.",
  "provider.key-sent": "The credential's key is sent to the provider, the client's token never.",
  "provider.disabled": "A disabled primary without another provider's entry gets 503 naming its key.",
  "provider.disabled.failover": "A disabled primary is skipped when an entry is on another provider.",
  "provider.disabled.entry": "A disabled failover entry is skipped.",
  "provider.credential.inactive": "An inactive credential counts as failed: the next entry is tried.",
  "provider.settings.refused": "A setting that a model rejects is not sent.",
  "provider.settings.warned": "`sluice validate` warns of a setting that a model rejects.",
  "provider.third-party":
    "A third-party provider is configured by its key like a built-in one, and its options are checked.",
  "provider.options": "`providers.<key>.options` apply to credentials that do not set them.",
  "provider.mock.options":
    "The mock answers without key or network: its `reply` with the input filled in, in `chunks` pieces when streamed, failing as its `fail` sequence says, with the `usage` that it is given.",
  "provider.mock.latency": "The mock waits `latency_ms` on the gateway's clock before it answers.",
  "provider.breaker.open": "After 5 failures in a row a target is skipped for 30 s.",
  "provider.breaker.trial": "After 30 s one trial call decides.",
  "provider.breaker.last": "The last remaining target is never skipped.",
  "provider.connections":
    "Over `providers.<key>.max_connections` an attempt is refused: the next target is tried, otherwise 503; the circuit breaker does not count it, and metrics show it.",
  "provider.proxy":
    "With `providers.<key>.proxy` calls go through a CONNECT tunnel of that proxy, and nothing is sent when the proxy refuses.",
  "provider.proxy.environment":
    "Without it HTTPS_PROXY, HTTP_PROXY and NO_PROXY decide by URL; loopback is reached directly, and a value that is not a URL stops the start.",
  "provider.proxy.guard":
    "Requests behind the SSRF guard are resolved and checked before a proxy is asked, and the proxy is asked for the checked address; a name in `network.allow` it resolves itself.",
  "provider.certificates":
    "`client_cert` and `client_key` are shown to a provider that requires them; `ca` is trusted instead of the system's certificates.",
  "provider.http2":
    "With `http2: true` calls share HTTP/2 connections where the host offers it, and use HTTP/1.1 elsewhere; a broken stream costs its call alone.",
  "provider.keep-alive": "Calls to one origin share connections.",
};
