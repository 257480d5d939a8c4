/** Requirements of the running process: its commands, reloads, log lines, health, metrics. */
export const RUNNING = {
  "run.start.demo":
    "The shipped configuration starts without key or network and answers with the mock provider, whole and streamed.",
  "run.start.prints": "Starting prints the URL, the demo token and a curl line that works when pasted.",
  "run.start.loopback": "A gateway that listens beyond loopback does not start with the demo token.",
  "run.start.config-flag": "`start --config PATH` serves that config.",
  "run.start.config-env": "`SLUICE_CONFIG` names the configuration when no flag does.",
  "run.start.broken": "A config with errors does not start; they are printed and the exit code is 1.",
  "run.start.port-zero": "Port 0 takes a free port, which is printed.",
  "run.commands": "The npm scripts are start, test, dev and sluice, and `sluice` is the package's command.",
  "run.ci": "`.ci/run` calls the README's test command.",
  "plugin.fault.internal":
    "A plugin that throws, rejects or returns an invalid answer fails its call with 500.",
  "plugin.fault.logged":
    "A fault of a plugin is logged with the plugin's name, and is not part of the client's answer.",
  "plugin.fault.callbacks":
    "Errors of a plugin's listener of `x.signal` or its `x.onCancel` are logged and affect its own call only.",
  "plugin.fault.contained":
    "A fault of a plugin affects no other call; its own call ends once, with its reservation.",
  "server.config-hash": "With `expose_config_hash` answers have `X-Gateway-Config`; by default they do not.",
  "server.trusted-proxies": "X-Forwarded-For is used from `trusted_proxies` only.",
  "server.request-timeout":
    "A call longer than `request_timeout_ms` fails with 502; a stream when its first byte was not sent by then.",
  "server.stream-timeout":
    "A stream that has begun is ended by `stream_timeout_ms` if that is set, not by `request_timeout_ms`.",
  "server.drain": "Stopping waits for open calls to finish.",
  "server.drain.limit": "A call still open after `drain_timeout_ms` is ended.",
  "server.drain.connections":
    "A draining listener closes idle connections at once; a request that begins to arrive on another is answered 503.",
  "server.drain.events":
    "At the end of `drain_timeout_ms` open streams end with their error event and `[DONE]`, other calls with 503.",
  "server.lame-duck": "For `lame_duck_ms` after SIGTERM `/readyz` is 503 and calls are still admitted.",
  "server.crash":
    "An uncaught exception or rejection is logged, makes `/readyz` 503, drains and exits with code 1.",
  "reload.swap": "After a reload new calls use the new configuration.",
  "reload.running-call": "A call keeps the configuration that it started with, streams included.",
  "reload.atomic":
    "A reload with an error changes nothing, and the last valid configuration stays in effect.",
  "reload.broken.shown": "A failed reload shows in `/readyz`, in a metric and in the log.",
  "reload.counters": "Rate windows, spend and sessions survive a reload.",
  "reload.restart-needed":
    "A change of server, admin or state is reported as needing a restart; the rest is applied.",
  "reload.file-change": "A changed file is detected and loaded.",
  "reload.referenced-file": "A changed `${file:…}` or schema file is detected as well.",
  "reload.rename": "An atomic save (write and rename) is detected.",
  "reload.burst": "Many changes at once settle into one reload.",
  "reload.configmap": "A Kubernetes ConfigMap's `..data` swap is detected, every time.",
  "reload.checkout": "Half a git checkout never takes effect: a reload waits for git's lock.",
  "reload.steady": "Files that change while they are read are read again, so that a load sees one revision.",
  "reload.configmap.one": "One load reads all files below the folder that `..data` pointed to first.",
  "reload.fallback":
    "With `fallback: last-valid` a start with an invalid configuration logs the errors and serves the last valid one.",
  "reload.watch-off": "With `reload.watch: false` no file is watched; explicit reloads work.",
  "reload.overrides": "A revocation takes effect at once, even while a reload is waiting.",
  "reload.setup-deadline": "A plugin's `setup` that takes over 10 s rejects the reload.",
  "start.store-setup":
    "A store plugin's `setup` that fails, or takes over 10 s, fails the start with the plugin's name, and the process ends.",
  "reload.shortage":
    "A load that runs out of file descriptors rejects no file: it fails as a whole, and is retried with backoff.",
  "reload.loader-deadline": "A loader thread that is stuck for 10 s is terminated, and the reload fails.",
  "reload.stop": "Stopping does not wait for a reload.",
  "reload.retry": "A load that failed for a temporary reason is retried with backoff.",
  "reload.recovered": "The first valid configuration after a rejected one is logged.",
  "reload.demo": "A gateway that listens beyond loopback rejects a reload with the demo token.",
  "reload.sighup": "SIGHUP reloads.",
  "reload.changes":
    "The answer of a reload has the counts of a plan and the changes of the highest risks, its log line the counts.",
  "reload.events":
    "Audit events of a reload come from the change list of plans: a rename is one event, and what is inherited or chosen by a template is an event of each endpoint.",
  "moved-from.answers":
    "What has `moved_from` answers under the name that it had too, as an endpoint, alias, MCP tool or proxy endpoint; lists and logs have its present name alone.",
  "moved-from.checked":
    "`moved_from` is an error when it is the object's own name, that of another one in the project, or that of two.",
  "moved-from.state":
    "Spend, rate windows, conversations and overrides of what was renamed move to its present name once, at a reload and at a start, and stay there when `moved_from` is removed.",
  "moved-from.under-way":
    "A call under way at a rename is settled, and its conversation kept, under the present name.",
  "moved-from.replicas":
    "Replicas with configurations from before and after a rename share one budget, window, conversation and override.",
  "moved-from.taken-back": "A configuration from before a rename that is loaded again finds the state.",
  "moved-from.store": "With a store that cannot rename, a renamed object begins anew, and a warning says so.",
  "reload.disposed": "A generation is disposed when its last call has ended.",
  "log.content.none": "By default logs contain no prompt and no answer.",
  "log.content.full": "With `content: full` prompt and answer are logged.",
  "log.content.redacted": "With `content: redacted` they are logged with personal data masked.",
  "telemetry.otlp": "With `telemetry.otlp.endpoint` spans are exported.",
  "log.level.silent": "`log.level` suppresses lines below it.",
  "reload.admin": "`POST /admin/reload` reloads, as does the tool `gw_reload_config`.",
  "log.call": "Every call is one JSON line: request id, project, endpoint, token, status, timings.",
  "log.call.answer": "The line has provider, model, tokens, cost, finish reason.",
  "log.call.attempts": "The line has every attempt.",
  "log.call.refused": "A refusal by limit, budget or guardrail and a provider's failure are lines as well.",
  "log.call.verdicts": "The line has the guardrails' verdicts.",
  "log.secret": "No log line contains a token, key or secret.",
  "audit.log": "State-changing events are written to the audit log.",
  "webhook.queue.kinds":
    "Blocked calls use at most half of a webhook's queue; the rest is for changes and sign-ins.",
  "audit.kinds": "Blocked calls displace no change and no sign-in in the audit log.",
  "health.alive": "`/healthz` answers 200 on the admin listener and on the data plane.",
  "health.ready":
    "`/readyz` on the admin listener answers 200 with ready, generation, config_hash, last_reload and store.",
  "health.ready.bare": "`/readyz` on the data plane answers `{ready}` and nothing else.",
  "health.ready.degraded":
    "A store that works with reduced guarantees, as configured, leaves `/readyz` at 200 and is shown there.",
  "metrics.text":
    "`/metrics` on the admin listener is Prometheus text, with calls and the configuration's hash.",
};
