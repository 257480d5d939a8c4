/** Requirements of operating a gateway from the command line: terminal output, status, reload, doctor, the admin API. */
export const OPERATE = {
  "ci.github":
    "The GitHub action validates, plans and tests; the plan is one comment, or on forks the job summary.",
  "ci.gitlab":
    "The GitLab component validates, plans and tests: a note, code quality findings, a JUnit report.",
  "ci.hooks": "Hooks for pre-commit validate and test.",
  "docs.guides.run": "Every command of the guides does what the guide says.",
  "cli.colors": "Commands color a terminal only, and not when `NO_COLOR` is set.",
  "cli.columns":
    "Tables and texts of commands are aligned by visible width, wide characters included, and wrapped to the terminal's.",
  "cli.hostile-text": "Control characters in texts of others are printed as escapes.",
  "admin.v1.schema": "Each answer of a route of `/admin/v1/` has the body that the route's schema describes.",
  "admin.calls":
    "`GET /admin/v1/calls` lists recent calls, newest first, with filters and pages; one is found by its id.",
  "admin.calls.bounded": "The last `calls.keep` calls of each project are kept; 0 keeps none.",
  "admin.calls.content":
    "Texts are kept as `calls.content` says: not at all, redacted, or as they are, cut at 8 KiB.",
  "admin.calls.stream":
    "`GET /admin/v1/calls/stream` sends new calls as server-sent events, with the same filters.",
  "admin.series": "`GET /admin/v1/series` answers calls, errors, refusals, tokens, cost and times over time.",
  "admin.series.kept": "With the stores `file` and `redis` the hourly series survive a restart.",
  "admin.v1.access": "Routes of `/admin/v1/` need a control-plane token, and their answers are not cached.",
  "admin.overview":
    "The overview shows configuration, last reload, store, open calls, traffic, totals, overrides, budgets and circuits.",
  "admin.overview.diagnostics":
    "The overview has the errors of a rejected reload with their frames, bounded in number.",
  "admin.overview.budgets":
    "The overview lists budgets of which more than 80 % is settled or reserved, the fullest first.",
  "admin.overview.rates":
    "Calls, errors and refusals per second are means over the last minute; totals of a day begin at midnight UTC.",
  "admin.reload.reviewed":
    "A reload with `from_hash` and `to_hash` applies that very change, or is 409 and applies nothing.",
  "admin.reload.reviewed.race":
    "Edits between the request and the load of a reviewed reload make it 409, and no retry applies them later.",
  "admin.reload.outcome":
    "`POST /admin/v1/reload` answers with generation, hash, revision, errors, warnings and what needs a restart.",
  "status.view":
    "`sluice status` shows what needs attention first, then configuration, traffic, totals and overrides, and a last line.",
  "status.exit":
    "`sluice status` exits with 0 when the gateway is ready, and with 1 when it is not or gives no answer.",
  "status.json": "`sluice status --output json` prints the body of `GET /admin/v1/overview`.",
  "status.watch":
    "`sluice status --watch` redraws a terminal and leaves it as it was, prints lines into a pipe, and ends on Ctrl-C.",
  "operate.address":
    "Commands for a running gateway take its address from `--url`, else from `admin` of the configuration, valid or not.",
  "operate.errors":
    "A refused connection, a missing or wrong token and a wrong listener are each told with what to do about it.",
  "reload.command":
    "`sluice reload` prints what is in use afterwards, or the errors of a rejected configuration, and exits with 1.",
  "reload.command.plan":
    "`sluice reload --plan FILE` has only the change of that plan applied, and says which configuration differs.",
  "cli.overview": "`sluice` lists every command in its group, aligned.",
  "doctor.exit":
    "`sluice doctor` exits with 1 when something would keep the gateway from serving, and says what to do about it.",
  "doctor.node": "Versions of Node with known vulnerabilities are named, with the release to use.",
  "doctor.secrets":
    "Each reference to a secret is listed with its place and whether it has a value, never with it.",
  "doctor.ports":
    "A port in use, not permitted or not of this machine is told; a running gateway's own is no fault.",
  "doctor.state.file":
    "The state folder is checked for writing, space, owner, mode and the process that has it.",
  "doctor.state.redis": "Redis is checked for an answer, its version, its eviction policy and its clock.",
  "doctor.watching": "Where changes of files are not told by the system, doctor says that they are polled.",
  "doctor.clock": "A clock behind the configuration's files, or apart from the servers', is told.",
  "doctor.network":
    "With `--network` each address is resolved and connected to as the gateway would, and no credential is sent.",
  "evidence.revision.commit":
    "A commit that moves HEAD over files in use changes their revision, without a reload; a rejected configuration's does not.",
} as const;
