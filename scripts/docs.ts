// Generates the reference pages of docs/ from the code: errors, configuration, metrics, behavior. `npm run docs` runs it;
// test/docs.test.ts fails when a page is out of date.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CODES } from "../src/config/report/codes.ts";
import { schemaWith } from "../src/config/schema/config.ts";
import { shouldRetry } from "../src/http/respond.ts";
import { ERRORS, type ErrorCode } from "../src/plugin/errors.ts";
import { reject } from "../src/plugin/index.ts";
import { BUILT_IN } from "../src/plugins-host/builtin.ts";
import { Registry } from "../src/plugins-host/registry.ts";
import { RPC_ERROR_CODES } from "../src/surfaces/jsonrpc/jsonrpc.ts";
import { behaviorPage } from "./behavior-page.ts";
import { importingPage } from "./importing-page.ts";
import { metricsPage } from "./metrics-page.ts";
import { planRulesPage } from "./plan-rules-page.ts";
import { pluginPages } from "./plugin-pages.ts";
import { routesPage } from "./routes-page.ts";
import { cell, keyRows, keyTable } from "./schema-table.ts";

const WRITTEN = "<!-- Written by `npm run docs` from the code. Do not edit. -->";

/** Every generated page: path from the root of the repository, and text. */
export function pages(): ReadonlyMap<string, string> {
  return new Map([
    ["docs/errors.md", errorsPage()],
    ["docs/configuration.md", configurationPage()],
    ["docs/importing.md", importingPage(WRITTEN)],
    ["docs/metrics.md", metricsPage(WRITTEN)],
    ["docs/routes.md", routesPage(WRITTEN)],
    ["docs/behavior.md", behaviorPage(WRITTEN)],
    ["docs/plan-rules.md", planRulesPage(WRITTEN)],
    ...pluginPages(),
  ]);
}

function errorsPage(): string {
  const answers = Object.entries(ERRORS).map(([code, { status, message }]) => {
    // Object.entries loses the type of the keys; message parameters do not affect the retry header.
    const error = reject(code as ErrorCode, {} as never);
    return `| ${status} | \`${cell(message)}\` | ${shouldRetry(error) ? "yes" : "no"} | \`${code}\` |`;
  });
  const protocol = Object.entries(RPC_ERROR_CODES)
    .toSorted(([a], [b]) => Number(b) - Number(a))
    .map(([rpc, code]) => `| ${rpc} | \`${code}\` |`);
  const diagnostics = Object.entries(CODES).map(
    ([code, { title, explanation }]) => `| ${code} | ${cell(title)} | ${cell(explanation)} |`,
  );
  return `${WRITTEN}

# Errors

## Errors of calls

The body is \`{"ok": false, "error": …}\`, with \`detail\`, \`scope\` and \`retry_after\` where they apply. The code is in the
header \`X-Error-Code\` and in the log; a provider's own code (such as \`context_length_exceeded\`) is in
\`X-Provider-Error-Code\`. "Retry" is the value of the header \`X-Should-Retry\`; a call with \`Retry-After\` can always be
repeated after that time. A 502 caused by the provider's 400, 401, 403, 404, 413 or 422 has \`false\`: the same request would
fail again.

Answers of endpoints with rate limits, successful or not, have \`RateLimit-Policy\` and \`RateLimit\` (IETF draft
\`ratelimit-headers\`): for each window its limit \`q\`, length \`w\`, remaining calls \`r\`, and seconds \`t\` until
the next call is possible; a 429 names the window that is full. \`X-RateLimit-Limit\`, \`-Remaining\` and \`-Reset\` (seconds)
are those of the window with the fewest calls left.

| Status | \`error\` | Retry | Code |
|---|---|---|---|
${answers.join("\n")}

JSON-RPC surfaces (MCP bridge, control plane) return errors in the JSON-RPC envelope, mostly with status 200. \`X-Error-Code\` has
the code of the table above or, for protocol errors:

| JSON-RPC | Code |
|---|---|
${protocol.join("\n")}

## Diagnostics of the configuration

Codes are stable. E codes are errors, W codes are warnings.

| Code | Diagnostic | Meaning |
|---|---|---|
${diagnostics.join("\n")}
`;
}

function configurationPage(): string {
  const rows = keyRows(schemaWith(new Registry([]).stageKeys)).map(({ row }) => row);
  const plugins = BUILT_IN.filter(({ kind }) => kind === "guardrail" || kind === "provider").flatMap(
    (plugin) => {
      const options = keyRows(plugin.schema);
      const table = options.length === 0 ? "No options." : keyTable("Option", options);
      return [`### ${plugin.kind} \`${plugin.name}\`\n\n${plugin.description}\n\n${table}\n`];
    },
  );
  return `${WRITTEN}

# Configuration

## Files

A configuration is a YAML file, or a folder whose \`*.yaml\` and \`*.yml\` files are its parts. Files can \`include\` others.
\`*.test.yaml\` and \`*.test.yml\` contain test cases and are never parts.

**Root.** All files that a configuration names must be inside its root, after resolving symbolic links. The root is the folder
of the first file, or \`--root DIR\`. Included files, prompts, schemas and plugin files outside it are rejected before they are
opened (E0011). A field that contains a secret (\`api_key\`, tokens, \`secret\`, \`client_secret\`, headers, \`url\`) may name a mounted
file by its absolute path: \`\${file:/run/secrets/key}\`. Files must be regular files of at most 32 MiB, 256 MiB together. An
overlay is named on the command line and may be anywhere; the files that it names must be inside the root.

**Included files of other teams.** An entry of \`include\` can be a map that restricts which references its files, and the files
that they include, may contain:

\`\`\`yaml
projects:
  - include:
      - { path: teams/support.yaml, secrets: { allow: ["SUPPORT_*"] } }
\`\`\`

\`allow\` lists environment variables and file paths (absolute, or relative to the root); \`*\` matches any characters. Prompts,
templates and schemas in the folder of the referring file need no entry. Such files cannot register plugins, because plugin
code can read every secret.

**Overlays.** \`--overlay FILE\` is a partial configuration. Maps merge, \`null\` removes a key, and lists of objects merge
entry by entry: by \`uuid\`, \`slug\`, \`alias\`, \`id\`, \`name\`, then \`hash\`, the first of these that both have (prices by provider
and model). An entry that matches nothing is added when it is complete, and is an error otherwise (E0012). Entries
that the overlay omits are kept: use \`is_active: false\` to deactivate one, or \`null\` to remove a whole key. Lists whose entries
have no names (\`guardrails\`, \`failover\`, \`stages\`, \`events\`, \`scopes\`) replace the original list; if that drops objects,
W0111 warns, unless the list begins with \`- replace: true\`.

**Untrusted pull requests.** \`sluice validate --no-secrets --no-plugins\` needs no secret and executes no plugin code: prompts,
templates and schemas are read, variables and mounted secrets are treated as set.

## Keys

All configuration keys. "required" means required when the surrounding map is present. \`[]\` is each entry of a list, \`*\` any
name.

| Key | Type | Default | Meaning |
|---|---|---|---|
${rows.join("\n")}

## Options of built-in guardrails and providers

Options of a guardrail are set next to \`use\` or under \`options\`; options of a provider under \`options\` of a credential or
of \`providers.<key>\`.

${plugins.join("\n")}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, text] of pages()) writeFileSync(new URL(`../${path}`, import.meta.url), text);
}
