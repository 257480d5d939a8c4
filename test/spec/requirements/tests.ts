/** Requirements of `sluice test`: test files, cases, expectations, reports, coverage and mutations. */
export const TESTS = {
  "tests.cases":
    "Cases run through the chain as it is compiled for serving, with scripted answers below the wire formats.",
  "tests.documents":
    "A test file may have several documents, each with its own configuration, overlays, clock and variables.",
  "tests.discovery":
    "Without FILES, all `*.test.yaml` and `*.test.yml` below the configuration's folder run; each is for the nearest configuration above it unless it names one.",
  "tests.mistakes":
    "Mistakes in a test file are diagnostics with frames and suggestions; nothing runs, and the exit code is 1.",
  "tests.names":
    "A name that the configuration lacks is a mistake at its place, with the nearest known name.",
  "tests.offline": "Cases use no network, no variable of the environment and no secret file.",
  "tests.tokens": "A case calls with a token of the run that has the named token's scopes, cap and id.",
  "tests.targets": "`call` reaches endpoints, aliases, tools and proxy endpoints, `http` any path.",
  "tests.rows": "Each row of `each` is a case of its own, named with its number.",
  "tests.steps":
    "Steps share one store and clock; `save` keeps values for `{{placeholders}}`, `advance` lets time pass.",
  "tests.provider": "`provider` scripts one answer for each attempt; too few or too many fail the case.",
  "tests.given":
    "`given` brings about spend, earlier calls, revoked tokens, overrides, open circuits and a conversation.",
  "tests.matchers":
    "A matcher may stand for any expected value; maps match by the keys named, lists by length and position.",
  "tests.expect":
    "`expect` compares status, error, answer, cost, stage, attempts, guardrails, events and what was sent.",
  "tests.snapshot": "`snapshot` compares the body with a file, without ids and times; `--update` writes it.",
  "tests.failure":
    "A failure shows the case's place, expected and actual next to each other, and the stages of the call.",
  "tests.exit": "The last line counts passed and failed cases; the exit code is 0, 1, 3 or 64.",
  "tests.junit": "`--output junit` is valid by JUnit's schema.",
  "tests.tap": "`--output tap` is TAP that parsers read.",
  "tests.github": "`--output github` prints annotations at the lines of failed expectations.",
  "tests.json": "`--output json` has every case with its failures, coverage and mutations.",
  "tests.run": "`--run` selects cases by their names.",
  "tests.coverage":
    "`--coverage` lists protections that no case shows at work with their places; below `--coverage-threshold` the exit code is 3.",
  "tests.mutate":
    "`--mutate` takes each protection out, one at a time, and reports those that no case misses with their places; the exit code is 3.",
  "tests.watch": "`--watch` runs again when a file changes.",
  "tests.init": "`--init` writes a test file whose cases pass, never over an existing file.",
  "tests.secrets": "No output of `sluice test` holds a secret.",
  "tests.schema": "`sluice schema --for test` prints the schema of test files.",
} as const;
