/** Rules of the wrapper and proxy surfaces. */
export const SURFACES = {
  "wrapper.alias.unknown": "An unknown alias is a 404.",
  "wrapper.project.type": "The wrapper's path on a gateway project is a 400.",
  "wrapper.output-limit":
    "An alias without `max_output_tokens` passes the client's limit, bounded by the model's known maximum.",
  "wrapper.hints":
    "A hint that a provider has no field for is left out; the log and `X-Sluice-Warnings` name it.",
  "wrapper.hints.mapped":
    "`cache_control`, `reasoning_effort`, JSON mode and its schema reach the providers that have something like them.",
  "wrapper.echo":
    "Members that clients keep of an answer and send back are not refused: what no vendor reads is dropped, thoughts are hints, a result may name its tool.",
  "wrapper.field.impossible": "What a provider cannot be sent at all is a 400 that names the field.",
  "wrapper.error-format":
    "`error_format` decides how errors look: the specification's text, or OpenAI's object; `auto` goes by the client.",
  "answer.cost": "With `server.expose_cost` a whole answer has `X-Sluice-Cost-Usd`.",
  "wrapper.error.body": "The wrapper's refusals have the specification's error body.",
  "wrapper.messages": "The gateway's messages hold on the wrapper.",
  "proxy.method":
    "A method that is not allowed gets 405 `Method '<method>' is not allowed for this endpoint.`.",
  "proxy.ssrf":
    "A blocked address gets 422 `Upstream URL blocked by SSRF guard.`; its detail says what kind of address it is, and no address.",
  "proxy.cookies": "An upstream's Set-Cookie that names the console's cookie is dropped.",
  "proxy.oauth": "A failed refresh gets 502 `Upstream OAuth connection failed.` with detail.",
  "proxy.unreachable": "A network failure or timeout gets 502 `Upstream unreachable.`.",
  "proxy.slug": "An unknown slug gets 404 `Endpoint '<slug>' not found or inactive.`.",
  "proxy.through": "Status and body of the upstream pass unchanged.",
  "proxy.path":
    "The rest of the path and the query are appended, and cannot climb out of the upstream's URL.",
  "proxy.admission": "Token, scope `proxy` and project type are checked before the endpoint.",
  "proxy.headers":
    "Hop-by-hop headers and the client's Authorization are not passed on; the endpoint's are added.",
  "proxy.body.limit": "A proxied body over `server.max_body_bytes` gets 413, with a length and in chunks.",
  "proxy.redirect": "Redirects are not followed.",
  "proxy.upgrade": "A WebSocket upgrade is refused in words.",
  "proxy.stream": "Bodies stream both ways, held back by the slower side.",
  "proxy.framing": "Framing, trailers, hints and expectations are RFC 9110's and 9112's.",
  "proxy.broken": "An upstream that breaks off shows at the client as a broken connection, never as an end.",
  "proxy.gone": "A client that leaves closes the upstream's connection.",
  "proxy.limits": "Rate limits hold per proxy endpoint.",
  "proxy.cap": "The token's monthly cap holds on the proxy.",
  "proxy.log": "Each proxied call is one line of the log.",
  "proxy.oauth.single": "All calls that wait for an access token wait for one refresh.",
  "proxy.oauth.cached": "An access token is kept until shortly before its end.",
  "proxy.oauth.401": "On 401 the token is refreshed once, and the call sent again when its body can be.",
  "proxy.oauth.audit": "A failed refresh is in the audit log.",
  "proxy.oauth.secret": "OAuth secrets and tokens are in no answer, log or audit record.",
};
