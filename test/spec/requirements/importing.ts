/** Requirements of `sluice import`: configurations from those of other gateways. */
export const IMPORTING = {
  "import.valid":
    "`sluice import` makes of a configuration of LiteLLM, Portkey or Bifrost one that `validate --no-secrets --strict` accepts.",
  "import.every-key":
    "Each key of the source has a finding: exact, approximate, manual, unsupported, or no effect for keys that the source product does not read.",
  "import.secrets":
    "A secret that is hard-coded in the source is neither printed nor written: it becomes a reference to a variable and a manual finding.",
  "import.comments": "Comments of the source are kept at the nearest object of the configuration.",
  "import.tests":
    "The written tests assert for each model name which targets answer it and in which order, and pass.",
  "import.files":
    "Files are written to ./sluice or the folder of --out, never over existing ones, and are the same each time.",
  "import.exit":
    "`sluice import` exits with 0 when everything was carried over and with 1 when something needs a person.",
  "import.refused":
    "A source that cannot be read, parsed or recognized is refused with 1, and the message quotes nothing of it.",
  "import.text":
    "The text output groups findings by level, keys that never had an effect first, and fits the terminal.",
  "import.json": "`--output json` has findings and files; `--output sarif` is SARIF 2.1.0.",
  "import.models":
    "Deployments of one model name become one alias with its targets in order; fallbacks and aliases of models extend it.",
  "import.wildcards":
    "A wildcard becomes an alias for each model that Sluice knows, or is left out with a manual finding.",
  "import.upstreams":
    "Upstreams without a provider of their own are asked in OpenAI's format; those that no provider speaks to are left out.",
  "import.settings":
    "Prices, timeouts, limits, budgets, guardrails, MCP servers and pass-through endpoints of the source become those of Sluice.",
} as const;
