/** Requirements of the guardrails: the four built-in ones, what they say, and how a third party's is run. */
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
    "An answer with PII, a keyword or an injection, or one that is too long, gets 422 with the message for input, about the output: `Response blocked: … detected in output.`.",
  "guard.output.mask": "PII in an answer is masked before the client sees it.",
  "guard.stream.mask": "On a stream a match across chunks is masked before the client sees any of it.",
  "guard.stream.block":
    "On a stream a blocked match is a failure after the first byte, and none of it is sent.",
  "guard.stream.unchanged": "On a stream text without a match arrives unchanged.",
  "guard.order": "Guardrails run in the order of the YAML; the first one that blocks determines the answer.",
  "guard.on.input-default": "Without `on` a guardrail checks the input only.",
  "guard.keyword.whole-word":
    "With `whole_word` a keyword inside a longer word is not matched; without it, it is.",
  "guard.secrets": "API keys, tokens and private keys are blocked by their kind, or masked as `[SECRET]`.",
  "guard.patterns": "Patterns of the configuration block under their names, or mask.",
  "guard.adjacent":
    "Keywords and injections are found across adjacent messages and parts of one role, not across other messages.",
  "guard.keyword.case": "With `case_sensitive` a keyword in another case is not matched.",
  "guard.pii.only-kinds": "Kinds that are not listed are not masked or blocked.",
  "guard.shadow": "A guardrail in shadow mode runs and is recorded, and its verdict has no effect.",
  "guard.options.flat-or-nested": "Options of a guardrail are set next to `use` or under `options`.",
  "guard.third-party": "A third-party guardrail runs like a built-in one, with its own message.",
  "guard.on-error.block": "A guardrail that throws blocks the call by default.",
  "guard.on-error.allow": "With `on_error: allow` a guardrail that throws does not block the call.",
  "guard.timeout": "A guardrail that exceeds its `timeout_ms` counts as failed.",
  "guard.pii.restore":
    "With `restore` the client receives the original text, and the provider only the masked one.",
  "guard.pii.restore.stream": "Restoring works on streams too, wherever the answer is split.",
  "guard.pii.restore.kept": "Logs and sessions keep the masked text.",
  "guard.pii.restore.refused": "`restore` without masking of the input is an error at load.",
  "guard.keyword.patterns":
    "A pattern blocks under the name that the configuration gives it, in linear time for any text.",
  "guard.keyword.patterns.refused": "A pattern that RE2 does not support is an error at load.",
  "guard.stream.tool-calls":
    "Arguments of a streamed tool call are checked before the client receives any of them.",
  "guard.stream.held": "A guardrail that buffers streams to their end is a warning at load.",
  "guard.roles":
    "A guardrail checks user texts and tool results, and system texts only when `roles` includes them.",
  "guard.judged-once":
    "A text that was checked in an earlier turn is not checked again; a blocked one is withheld from later turns, and the session continues.",
  "guard.max-judged":
    "More text than `server.max_judged_characters` gets 422 with the message of content_length.",
  "guard.isolate":
    "With `isolate` an endless loop, crash, abort or leak of a guardrail affects its own call only.",
  "guard.patterns.linear":
    "A pattern of a schema or guardrail that RE2 cannot run is an error at load, with its position; all others run in linear time.",
  "guard.verdict.malformed":
    "An invalid verdict is a failure of the guardrail, handled by `on_error` and `shadow`, isolated or not.",
  "guard.logged": "Verdicts of a call are in its log line, without any of the text.",
  "guard.counted": "Verdicts are counted by guardrail, side and verdict.",
  "guard.audited": "A block raises the audit event `guardrail.blocked`.",
};
