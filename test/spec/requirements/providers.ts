/** Rules about asking providers: adapters, failures and their words, failover, disabled ones, the mock. */
import { later, rules } from "./rule.ts";

export const PROVIDERS = {
  ...rules("SPEC What the service does", {
    "provider.openai": "Provider `openai` answers whole and streamed.",
    "provider.finish-reasons": "A provider's finish reasons become stop, length, tool_calls or error.",
    "provider.usage": "Prompt, completion and total tokens of the provider reach the client.",
  }),
  ...later(2, "SPEC What the service does", {
    "provider.anthropic": "Provider `anthropic` answers whole and streamed.",
    "provider.google": "Provider `google` answers whole and streamed.",
    "provider.mistral": "Provider `mistral` answers whole and streamed.",
    "provider.groq": "Provider `groq` answers whole and streamed.",
    "provider.together": "Provider `together` answers whole and streamed.",
    "provider.ollama": "Provider `ollama` answers whole and streamed.",
    "provider.cohere": "Provider `cohere` answers whole and streamed.",
  }),
  ...rules("SPEC Resources", {
    "failover.order": "Failover entries are tried in their order, after the primary.",
    "failover.settings": "Temperature, top_p and max_tokens come from the endpoint for every entry.",
    "failover.model": "The answer's `model` is that of the entry that answered.",
  }),
  ...rules("CONTRACT 5", {
    "failure.status": "A provider's error gets 502 `Provider call failed: <Label> <status>: <short reason>`.",
    "failure.timeout": "A timeout gets 502 `Provider call failed: <Label> timed out after <n> ms`.",
    "failure.unreachable": "A refused connection gets 502 `Provider call failed: <Label> unreachable`.",
    "failure.scrubbed": "A key that the provider quotes in its error reaches neither client nor log.",
    "failure.detail": "With failover, `detail` lists every attempt.",
    "failover.on.5xx": "A 500, 503 or 529 moves on.",
    "failover.on.429": "A 429 moves on.",
    "failover.on.408": "A 408 moves on.",
    "failover.on.timeout": "A provider that sends no head in `first_byte_timeout_ms` moves on.",
    "failover.on.timeout.whole": "A provider that does not finish a whole answer in `timeout_ms` moves on.",
    "failover.on.network": "A refused or reset connection moves on.",
    "failover.on.not-json": "A 200 that is not the provider's JSON moves on.",
    "failover.on.stream-error": "An error event inside a 200 stream before its first content moves on.",
    "failover.not-on.4xx": "A 400, 401 or 404 is answered at once, without another attempt.",
    "failover.not-on.refusal":
      "A filtered or refused answer is 200 with finish_reason error, without failover.",
    "provider.raw-reason":
      "`meta.provider_finish_reason` has the provider's own word where the answer was filtered.",
    "provider.reason.unknown": "An unknown reason is stop where text came, else error.",
    "provider.reason.tool-calls": "A plain stop with tool calls is tool_calls.",
    "provider.stream.incomplete":
      "A stream that ends without its completion signal is a failure, not a stop.",
    "provider.head-held": "No byte is sent to the client before the provider's first content.",
    "provider.base-url.credential": "A credential's base_url is where its calls go.",
    "provider.base-url.gateway": "`providers.<key>.base_url` is where calls of credentials without one go.",
    "provider.key-sent": "The credential's key is sent to the provider, the client's token never.",
    "provider.disabled": "A disabled primary without another provider's entry gets 503 naming its key.",
    "provider.disabled.failover": "A disabled primary is skipped where an entry is on another provider.",
    "provider.disabled.entry": "A disabled failover entry is skipped.",
    "provider.credential.inactive": "An inactive credential counts as failed: the next entry is asked.",
    "provider.settings.refused": "A setting that a model refuses is left out of what is sent.",
    "provider.settings.warned": "`sluice validate` warns of a setting that a model refuses.",
    "provider.third-party":
      "A third party's provider is named by its key like a built-in, its options checked.",
    "provider.options": "`providers.<key>.options` hold for credentials that do not say otherwise.",
    "provider.mock.reply": "The mock answers its `reply` with the input filled in, without key or network.",
    "provider.mock.stream": "The mock streams its reply in `chunks` pieces.",
    "provider.mock.fail": "The mock fails as its `fail` sequence says.",
    "provider.mock.usage": "The mock reports the `usage` it is given.",
    "provider.mock.latency": "The mock waits `latency_ms` on the gateway's clock before it answers.",
    "provider.breaker.open": "After 5 failures in a row a target is skipped for 30 s.",
    "provider.breaker.trial": "After 30 s one trial call decides.",
    "provider.breaker.last": "The last target left is never skipped.",
    "provider.keep-alive": "Calls to one origin share connections.",
  }),
  ...later(2, "CONTRACT 5", {
    "failover.on.498": "Groq's 498 moves on.",
  }),
};
