/** The template of a stage: refuses some calls and counts them. */
import type { Template } from "./template.ts";

export const stage: Template = {
  summary: "a step of the chain that a call passes through",
  plugin: ({ name, code }) => `/** Refuses calls that do not name a team. */
import { definePlugin, refuse } from "sluice/plugin";

export default definePlugin({
  name: "${name}",
  // One of nine stages; request hooks run in their order, response hooks in reverse.
  stage: "validate",
  description: "Refuses calls without a team.",
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      header: { type: "string", pattern: "^[a-z0-9-]+$", default: "x-team", description: "The header with the team." },
    },
  },
  examples: [{ header: "x-team" }],
  setup({ header }, host) {
    const refused = host.metrics.counter("${code}_refused_total", "Calls without a team", []).series();
    return {
      request(x) {
        if (x.headers[header] !== undefined) return undefined;
        refused(1);
        // Returned, not thrown: an exception is a bug, and answered with 500.
        return refuse(422, "${code}_missing", \`Request blocked: header '\${header}' is missing.\`);
      },
    };
  },
});
`,
  test: ({ name, variable, code }) => `/** Which calls the stage passes, refuses and counts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isGatewayError } from "sluice/plugin";
import { testExchange, testHost } from "sluice/testing";
import ${variable} from "./${name}.ts";

test("a call that names its team continues", async () => {
  const hooks = await ${variable}.setup({}, testHost());
  assert.equal(await hooks.request?.(testExchange({ headers: { "x-team": "red" } })), undefined);
});

test("a call without a team is refused and counted", async () => {
  const host = testHost();
  const hooks = await ${variable}.setup({ header: "x-group" }, host);
  const refusal = await hooks.request?.(testExchange());
  assert.ok(isGatewayError(refusal));
  assert.equal(refusal.status, 422);
  assert.equal(refusal.message, "Request blocked: header 'x-group' is missing.");
  assert.equal(host.counted.get("${code}_refused_total{}"), 1);
});
`,
  yaml: ({ name }) => `projects:
  - # …
    stages:
      - { use: ${name}, options: { header: x-team } }
`,
};
