/** Requirements of what runs a configuration without network, state and secrets: the offline gateway, `sluice explain`. */
export const OFFLINE = {
  "offline.wire":
    "Scripted replies, tool calls, usage and errors go through the wire format of each provider, whole and streamed.",
  "offline.chain":
    "An offline call runs through the real surfaces and the whole chain: the same verdicts, attempts, costs and bytes.",
  "offline.given":
    "Spend, calls in rate windows, revocations, overrides, open circuits and conversations can be given to a case.",
  "offline.cases":
    "Each case begins with an empty store, closed circuits, its own clock and the same random numbers.",
  "offline.closed": "The network is closed: what asks for it is told so, and the result names it.",
  "offline.protections":
    "Each protection of an endpoint can be taken out of the compiled configuration, and calls show which are at work.",
  "trace.verdicts":
    "The trace of a call has each guardrail's verdict with rule, text and spans, and keeps texts only on request.",
  "explain.stages":
    "`sluice explain` prints one line a stage with what decided it and where that is configured, as text and as JSON.",
  "explain.places":
    "Places are those of single keys: also of what an endpoint inherits, and of what a template or an overlay brings.",
  "explain.prompt":
    "The final prompt is shown with where each message comes from, after masks and in its template.",
  "explain.targets":
    "Targets are shown in order, with their settings and with what is left out for each model.",
  "explain.spans":
    "Spans are [start, end) in UTF-16 code units; the texts themselves are shown with `--show-text` alone.",
  "explain.refused":
    "A refused request is explained up to the refusal, with the line that decides it, and exits 0.",
  "explain.reply": "With `--reply` the way back is explained: output schema, guardrails of the answer, cost.",
  "explain.token": "Without `--token` the first active token with the scope makes the call.",
  "explain.plugins":
    "With `--no-plugins` no code of plugins is executed, and the output says which guardrails were not.",
  "explain.running":
    "`--running` explains a call from the gateway's recent ones, with places if the configuration at hand is the same.",
  "explain.secrets": "No secret value appears in any output of `sluice explain`.",
} as const;
