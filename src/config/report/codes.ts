/**
 * Every diagnostic of configuration by its code. Codes are stable: scripts and issue trackers hold on to them, so one
 * is never given a second meaning. E is an error, W a warning.
 */
interface CodeEntry {
  readonly title: string;
  /** What it means and what to do, in a sentence or two. */
  readonly explanation: string;
}

export const CODES = {
  // Files and YAML.
  E0001: {
    title: "file cannot be read",
    explanation:
      "A file that the configuration names does not exist, is not a regular file, is too large, or is not UTF-8 text.",
  },
  E0002: {
    title: "not valid YAML",
    explanation: "The text does not parse as YAML 1.2. Nothing else of the file is checked until it does.",
  },
  E0003: {
    title: "duplicate key",
    explanation:
      "A mapping defines the key more than once. Only one of the definitions could count, so neither does.",
  },
  E0004: {
    title: "forbidden key",
    explanation: "`__proto__`, `constructor` and `prototype` are refused as keys.",
  },
  E0005: {
    title: "alias refused",
    explanation: "An alias names no anchor, contains itself, or expands to too much.",
  },
  E0006: { title: "tag refused", explanation: "Only the tags of YAML's core schema are known." },
  E0007: { title: "not a map", explanation: "A configuration file is a map of keys at its top." },
  E0008: {
    title: "include not found",
    explanation:
      "`include` names a file that does not exist or holds test cases, or a pattern that searches too much.",
  },
  E0009: {
    title: "key defined in two parts",
    explanation: "The lists of a configuration's parts join; any other key may be defined in one part only.",
  },
  E0010: {
    title: "unsupported version",
    explanation: "`version` names a layout of the configuration that this program does not read.",
  },
  E0011: {
    title: "outside the root",
    explanation:
      "A configuration's files stay inside its root, symbolic links resolved: the folder of its first file, or `--root`. Only `${file:…}` in a field that holds a secret may name an absolute path elsewhere.",
  },
  E0012: {
    title: "overlay matches nothing",
    explanation:
      "An entry of an overlay names nothing that it could change, and lacks what it needs to be added as a new one. A list whose entries have names cannot be replaced: switch entries off with `is_active: false`.",
  },
  E0013: {
    title: "include cycle",
    explanation:
      "Files include each other in a circle, or a file names itself. The message lists them in order. A pattern may match the file that holds it.",
  },

  // Shape.
  E0101: { title: "unknown key", explanation: "The key is not one of those known at this place." },
  E0102: { title: "missing key", explanation: "A key that has no default is not given." },
  E0103: { title: "wrong type", explanation: "The value is of another type than its key takes." },
  E0104: {
    title: "not an allowed value",
    explanation: "The key takes one of a few values, and this is none of them.",
  },
  E0105: { title: "wrong form", explanation: "The text does not have the form that its key takes." },
  E0106: {
    title: "wrong length",
    explanation: "A text, list or map has too few or too many elements, or contains duplicates.",
  },
  E0107: { title: "out of range", explanation: "The number is below or above what its key takes." },
  E0108: { title: "not accepted", explanation: "The value breaks a rule of the schema that describes it." },
  E0109: {
    title: "option given twice",
    explanation: "A guardrail's option is set both next to `use` and under `options`.",
  },
  E0110: {
    title: "not an amount",
    explanation: "Amounts of money are plain decimals of zero or more, without exponent.",
  },

  // References.
  E0201: {
    title: "unset environment variable",
    explanation: "`${env:NAME}` names a variable that is not set and has no `:-default`.",
  },
  E0202: {
    title: "unreadable reference",
    explanation: "`${file:PATH}` or `$ref` names a file that cannot be read.",
  },
  E0203: {
    title: "malformed reference",
    explanation:
      "References are `${env:NAME}`, `${env:NAME:-default}` and `${file:PATH}`; `$${env:` writes one literally.",
  },
  E0204: {
    title: "not a reference",
    explanation:
      "A secret is `$NAME` or `${NAME}`, which is no reference here and would be sent as it is: write `${env:NAME}`.",
  },
  E0205: {
    title: "reference not allowed",
    explanation:
      "The include that brought in the file has `secrets: { allow: […] }`, and the name is not among those. Files in the folder of the file itself may be read.",
  },

  // What refers to what.
  E0301: { title: "unknown credential", explanation: "The project has no credential of that name." },
  E0302: {
    title: "credential of another provider",
    explanation: "A credential must belong to the provider that the endpoint chooses.",
  },
  E0303: {
    title: "unknown provider",
    explanation: "No provider of that key is built in or registered by a plugin.",
  },
  E0304: {
    title: "unknown provider template",
    explanation: "The project has no provider template of that name.",
  },
  E0305: {
    title: "unknown plugin",
    explanation: "No guardrail, stage or store of that name is built in or registered by a plugin.",
  },
  E0306: {
    title: "unknown OAuth connection",
    explanation: "The project has no OAuth connection of that name.",
  },
  E0307: { title: "duplicate", explanation: "A name that must be unique is used twice." },
  E0308: { title: "reserved slug", explanation: "The slug is the path of another route." },
  E0309: { title: "no slug", explanation: "No slug can be made from the name, and none is given." },
  E0310: {
    title: "template and manual provider",
    explanation: "An endpoint takes a provider template, or provider, model and credential, not both.",
  },
  E0311: {
    title: "no provider chosen",
    explanation: "An endpoint needs provider, model and credential, or a provider template.",
  },
  E0312: {
    title: "no credential",
    explanation: "The provider needs a key, so the endpoint needs a credential.",
  },
  E0313: {
    title: "budget without price",
    explanation: "`monthly_budget_usd` needs `estimated_cost_per_1k_tokens_usd` to compute spend.",
  },
  E0314: {
    title: "template without {{input}}",
    explanation: "A user prompt template without `{{input}}` would drop what the user says.",
  },
  E0315: {
    title: "unusable JSON Schema",
    explanation: "The schema is not valid, refers outside itself, or takes too long to compile.",
  },
  E0316: {
    title: "plugin not loaded",
    explanation: "A module under `plugins` cannot be read, or does not export plugins.",
  },
  E0317: {
    title: "no base URL",
    explanation:
      "The provider has no address of its own, so the credential or `providers.<key>` must give `base_url`.",
  },
  E0318: { title: "no API key", explanation: "The provider needs a key, and the credential has none." },
  E0319: { title: "grant incomplete", explanation: "An OAuth grant lacks what it is made with." },
  E0320: {
    title: "demo token beyond loopback",
    explanation: "The demo token is public: a gateway that listens beyond loopback must not accept it.",
  },
  E0321: {
    title: "secret too short",
    explanation: "A webhook's secret has fewer than 8 characters, so that its signatures could be forged.",
  },

  E0324: {
    title: "moved from a name in use",
    explanation:
      "`moved_from` is the name that the object had before. It cannot be its present name, or one that another object of the project has.",
  },

  // Test files.
  E0501: {
    title: "unclear test case",
    explanation:
      "A case or step of a test file makes no call, makes two at once, or gives answers that exclude each other.",
  },
  E0502: {
    title: "not in the configuration",
    explanation:
      "A test case names a project, endpoint, token, target or guardrail that the configuration lacks.",
  },
  E0503: {
    title: "unknown placeholder",
    explanation:
      "`{{name}}` in a test case is neither a key of every row of `each`, nor saved by an earlier step, nor a fact of the project.",
  },
  E0504: {
    title: "unusable pattern",
    explanation: "The pattern of a `matches` is not a regular expression of RE2.",
  },

  // Plugins at work.
  E0323: {
    title: "control plane unreachable",
    explanation: "`control_plane.listener` is `admin` and the admin listener is disabled.",
  },
  E0900: {
    title: "plugin not set up",
    explanation: "A plugin accepted its options and failed when it was set up with them.",
  },
  E0901: {
    title: "not loaded",
    explanation:
      "Loading failed for a reason outside the configuration, such as a lack of memory or too many open files. A reload is retried.",
  },
  E0902: {
    title: "files kept changing",
    explanation:
      "The files changed again each time they were read, so no load saw one revision of them. It is retried.",
  },
  E0903: {
    title: "demo token beyond loopback",
    explanation: "The demo token is public, so a gateway that listens beyond loopback does not take it on.",
  },

  // Warnings.
  W0101: {
    title: "secret in plain text",
    explanation: "A secret is hard-coded in a file that goes to git. An error with --strict.",
  },
  W0102: {
    title: "cap without price",
    explanation:
      "A token's monthly cap counts nothing where no price is known: none of the endpoint, none under `prices`, none in the bundled table.",
  },
  W0103: { title: "unknown event", explanation: "The webhook asks for an event that is never raised." },
  W0104: { title: "two samplers", explanation: "Tuning both temperature and top_p is discouraged." },
  W0105: {
    title: "section not served",
    explanation: "A project of this type does not serve what the section configures.",
  },
  W0106: { title: "expired token", explanation: "The token's `expires_at` has passed." },
  W0107: { title: "include matches nothing", explanation: "A pattern under `include` matches no file." },
  W0109: {
    title: "setting refused",
    explanation: "The model refuses the setting, so it is left out or brought into the model's range.",
  },
  W0112: {
    title: "no price known",
    explanation:
      "Neither `prices` nor the bundled table has a price for the model, and the endpoint has no estimate: its calls count as free. The name may be misspelled.",
  },
  W0113: {
    title: "repeated failover entry",
    explanation: "A failover entry has the credential and model of the primary, or of an entry before it.",
  },
  W0114: {
    title: "tool that nobody can call",
    explanation:
      "An endpoint is exposed as an MCP tool, and its `input_schema` has no `message`, which every call needs.",
  },
  W0115: {
    title: "secret in clear text",
    explanation: "A secret would be sent over `http://` to another machine, readable on the way.",
  },
  W0116: {
    title: "plugin not loaded",
    explanation:
      "With `--no-plugins` no plugin code is executed: the plugins of the module count as known, and their options are not checked.",
  },
  W0121: {
    title: "estimate differs from the list price",
    explanation:
      "`estimated_cost_per_1k_tokens_usd` wins over the list price of the model and differs from it by more than 20 %: budgets count other sums than the vendor's invoice. The list price is that of 3 input tokens for each output token.",
  },
  W0120: {
    title: "state lost at a restart",
    explanation:
      "`state.driver: memory` keeps nothing: after a restart budgets and caps count from zero, and a token that the control plane has revoked works again if it is in the file.",
  },
  W0501: {
    title: "probably misspelled",
    explanation:
      "A key of a test's call is nearly one of those known. Unknown keys are part of the request's body.",
  },
  W0111: {
    title: "overlay drops entries",
    explanation:
      "An overlay's list replaces one whose entries have no names to merge by, such as guardrails or failover, and leaves some of them out. A first entry `- replace: true` says that this is intended.",
  },
  W0110: {
    title: "streams are held",
    explanation:
      "A guardrail on answers judges them whole, so a streamed answer reaches its client in one piece, at its end.",
  },
} as const satisfies Record<string, CodeEntry>;

export type Code = keyof typeof CODES;
