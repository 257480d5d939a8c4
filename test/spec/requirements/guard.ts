/** Rules of the guardrails: the four built-in ones, what they say, and how a third party's is run. */
export const GUARD = {
  "guard.pii.block": "PII in block mode gets 422 `Request blocked: <PII kind> detected in input.`.",
  "guard.injection.block": "An injection gets 422 `Request blocked: prompt injection pattern detected.`.",
  "guard.keyword.block":
    "A keyword gets 422 `Request blocked: keyword '<keyword>' detected in input.`, shown as the configuration writes it.",
  "guard.length.block": "Content that is too long gets 422 with its length and the maximum.",
  "guard.pii.kinds": "The kinds are named email, phone number, credit card, SSN, IBAN, IP address.",
  "guard.pii.mask":
    "In mask mode the provider sees [EMAIL], [PHONE], [CREDIT_CARD], [SSN], [IBAN], [IP_ADDRESS].",
  "guard.length.exact":
    "Content length is in UTF-16 code units over all messages that the client sent; exactly the maximum passes.",
  "guard.masks-seen-later": "A later guardrail sees what an earlier one masked.",
  "guard.output.block":
    "An answer with PII, a keyword, an injection, or too long gets 422 in the words of the input's message: `Response blocked: … detected in output.`.",
  "guard.output.mask": "PII in an answer is masked before the client sees it.",
  "guard.stream.mask": "On a stream a match across chunks is masked before the client sees any of it.",
  "guard.stream.block":
    "On a stream a blocked match is a failure after the first byte, and none of it is sent.",
  "guard.stream.unchanged": "On a stream text without a match arrives unchanged.",
  "guard.order": "Guardrails judge in the order of the YAML; the first that blocks answers.",
  "guard.on.input-default": "Without `on` a guardrail judges the input alone.",
  "guard.keyword.whole-word":
    "With `whole_word` a keyword inside a longer word passes; without, it is caught.",
  "guard.secrets": "API keys, tokens and private keys are blocked by their kind, or masked as `[SECRET]`.",
  "guard.patterns": "Patterns of the configuration block under their names, or mask.",
  "guard.adjacent":
    "Keywords and injections are found across adjacent messages and parts of one role, not across other messages.",
  "guard.keyword.case": "With `case_sensitive` another case passes.",
  "guard.pii.only-kinds": "Kinds that are not listed pass.",
  "guard.shadow": "A guardrail in shadow is judged and recorded, never acted on.",
  "guard.options.flat-or-nested": "Options of a guardrail stand beside `use` or under `options`.",
  "guard.third-party": "A third party's guardrail judges like a built-in, with its own text.",
  "guard.on-error.block": "A guardrail that throws blocks the call by default.",
  "guard.on-error.allow": "With `on_error: allow` a guardrail that throws lets the call through.",
  "guard.timeout": "A guardrail slower than its `timeout_ms` counts as failed.",
  "guard.pii.restore": "With `restore` the client gets back what was masked, and the provider never saw it.",
  "guard.pii.restore.stream": "On a stream too, wherever the answer is cut.",
  "guard.pii.restore.kept": "Log and conversations keep the masks of `restore`.",
  "guard.pii.restore.refused": "`restore` without masks of the input is refused at load.",
  "guard.keyword.patterns":
    "A pattern is refused under the name that the config gives it, in any text in linear time.",
  "guard.keyword.patterns.refused": "A pattern that re2 does not read is refused at load.",
  "guard.stream.tool-calls": "Arguments of a streamed tool call are judged before the client sees any of it.",
  "guard.stream.held": "A guardrail that holds streams to their end is warned of at load.",
  "guard.roles":
    "A guardrail judges user texts and tool results; system texts only where `roles` names them.",
  "guard.judged-once":
    "A text judged in an earlier turn is not judged again; one that was blocked is withheld later on, and the conversation continues.",
  "guard.max-judged": "More text than `server.max_judged_characters` is 422 in the words of content length.",
  "guard.isolate":
    "With `isolate` an endless loop, a crash, an abort or a leak in a guardrail costs that call alone.",
  "guard.patterns.linear":
    "A pattern of a schema or a guardrail that RE2 cannot run is an error at load, at its place; those that it runs take linear time.",
  "guard.verdict.malformed":
    "A verdict that is malformed is a failure of the guardrail: `on_error` and `shadow` decide, isolated or not.",
  "guard.logged": "What guardrails said of a call stands in its log line, without any of the text.",
  "guard.counted": "Verdicts are counted by guardrail, side and verdict.",
  "guard.audited": "A block raises the audit event `guardrail.blocked`.",
};
