/** Requirements of the configuration: its files, references, checks, ranges, defaults and secrets. */
export const CONFIG = {
  "config.file": "One YAML file is a configuration.",
  "config.directory":
    "A folder is a configuration: its .yaml and .yml files, in order of their names, are its parts.",
  "config.include": "`include` globs are relative to the file that contains them.",
  "config.project-include": "A project's `include` adds files whose lists are appended to the project's.",
  "config.merge.lists": "The lists projects, plugins and prices of all parts are concatenated.",
  "config.merge.single": "Any other top-level key in two parts is an error that names both places.",
  "config.duplicate.name":
    "A project uuid, or in one project a slug or the name of a token, credential or webhook, used twice is an error that names both places.",
  "config.missing": "A missing configuration file is an error that names it.",
  "config.ref.env":
    "`${env:NAME}` is the variable's value, `${env:NAME:-default}` the default when it is not set.",
  "config.ref.file":
    "`${file:PATH}` is the file's text, relative to the config file, one trailing newline dropped.",
  "config.ref.plain": "Any other `${…}` is plain text, and `$${env:` is a literal `${env:`.",
  "config.ref.scalar": "A reference's value is never parsed as YAML.",
  "config.ref.unresolved": "A reference that cannot be resolved is an error at its line and column.",
  "config.schema.ref-file": "A schema can be `{$ref: ./file.json}`, relative to the file.",
  "config.unknown-key": "An unknown key is an error, with the nearest known key suggested.",
  "config.error.place": "Every error gives code, file, line, column and path.",
  "config.error.code": "Codes are E and four digits.",
  "config.error.found-and-allowed": "An error says what was found and what is allowed.",
  "config.error.frame": "An error is printed with the line of the file and a mark under the place.",
  "config.error.all": "All errors are reported at once.",
  "config.error.one-of": "An error in a choice of shapes is reported for the intended shape.",
  "config.warning.code": "Warnings have codes as well, and do not prevent loading.",
  "config.version": "A `version` other than 1 is an error that names the supported ones.",
  "config.cross.exists":
    "What the configuration refers to must exist: an endpoint's credential, provider_template and guardrails (with the nearest name suggested), a failover entry's credential, a proxy endpoint's oauth_connection, and the provider that is a key of `providers`.",
  "config.cross.credential-provider": "A credential must belong to the endpoint's provider.",
  "config.cross.complete":
    "A monthly_budget_usd without estimated_cost_per_1k_tokens_usd, and a user_prompt_template without `{{input}}`, are errors.",
  "config.slug.reserved": "The slugs endpoints, chat, v1, mcp and proxy are errors.",
  "config.slug.pattern": "A slug is lower-case letters, digits and single dashes between them.",
  "config.slug.generated": "A slug is generated from the name when absent.",
  "config.yaml.core": "YAML uses the core schema: `no` is a string.",
  "config.yaml.rejected":
    "A custom tag, a key twice in one map, unbounded alias expansion, and the keys `__proto__`, `constructor` and `prototype` are errors.",
  "config.defaults.root":
    "Without settings, `server` has its documented defaults, `admin` is on at 127.0.0.1:8081, `state` is in memory, `log` is level info without content, no traces are sent, and the SSRF guard allows nothing.",
  "config.defaults.provider": "A provider is enabled, with the documented timeouts.",
  "config.defaults.token": "A token is active, without cap and expiry.",
  "config.defaults.guardrail":
    "A guardrail checks input, blocks on errors, has 1000 ms, and is not in shadow mode.",
  "config.project.required": "A project needs uuid, name and type.",
  "config.project.id": "A project's id is derived from its uuid, stable, unless given.",
  "config.project.type": "A project's type is ai_gateway, ai_wrapper or proxy.",
  "config.endpoint-defaults": "`endpoint_defaults` apply to keys that an endpoint does not set.",
  "config.provider-template": "A provider_template fixes provider, model and credential.",
  "config.overlay.maps": "An overlay's maps merge into the config's.",
  "config.overlay.lists":
    "An overlay's lists of objects merge by uuid, slug, alias, id, name, then hash; entries that it omits are kept.",
  "config.overlay.unmatched":
    "An overlay's entry that matches nothing is added if it is complete, otherwise an error that names the nearest.",
  "config.overlay.replace":
    "Lists without identities replace the original, with a warning for dropped objects unless `- replace: true` comes first.",
  "config.overlay.null": "`null` in an overlay removes a key.",
  "config.plugin.options":
    "Options of third-party plugins are checked against their schema, with their line.",
  "config.plugin.local": "`plugins` load local .ts and .js files, relative to the config.",
  "config.plugin.broken": "A plugin module that cannot be loaded is an error at its line.",
  "config.secret.token-hash": "A token's hash is `sha256:` and 64 hex digits; anything else is an error.",
  "config.secret.hidden": "No error or warning shows a secret's value.",
  "config.secret.literal": "A hard-coded secret is a warning.",
  "config.endpoint.required": "An endpoint needs a name, and provider and model or a provider_template.",
  "config.endpoint.defaults": "Every other key of an endpoint has its documented default.",
  "config.endpoint.provider": "`provider` is one of the known keys.",
  "config.endpoint.ranges":
    "`temperature` is a number from 0 to 2, `top_p` from 0 to 1; `max_output_tokens` is an integer from 1 to 200000, `session_ttl_seconds` from 60 to 604800, `session_max_messages` from 1 to 500; `usage_hard_limit_tokens`, `session_max_tokens`, `rate_limit_per_minute` and `rate_limit_per_hour` are positive integers or empty.",
  "config.endpoint.budget": "`monthly_budget_usd` is a decimal or empty; negative is an error.",
  "config.endpoint.schemas": "A schema that is not a valid JSON Schema is an error at its place.",
  "config.endpoint.template-overrides":
    "An endpoint with a template has its own temperature, top_p, max tokens.",
  "config.test-files":
    "`*.test.yaml` and `*.test.yml` are never parts of a configuration and match no include.",
  "config.schema.slow": "A schema that takes over 2 s to compile is an error at load.",
  "config.override.git-wins": "An override is dropped when git changes its base value.",
  "config.override.revocation": "A revocation is not undone when an override is dropped.",
  "config.secret.fingerprint": "APIs and plans show a secret's fingerprint, never the secret.",
  "config.root.inside": "Includes, prompts, schemas and plugin files outside the root are refused.",
  "config.root.links": "A symbolic link that leads out of the root is refused.",
  "config.root.hidden": "No diagnostic shows the contents of a refused file.",
  "config.root.option": "The root is the folder of the first file, or `--root`.",
  "config.root.mounted": "`${file:…}` in a field that holds a secret may name an absolute path anywhere.",
  "config.files.regular": "Only regular files are read; devices, pipes and folders are errors.",
  "config.include.linear":
    "Patterns of `include` are matched in linear time over a bounded number of folders.",
  "config.error.bounded": "At most 200 diagnostics are printed, with a count of the rest.",
  "config.check.demo-token": "The demo token beyond loopback is an error.",
  "config.check.network-allow": "`network.allow` takes hostnames, addresses and CIDR blocks only.",
  "config.check.unpriced": "A model that no price is known of is a warning, with the nearest known model.",
  "config.check.failover": "A failover entry that repeats one before it is a warning.",
  "config.check.mistaken-reference": "`$NAME` and `${NAME}` as a credential are errors.",
  "config.check.tool": "An exposed endpoint whose input_schema has no `message` is a warning.",
  "config.check.cleartext": "A secret that would travel over http beyond loopback is a warning.",
  "config.check.transport":
    "A client certificate without its key, certificates that are not PEM, and a malformed forward proxy are errors; a hard-coded private key or proxy password is a warning.",
  "config.check.short-secret": "A webhook secret of fewer than 8 characters is an error.",
  "config.alias.inactive": "An alias with `is_active: false` gets 404 and is in no list of models.",
  "config.secrets.allow":
    "`secrets: { allow: […] }` of an include restricts the names that its files, and those they include, may reference.",
  "config.no-plugins": "`validate --no-plugins` executes no plugin code, and reports that.",
  "config.no-secrets":
    "Without secrets a reference counts as set, but prompts, templates and schemas are still read.",
  "config.control-plane": "`control_plane.tokens` grant access to the control plane and the console.",
};
