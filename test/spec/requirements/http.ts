/** Rules that hold on every HTTP surface: request ids, retry hints, error bodies, bodies that are refused. */
import { rules } from "./rule.ts";

export const HTTP = {
  ...rules("CONTRACT 3", {
    "http.members": "A body with more than 100,000 members, at all depths, gets 400.",
    "http.request-id.header":
      "Every answer, refusals included, has an `X-Request-Id` that is a UUID of its own.",
    "http.request-id.meta": "`meta.request_id` is the value of `X-Request-Id`.",
    "http.expect": "An expectation other than 100-continue is refused in the same error body as all else.",
    "http.traceparent": "A W3C `traceparent` of the client reaches the provider.",
    "http.retry.429": "A 429 says `x-should-retry: true`.",
    "http.retry.500": "A 500 says `x-should-retry: true`.",
    "http.retry.502": "A 502 says `x-should-retry: true`.",
    "http.retry.503-later": "A 503 with `Retry-After` says `x-should-retry: true`.",
    "http.retry.503-disabled": "The 503 of a disabled provider says `x-should-retry: false`.",
    "http.retry.never": "A 401, 402, 403, 404, 405 or 422 says `x-should-retry: false`.",
    "http.error.type": "Every refusal is `application/json` with the specification's error body.",
    "http.error.internal": "A fault in a plugin gives a 500 without stack, message or secret of the fault.",
    "http.path.unknown": "A path that no surface serves gets 404 `Not found.`.",
    "http.method.wrong": "A method that a route does not serve gets 405 with `Allow`.",
    "http.body.limit": "A body over `server.max_body_bytes` gets 413 `Request body exceeds <n> bytes.`.",
    "http.body.limit.declared": "A Content-Length over the limit is refused before any of the body is read.",
    "http.body.limit.chunked": "A chunked body is refused as soon as it passes the limit.",
    "http.body.limit.exact": "A body of exactly the limit is accepted.",
    "http.body.type": "A body whose Content-Type is not JSON gets 415.",
    "http.body.type.absent": "A body without Content-Type is read as JSON.",
    "http.body.type.parameters": "`application/json; charset=utf-8` is JSON.",
    "http.body.slow": "A body slower than `server.body_timeout_ms` gets 408.",
    "http.drain.new-calls": "While it drains, a call on an open connection gets 503 with `Retry-After`.",
    "http.body.malformed": "A body that is not JSON gets 400 `Malformed JSON body.`.",
    "http.body.empty": "An empty body gets 400 `Malformed JSON body.`.",
    "http.body.utf8": "A body that is not UTF-8 gets 400 `Malformed JSON body.`.",
    "http.body.not-object": "A JSON body that is not an object gets 400.",
    "http.body.deep": "A body of 100,000 brackets gets 400, and the gateway goes on.",
    "http.body.prototype":
      "A key `__proto__` in a body pollutes nothing: it is refused with 400 or plain data.",
    "http.body.neither":
      "A body with neither message nor messages gets 400 `Provide either 'message' or 'messages'.`.",
    "http.body.both": "A body with both gets 400 `Provide either 'message' or 'messages'.`.",
    "http.body.message": "`message` must be a non-empty string; the 400 names the field.",
    "http.body.messages": "`messages` must be a non-empty array; the 400 names the field.",
    "http.body.messages.role": "A role other than system, user, assistant gets a 400 that names the field.",
    "http.body.messages.content": "Content that is not a string gets a 400 that names the field.",
    "http.body.stream": "`stream` that is not a boolean gets a 400 that names the field.",
    "http.body.session-id": "`session_id` that is not a UUID gets a 400 that names the field.",
    "http.body.extra-keys": "Other keys are allowed and ignored where no input schema forbids them.",
    "http.raw.garbage": "Bytes that are not HTTP get 400, and the gateway goes on.",
    "http.raw.headers": "A head larger than the server takes gets 431, and the gateway goes on.",
    "http.head.host":
      "Two `Host` headers get 400, and so does HTTP/1.1 without one, in the usual error body.",
    "http.head.lines": "A head of more than 2,000 header lines gets 431; none is dropped.",
    "http.head.transfer-coding": "A transfer coding other than chunked gets 501.",
    "http.head.version": "HTTP/0.9 gets 400, and an expectation of HTTP/1.0 is ignored.",
    "http.head.slow":
      "A head that is not there after 10 s gets 408, and its connection is closed within 2 s more.",
    "http.refusal.readable":
      "A refused upload (413, 401, 403) can be read by a client that is still sending: what arrives is discarded for at most 2 s.",
    "http.refusal.closed": "A client that goes on sending after a refusal loses its connection.",
    "http.rate.body": "A body that advances by less than 240 bytes a second over 15 s costs its connection.",
    "http.rate.reader":
      "An answer that is read by less than 240 bytes a second over 10 s costs its connection.",
    "http.connections.address":
      "An address holds at most `server.max_connections_per_address` connections; trusted proxies are exempt.",
    "http.memory.bodies":
      "Beyond `server.max_buffered_bytes` a call gets 503 with `Retry-After`, before its body is read.",
    "http.memory.answers": "Answers that nobody has read yet count; read or dropped, they count no more.",
    "http.memory.upstream":
      "A provider's answer that does not fit beside the others is given up, and its call gets 503.",
    "http.overload":
      "While the heap is nearly full or the event loop far behind, new calls get 503, but for one a second.",
    "http.raw.one-answer":
      "Unreadable bytes behind a request never write into its answer: it is finished first, then refused.",
    "http.raw.pipelined":
      "A pipelined call whose answer cannot go out any more, since the connection has closed, ends with it.",
    "http.nosniff": "Answers that the gateway makes itself say `X-Content-Type-Options: nosniff`.",
    "http.path.long": "A long path segment is cut short in log lines and messages.",
    "http.body.encoding": "`Content-Encoding: IDENTITY` is accepted in any case of letters.",
    "http.raw.duplicate-length": "Conflicting Content-Length headers get 400.",
  }),
  ...rules("SPEC Errors", {
    "error.ok": "`ok` is false on every refusal.",
    "error.message": "`error` is a text for people on every refusal.",
    "error.detail": "`detail` stands on a schema failure and is absent where there is nothing to add.",
    "error.scope": "`scope` names the window of a 429.",
    "error.retry-after": "`retry_after` is whole seconds on a 429, the same as the header.",
    "error.status.400": "A malformed body is a 400.",
    "error.status.401": "A missing, malformed, unknown or revoked token is a 401.",
    "error.status.402": "A budget that would be passed is a 402, and no provider is asked.",
    "error.status.403": "A foreign project or a missing scope is a 403.",
    "error.status.404": "An unknown or inactive slug is a 404.",
    "error.status.422": "A refusal by validation, guardrail or token cap is a 422.",
    "error.status.429": "A full rate window is a 429 with `Retry-After`.",
    "error.status.500": "An unexpected fault is a 500.",
    "error.status.502": "A provider's failure or an answer that fails its schema is a 502.",
    "error.status.503": "A disabled provider is a 503.",
    "error.idempotency":
      "The same chat call sent twice is two calls: two provider calls, two places in the windows.",
  }),
  ...rules("SPEC Errors", {
    "error.status.405": "A proxy endpoint that does not allow the method is a 405.",
    "error.status.422.ssrf": "A proxy address that the guard refuses is a 422.",
  }),
};
