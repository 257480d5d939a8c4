/** docs/importing.md: what `sluice import` makes of each key and upstream, from the mappings that the importer uses. */
import { CONFIG_FILE, PRODUCTS, TEST_FILE } from "../src/cli/import/convert.ts";
import { LEVEL_MEANING, LEVELS, type MappingRow } from "../src/cli/import/mapping.ts";
import { type Product, UPSTREAMS } from "../src/cli/import/upstreams.ts";
import { cell } from "./schema-table.ts";

export function importingPage(written: string): string {
  const products = Object.entries(PRODUCTS).map(([product, { label, mapping }]) => {
    const rows = mapping.rows.map(mappingRow).join("\n");
    const dead = mapping.dead.length === 0 ? "" : `\n${deadParagraph(label, mapping.dead)}\n`;
    return `## ${label}

\`sluice import ${product} FILE\` reads ${ABOUT[product] ?? ""}
${dead}
| Key | Becomes | Level | Meaning |
|---|---|---|---|
${rows}
`;
  });
  const levels = LEVELS.map((level) => `| ${level} | ${LEVEL_MEANING[level]} |`);
  return `${written}

# Importing

\`sluice import litellm|portkey|bifrost FILE\` makes a configuration from that of another gateway:

\`\`\`sh
sluice import litellm config.yaml
sluice validate --no-secrets --strict sluice/${CONFIG_FILE}
sluice test sluice/${TEST_FILE}
\`\`\`

- \`${CONFIG_FILE}\` is a project of type \`ai_wrapper\` whose aliases are the model names of the source, with the source's
  comments at the nearest object. Clients keep their model names; their base URL becomes \`http://HOST:PORT/api/UUID/v1\`.
- \`${TEST_FILE}\` asserts for each model name which target answers it, which take over when that one fails, and that names
  which were left out get 404.
- A finding for each key of the source says what became of it, keys that never had an effect first. \`--output json\` and
  \`--output sarif\` are for scripts and code scanning.
- Secrets in the source are neither printed nor written. The configuration refers to \`\${env:<PROVIDER>_API_KEY}\` instead,
  and the finding names the variable.
- The hashes of tokens are placeholders that no token has. Make tokens with \`sluice token new\`, and put their hashes there.

| Level | Meaning |
|---|---|
${levels.join("\n")}

The exit status is 0 when no key is manual or unsupported, and 1 otherwise.

## Defaults that differ

What a source leaves out has the defaults of Sluice: an answer may take 60 s (\`providers.<key>.timeout_ms\`), a whole call 120 s
(\`server.request_timeout_ms\`); a failed call is not repeated but goes to the next failover entry; clients need a token;
texts are not logged.

## Upstreams

| Upstream | LiteLLM | Portkey | Bifrost | In Sluice |
|---|---|---|---|---|
${UPSTREAMS.map(upstreamRow).join("\n")}

${products.join("\n")}`;
}

const ABOUT: Readonly<Record<string, string>> = {
  litellm:
    "a proxy configuration. Deployments of one `model_name` become one alias: by `order`, then by `weight`, then in the order of the file. Included files are imported one by one.",
  portkey:
    "a gateway config, an export of one, or a list of them. Each becomes an alias with the name of the config, or of the file. A config that leaves the model to clients becomes one alias for each model of its first provider that Sluice knows. Keys of targets are those of a config.",
  bifrost:
    "`config.json`. Aliases are called `provider/model`, as clients of Bifrost name models; with virtual keys also `model` alone.",
};

function deadParagraph(label: string, dead: readonly string[]): string {
  const keys = dead.map((key) => `\`${key}\``).join(", ");
  return `These keys are common in public files and have no effect in ${label}, in any section: ${keys}. Keys that are not in the
table have no effect either.`;
}

function mappingRow({ keys, level, or = [], target, message }: MappingRow): string {
  const names = keys.map((key) => `\`${cell(key)}\``).join(", ");
  const levels = [level, ...or].join(", ");
  return `| ${names} | ${target === null ? "" : `\`${cell(target)}\``} | ${levels} | ${cell(message)} |`;
}

function upstreamRow({ label, names, message }: (typeof UPSTREAMS)[number]): string {
  const columns = (["litellm", "portkey", "bifrost"] satisfies Product[]).map((product) =>
    (names[product] ?? []).map((name) => `\`${name}\``).join(", "),
  );
  return `| ${label} | ${columns.join(" | ")} | ${cell(message)} |`;
}
