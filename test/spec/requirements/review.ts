/** Requirements of reviewing a change before it is deployed: `sluice plan` and `sluice render`. */
export const REVIEW = {
  "plan.defaults":
    "`sluice plan` compares git's HEAD with the working tree; without git and `--from` it exits 64 and says why.",
  "plan.git.tree":
    "A git side is read from the revision's tree without a checkout: includes, prompts, schemas, overlays, plugins, links.",
  "plan.git.places":
    "`git:REV` works in subfolders, worktrees, bare and shallow clones; paths stay relative to the working directory.",
  "plan.git.safe":
    "Reading a revision runs no hook, no shell and no network, and takes no revision as an option.",
  "plan.git.refused":
    "Submodules, sparse checkouts, Git LFS pointers, partial clones and unknown revisions are named in an error.",
  "plan.git.renames": "Files that are renamed or split without another change make no plan.",
  "plan.invalid":
    "A side that does not validate is answered with its diagnostics, in every format, and exit 1.",
  "plan.accept.comment":
    "`# sluice: accept RULE until DATE: reason` accepts changes of its line, the line below, or what was removed from there.",
  "plan.accept.expired":
    "An acceptance that has ended, or lacks a date or reason, counts for nothing and is a warning.",
  "plan.accept.option":
    "`--accept RULE[@OBJECT]` accepts changes for one run; accepted changes are listed and do not fail.",
  "plan.json": "The JSON plan has the documented keys, and `--save` writes the same.",
  "plan.exit":
    "`--fail-on` exits 1 for an unaccepted change of a risk, else `--exit-code` exits 2 for any change.",
  "plan.text":
    "The plan on a terminal is grouped by project and object, fits its width, and ends with one line of counts.",
  "plan.markdown":
    "The markdown plan has at most 65,000 characters and cuts the lowest risk first; no text of a configuration breaks out of it.",
  "plan.github": "The plan as annotations follows the grammar of GitHub's workflow commands.",
  "plan.plugins": "No code of plugins is executed by `plan` and `render`, and their output says so.",
  "plan.running":
    "`running:URL` is what a gateway runs, without what was changed at run time; its hash is that of the files.",
  "plan.usage":
    "`--usage URL` tells calls, tokens and spend of what changes, overrides and which of them end, and drift.",
  "admin.config":
    "`GET /admin/v1/config` has the configuration in use with the place of each value, without overrides and secrets.",
  "admin.usage": "`GET /admin/v1/usage` has calls and tokens of 30 days, spend of the month, and overrides.",
  "review.secrets":
    "No secret of the environment, of files, of URLs or of headers is printed by `plan` and `render`, in any format.",
  "render.merged":
    "`sluice render` prints the configuration with includes, overlays and defaults merged, and references as written.",
  "render.again": "What `sluice render` prints as YAML loads again as an equal configuration.",
  "render.provenance":
    "`render --provenance` says for each value in which file and line it is written, or that it is a default.",
  "render.invalid":
    "`render` of an invalid configuration prints its diagnostics on standard error and exits 1.",
} as const;
