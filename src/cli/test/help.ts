/** What `sluice test --help` prints. */
export const HELP = `Usage: sluice test [FILES] [--run REGEX] [--output FORMAT] [--coverage] [--coverage-threshold N]
                   [--mutate] [--update] [--watch] [--overlay FILE]... [--root DIR]
       sluice test --init [FILE]

Runs test cases (*.test.yaml) through the real chain of their configuration: the network is closed, providers answer
what the case scripts, the store is empty and the clock stands still until a step moves it. No secret is read.

  FILES                     test files, or folders that are searched for them (default: the folder of SLUICE_CONFIG,
                            else of gateway.config.yaml)
  --run REGEX               run the cases whose name matches
  --output FORMAT           text, json, junit, tap or github (pull-request annotations)
  --coverage                list the protections (guardrails, limits, budgets, schemas, failover, aliases, tools)
                            that no case shows at work
  --coverage-threshold N    exit with 3 when fewer than N percent are covered
  --mutate                  take each protection out, one at a time, and report those that no case misses
  --update                  write the snapshots that differ or are missing
  --watch                   run again whenever a file changes
  --init                    write gateway.test.yaml (or FILE) with a passing case for each endpoint and protection for
                            which one can be derived; an existing file is never overwritten
  --overlay FILE            laid over the configuration of every case; may be repeated
  --root DIR                the folder that files of configurations and cases must stay inside

Exit status: 0 all passed, 1 a test file or its configuration is invalid or there are no cases, 3 a case failed,
coverage is below the threshold or a mutation survived, 64 usage error.

Examples:
  sluice test
  sluice test support/ --run "e-mail"
  sluice test --coverage-threshold 95 --mutate
  sluice test --output junit > test-results.xml
  sluice test --init

Docs: docs/testing.md. Editors: sluice schema --for test`;
