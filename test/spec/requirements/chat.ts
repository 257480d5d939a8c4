/** Requirements of the chat surface: routes, request, answer, order of the steps, prompt, schemas, listing. */
export const CHAT = {
  "chat.routes":
    "`POST /api/{project}/{slug}` calls that endpoint, `POST /api/{project}/chat/completions` the one that the body names; both answer in the same shape.",
  "chat.dispatcher.endpoint.required": "A dispatcher body without `endpoint` gets a 400 that names it.",
  "chat.dispatcher.endpoint.string": "A dispatcher `endpoint` that is not a string gets a 400 that names it.",
  "chat.request.messages":
    "`message` becomes one message with role user; `messages` are sent to the model in their order and with their roles.",
  "chat.request.stream.default": "Without `stream` the answer is one JSON body.",
  "stream.events":
    "`stream: true` is answered with `text/event-stream` and `Cache-Control: no-cache` when the endpoint allows it: each event is a `data:` line with an OpenAI `chat.completion.chunk`, all with one id and one model; the last is `data: [DONE]`.",
  "chat.request.stream.ignored": "`stream: true` is answered in JSON where `streaming_enabled` is false.",
  "chat.endpoint.unknown":
    "An unknown slug gets 404 `Endpoint '<slug>' not found or inactive.`, with the slug in it.",
  "chat.endpoint.inactive": "An inactive endpoint gets the same 404.",
  "chat.reserved": "`chat/completions` and `endpoints` are routes, never slugs.",
  "chat.answer.fields":
    "A success is 200 with `ok: true`, the completion's `id`, the `model` that answered, `content`, `finish_reason` (stop, length, tool_calls or error), `usage` with three integers, and `meta` with `request_id`; `session_id` only when there is a session.",
  "chat.settings.sent": "The endpoint's temperature, top_p and max_output_tokens are sent to the provider.",
  "chat.settings.unset": "A temperature or top_p that is not configured is not sent.",
  "order.rate-before-budget": "A full window is refused before a spent budget.",
  "order.input-steps":
    "The budget is checked before guardrails, guardrails before the input schema, and the input schema before a provider is called.",
  "order.template-after-guardrails": "Guardrails check what the client sent, not the prompt or the template.",
  "schema.output.json":
    "The output schema checks the provider's answer: one that is not JSON or does not match gets 502 `Validation failed: ` and the first error.",
  "order.no-later-step": "A refused call reaches no later step: no provider is called.",
  "stage.plugin.position": "A third-party stage runs at the stage it names, in the order of the YAML.",
  "stage.plugin.refuse": "A third-party stage can refuse a call with its own status and text.",
  "stage.plugin.answer": "A third-party stage can answer a call without a provider.",
  "schema.input.body": "`input_schema` applies to the JSON body as received, unknown keys included.",
  "schema.input.message":
    "A body that fails `input_schema` gets 422 `Validation failed: ` and the first error; `detail` has the first errors as `path message`, joined with `; `.",
  "schema.output.string": "A schema of type string applies to the text itself.",
  "schema.output.told": "The output schema is sent to providers that support one.",
  "schema.draft-2020": "A schema is draft 2020-12 unless `$schema` names another draft.",
  "schema.draft-07": "A schema whose `$schema` is draft-07 is validated as draft-07.",
  "schema.own-properties": "`required: [toString]` is not satisfied by an empty object.",
  "schema.no-network": "A `$ref` to another host is a config error, never fetched.",
  "prompt.system-first": "The prompt is the first message, with role system.",
  "prompt.absent":
    "Without a prompt no system message is added; without a template the user's message is unchanged.",
  "session.resumed": "A call with `session_id` is sent as prompt, stored history, then its own messages.",
  "template.wraps":
    "The template replaces the last user message only, with the user's text at every `{{input}}` and `{{ input }}`.",
  "template.one-pass": "User text that contains `{{input}}`, `$&` or the like is sent unchanged.",
  "estimate.characters": "Characters are UTF-16 code units, summed over the messages that the client sent.",
  "estimate.tokens": "Tokens are estimated as characters / 4, rounded up.",
  "listing.shape":
    "The listing is `{ok: true, data: […]}` with uuid, name, slug, is_active, expose_as_mcp_tool: all endpoints, inactive ones included, in the order of the configuration.",
  "listing.uuid":
    "An endpoint's uuid is the one in the configuration, otherwise the UUIDv5 of its project's uuid and its slug.",
};
