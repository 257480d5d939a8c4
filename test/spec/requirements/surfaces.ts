/** Requirements of the wrapper and proxy surfaces. */
export const SURFACES = {
  "wrapper.alias.unknown": "An unknown alias is a 404.",
  "wrapper.project.type": "The wrapper's path on a gateway project is a 400.",
  "wrapper.output-limit":
    "An alias without `max_output_tokens` passes the client's limit, bounded by the model's known maximum.",
  "wrapper.hints":
    "A hint that a provider does not support is left out; the log and `X-Sluice-Warnings` name it.",
  "wrapper.hints.mapped":
    "`cache_control`, `reasoning_effort`, JSON mode and its schema are mapped for providers with an equivalent.",
  "wrapper.echo":
    "Members of an answer that clients send back are accepted: ones that no provider reads are dropped, reasoning is a hint, a tool result may name its tool.",
  "wrapper.field.impossible": "A field that cannot be sent to a provider at all is a 400 that names it.",
  "wrapper.error-format":
    "`error_format` selects the error body: Sluice's, or OpenAI's error object; `auto` decides by the client.",
  "answer.cost": "With `server.expose_cost` a whole answer has `X-Sluice-Cost-Usd`.",
  "wrapper.error.body": "Errors of the wrapper have Sluice's error body.",
  "wrapper.messages": "The wrapper has the same error messages as the gateway surface.",
  "proxy.method":
    "A method that is not allowed gets 405 `Method '<method>' is not allowed for this endpoint.`.",
  "proxy.ssrf":
    "A blocked address gets 422 `Upstream URL blocked by SSRF guard.`; its detail has the kind of address, not the address.",
  "proxy.cookies": "An upstream's Set-Cookie that names the console's cookie is dropped.",
  "proxy.oauth": "A failed refresh gets 502 `Upstream OAuth connection failed.` with detail.",
  "proxy.unreachable": "A network failure or timeout gets 502 `Upstream unreachable.`.",
  "proxy.slug": "An unknown slug gets 404 `Endpoint '<slug>' not found or inactive.`.",
  "proxy.through": "Status and body of the upstream pass unchanged.",
  "proxy.path": "The rest of the path and the query are appended, and cannot leave the upstream's URL.",
  "proxy.admission": "Token, scope `proxy` and project type are checked before the endpoint.",
  "proxy.headers":
    "Hop-by-hop headers and the client's Authorization are not passed on; the endpoint's are added.",
  "proxy.body.limit": "A proxied body over `server.max_body_bytes` gets 413, with a length and in chunks.",
  "proxy.redirect": "Redirects are not followed.",
  "proxy.upgrade": "A WebSocket upgrade is refused with a message.",
  "proxy.stream": "Bodies stream both ways, at the speed of the slower side.",
  "proxy.framing": "Framing, trailers, interim responses and expectations follow RFC 9110 and RFC 9112.",
  "proxy.broken":
    "An upstream connection that breaks is a broken connection for the client, never a complete answer.",
  "proxy.gone": "A client that disconnects closes the upstream connection.",
  "proxy.limits": "Rate limits apply per proxy endpoint.",
  "proxy.cap": "The token's monthly cap applies on the proxy.",
  "proxy.log": "Each proxied call is one line of the log.",
  "proxy.oauth.single": "All calls that wait for an access token wait for one refresh.",
  "proxy.oauth.cached": "An access token is cached until shortly before it expires.",
  "proxy.oauth.401":
    "On 401 the token is refreshed once, and the call repeated if its body can be sent again.",
  "proxy.oauth.audit": "A failed refresh is in the audit log.",
  "proxy.oauth.secret": "OAuth secrets and tokens are in no answer, log or audit record.",
};
