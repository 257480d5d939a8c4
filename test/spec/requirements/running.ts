/** Rules of the running process: its commands, reloads, log lines, health, metrics. */
export const RUNNING = {
  "run.start.demo":
    "The shipped configuration starts without key or network and answers by the mock provider, whole and streamed.",
  "run.start.prints": "Starting prints the URL, the demo token and a curl line that works when pasted.",
  "run.start.loopback": "A gateway that listens beyond loopback refuses to start with the demo token.",
  "run.start.config-flag": "`start --config PATH` serves that config.",
  "run.start.config-env": "`SLUICE_CONFIG` names the config where no flag does.",
  "run.start.broken": "A config with errors does not start; they are printed and the exit code is 1.",
  "run.start.port-zero": "Port 0 takes a free port, which is printed.",
  "run.commands": "The npm scripts are start, test, dev and sluice, and `sluice` is the package's command.",
  "run.ci": "`.ci/run` calls the README's test command.",
  "plugin.fault.internal": "A plugin that throws, rejects or answers nonsense fails its call with 500.",
  "plugin.fault.logged":
    "A fault of a plugin is logged with the plugin's name, and the client is told nothing of it.",
  "plugin.fault.callbacks":
    "What a plugin's listener of `x.signal` or its `x.onCancel` throws or rejects with is logged and costs nothing more than its call.",
  "plugin.fault.contained":
    "A fault of a plugin costs no other call; its own call ends once, and its reservation with it.",
  "server.config-hash": "With `expose_config_hash` answers carry `X-Gateway-Config`; by default they do not.",
  "server.trusted-proxies": "X-Forwarded-For is believed from `trusted_proxies` only.",
  "server.request-timeout":
    "A call longer than `request_timeout_ms` fails with 502, a stream when its first byte is not out by then.",
  "server.stream-timeout":
    "A stream that has begun is not cut by `request_timeout_ms`, but by `stream_timeout_ms` where that is set.",
  "server.drain": "Stopping lets open calls finish, then ends.",
  "server.drain.limit": "A call still open after `drain_timeout_ms` is cut.",
  "server.drain.connections":
    "A draining listener closes idle connections at once; a request that begins to arrive on another is answered 503.",
  "server.drain.events":
    "At the end of `drain_timeout_ms` open streams end with their error event and `[DONE]`, other calls with 503.",
  "server.lame-duck": "For `lame_duck_ms` after SIGTERM `/readyz` is 503 and calls are still admitted.",
  "server.crash":
    "An uncaught exception or rejection is logged, makes `/readyz` 503, drains and exits with code 1.",
  "reload.swap": "After a reload new calls see the new configuration.",
  "reload.running-call": "A call keeps the configuration that it began with, streams included.",
  "reload.atomic":
    "A reload with an error changes nothing, and the last valid configuration stays in effect.",
  "reload.broken.shown": "A failed reload shows in `/readyz`, in a metric and in the log.",
  "reload.counters": "Rate windows, spend and sessions survive a reload.",
  "reload.restart-needed":
    "A change of server, admin or state is named as needing a restart; the rest is applied.",
  "reload.file-change": "A changed file is noticed and loaded.",
  "reload.referenced-file": "A changed `${file:…}` or schema file is noticed as well.",
  "reload.rename": "An editor's rename-save is noticed.",
  "reload.burst": "Many changes at once settle into one reload.",
  "reload.configmap": "A Kubernetes ConfigMap's `..data` swap is noticed, every time.",
  "reload.checkout": "Half a git checkout never goes live: a reload waits for git's lock.",
  "reload.steady": "Files that change while they are read are read again, so that a load sees one revision.",
  "reload.configmap.one": "One load reads all files below the folder that `..data` named first.",
  "reload.fallback":
    "With `fallback: last-valid` a start with an invalid configuration serves the last valid one, loudly.",
  "reload.watch-off": "With `reload.watch: false` no file is watched; explicit reloads work.",
  "reload.overrides": "A revocation takes effect at once, whatever a reload is waiting for.",
  "reload.setup-deadline": "A plugin's `setup` that takes over 10 s rejects the reload.",
  "start.store-setup":
    "A store plugin's `setup` that fails, or takes over 10 s, fails the start with the plugin's name, and the process ends.",
  "reload.shortage":
    "A load that runs out of file descriptors rejects no file: it fails as a whole, and is retried with backoff.",
  "reload.loader-deadline": "A loader thread that is stuck for 10 s is terminated, and the reload fails.",
  "reload.stop": "Stopping waits for no reload.",
  "reload.retry": "A load that failed for a reason that may pass is retried with backoff.",
  "reload.recovered": "The first valid configuration after a rejected one is logged.",
  "reload.demo": "A gateway that listens beyond loopback rejects a reload that brings the demo token.",
  "reload.sighup": "SIGHUP reloads.",
  "reload.disposed": "A generation is disposed when its last call has ended.",
  "log.content.none": "By default the log holds no prompt and no answer.",
  "log.content.full": "With `content: full` prompt and answer are logged.",
  "log.content.redacted": "With `content: redacted` they are logged with personal data masked.",
  "telemetry.otlp": "With `telemetry.otlp.endpoint` spans are exported.",
  "log.level.silent": "`log.level` leaves out lines below it.",
  "reload.admin": "`POST /admin/reload` reloads, as does the tool `gw_reload_config`.",
  "log.call": "Every call is one JSON line: request id, project, endpoint, token, status, timings.",
  "log.call.answer": "The line has provider, model, tokens, cost, finish reason.",
  "log.call.attempts": "The line has every attempt.",
  "log.call.refused": "A refusal by limit, budget or guardrail and a provider's failure are lines as well.",
  "log.call.verdicts": "The line has the guardrails' verdicts.",
  "log.secret": "No line holds a token, key or secret.",
  "audit.log": "State-changing events are written to the audit log.",
  "webhook.queue.kinds":
    "Blocked calls fill at most half of a webhook's queue; the rest is for changes and sign-ins.",
  "audit.kinds": "Blocked calls push no change and no sign-in out of the audit log.",
  "health.alive": "`/healthz` answers 200 on the admin listener and on the data plane.",
  "health.ready":
    "`/readyz` on the admin listener answers 200 with ready, generation, config_hash, last_reload and store.",
  "health.ready.bare": "`/readyz` on the data plane answers `{ready}` and nothing else.",
  "health.ready.degraded":
    "A store that answers without its promises, as the configuration says, leaves `/readyz` at 200 and shows there.",
  "metrics.text": "`/metrics` is Prometheus text on the admin listener, calls and config hash in it.",
};
