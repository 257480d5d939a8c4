/** `sluice plan --help`. */
import { ACCEPT_FORM } from "../../plan/acceptance.ts";

export const HELP = `Usage: sluice plan [--from SIDE] [--to SIDE] [--overlay FILE]... [--root DIR] [--output FORMAT]
                   [--all] [--exit-code] [--fail-on RISK,...] [--accept RULE[@OBJECT],...]
                   [--usage URL] [--save FILE]

Shows what changes between two configurations and what each change means: which calls will fail, which protections do
less, what costs more. Reads files only: no network, no secret, no state; no code of plugins is executed.

  --from SIDE      what is deployed now (default: git:HEAD)
  --to SIDE        what would be deployed (default: the working tree)
  --overlay FILE   a partial configuration merged over both sides; may be repeated, later ones win
  --root DIR       the folder that included files must stay inside (default: the folder of the configuration)
  --output FORMAT  text, json, markdown (one comment for a pull request) or github (annotations)
  --all            list safe changes too; without it they are counted
  --exit-code      exit 2 when there are changes
  --fail-on RISK   exit 1 when an unaccepted change has one of these risks; wins over 2
  --accept RULE[@OBJECT]
                   accept changes of a rule for this run, of all objects or of one such as support/triage
  --usage URL      ask the admin listener of a running gateway who is affected; token in SLUICE_ADMIN_TOKEN
  --save FILE      write the plan as JSON, for \`sluice reload --plan FILE\`

A SIDE is one of
  PATH             a YAML file, or a folder of them
  git:REV          the same path as the other side, in that revision; nothing is checked out
  git:REV:PATH     a path in that revision, from the top of the repository; ./PATH from the working directory
  running:URL      what the gateway with this admin listener runs; token in SLUICE_ADMIN_TOKEN

Risks, highest first
  breaking         a call that works today will fail
  weakens          a protection does less
  money            more can be spent, or a call costs more
  behavior         answers may differ
  safe             none of these

A change is accepted for good by a comment on its line or the line above it, in the new configuration; for something
removed, on the line of the list or map that held it:
  ${ACCEPT_FORM}

Exit status: 0; 2 with changes (--exit-code); 1 with a risk of --fail-on, or when a side is invalid; 64 usage error.

Examples:
  sluice plan                                        # what the edits in the working tree would do
  sluice plan --from git:origin/main --fail-on breaking,weakens
  sluice plan --from running:http://127.0.0.1:9090 --overlay production.yaml
  sluice plan --from git:v1.4:gateway --to git:HEAD:gateway --output markdown`;
