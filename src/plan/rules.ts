/** The rules of plans: each kind of change with its id, its risk and what it is. Data alone; docs/plan-rules.md is made of it. */

/** Highest first. */
export const RISKS = ["breaking", "weakens", "money", "behavior", "safe"] as const;
export type Risk = (typeof RISKS)[number];

export interface Rule {
  readonly risk: Risk;
  readonly title: string;
  readonly description: string;
}

const rules = {
  P101: {
    risk: "breaking",
    title: "Something that clients call is gone",
    description:
      "An endpoint, alias, proxy endpoint or project is removed, switched off, or renamed without `moved_from`; or `moved_from` is removed, so that the old name stops answering. Safe when it was inactive.",
  },
  P102: {
    risk: "breaking",
    title: "Project type changed",
    description: "The project serves another surface: its clients' paths answer 400.",
  },
  P104: {
    risk: "breaking",
    title: "Token no longer accepted",
    description:
      "A token of a project or of the control plane is removed, switched off, or its hash is replaced. Safe when it was inactive or expired.",
  },
  P105: {
    risk: "breaking",
    title: "Token may do less",
    description: "A scope, role or project is taken from a token, or it expires sooner.",
  },
  P106: {
    risk: "breaking",
    title: "Schema narrower, or tool withdrawn",
    description:
      "An input schema is added or refuses documents that it accepted; an output schema is added or changed; an MCP tool is withdrawn or its schema is narrower.",
  },
  P107: {
    risk: "breaking",
    title: "Limit or guardrail stricter",
    description:
      "A method is withdrawn; streaming or sessions are switched off, or sessions are shorter or smaller; the provider or credential of a live target is disabled; a limit, token cap, budget or `max_output_tokens` is added or lowered; a guardrail in block mode is added or stricter, or its timeout is shorter with `on_error: block`. Also an option whose direction is unknown.",
  },
  P201: {
    risk: "weakens",
    title: "Protection of texts weaker",
    description:
      "A guardrail is removed or weaker: its mode, sides, roles, kinds or keywords, `whole_word`, `restore`, `on_error: allow`, `isolate` off, or its place behind one that masks. An output schema is removed; an input schema is removed or wider. Also an option whose direction is unknown.",
  },
  P202: {
    risk: "weakens",
    title: "Access or limits wider",
    description:
      "A rate limit or token cap is raised or removed; a token or scope is added, or a token expires later; a token of the control plane is added or its role raised; more content is logged, kept or exported; `network.allow`, `trusted_proxies` or a listening address is wider; `on_unavailable: allow`; an endpoint becomes an MCP tool; a webhook is removed or receives fewer events.",
  },
  P203: {
    risk: "weakens",
    title: "New host",
    description:
      "The gateway talks to a host that the configuration did not name before. A host inside a reference is an unknown host.",
  },
  P301: {
    risk: "money",
    title: "More can be spent",
    description:
      "A budget is raised or removed, or reserves less (`budget_estimate: expected`); a model, failover entry or `max_output_tokens` makes a call cost more; a price or `estimated_cost_per_1k_tokens_usd` is lowered, so that budgets last longer.",
  },
  P401: {
    risk: "behavior",
    title: "Answers may differ",
    description:
      "A prompt, template, model, provider, credential or its reference, failover entries or their order, temperature and other settings, timeouts, the code of a plugin, `log.level`, or a price that is raised.",
  },
  P402: {
    risk: "behavior",
    title: "Guardrail masks or records more",
    description: "A guardrail in mask or shadow mode is added or stricter.",
  },
  P501: {
    risk: "safe",
    title: "No effect on calls",
    description:
      "A name or description, annotations of a schema, an order without meaning, or something that is not in use is changed or removed.",
  },
  P502: {
    risk: "safe",
    title: "Something added or switched on",
    description: "Its tokens are P202, and its hosts P203 besides.",
  },
  P601: {
    risk: "behavior",
    title: "Needs a restart",
    description: "A key of `server`, `admin` or `state`: a reload applies everything else and says so.",
  },
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleId = keyof typeof rules;
export const RULES: Readonly<Record<RuleId, Rule>> = rules;
