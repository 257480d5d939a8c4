/** Twelve mistakes in two files: all reported at once, each at its exact place, none twice. */
import assert from "node:assert/strict";
import { basename } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadConfig } from "../../src/config/load.ts";
import { loadPlugins } from "./kit.ts";

const path = fileURLToPath(new URL("./fixtures/twelve/gateway.config.yaml", import.meta.url));

test("twelve different mistakes give twelve diagnostics at their places", async () => {
  const env = { OPENAI_API_KEY: "sk-hidden-0001", SPARE_KEYS: "" };
  const request = { path, overlays: [], env, secrets: "resolve", strict: false } as const;
  const { config, errors, warnings } = await loadConfig(request, loadPlugins);
  assert.equal(config, undefined);
  assert.deepEqual(
    warnings.map(({ code }) => code),
    ["W0120"],
    "its budget is in memory",
  );
  const found = errors.map(
    ({ code, file, line, column, path: at, suggestion = "-" }) =>
      `${code} ${basename(file)}:${line}:${column} ${at} ${suggestion}`,
  );
  assert.deepEqual(found, [
    "E0201 gateway.config.yaml:12:59 projects[0].credentials[2].api_key ${env:SPARE_KEYS}",
    "E0101 gateway.config.yaml:18:9 projects[0].endpoints[0].temprature temperature",
    "E0103 gateway.config.yaml:23:20 projects[0].endpoints[1].is_active true",
    "E0107 gateway.config.yaml:28:22 projects[0].endpoints[2].temperature -",
    "E0301 gateway.config.yaml:32:21 projects[0].endpoints[3].credential openai-main",
    "E0302 gateway.config.yaml:36:21 projects[0].endpoints[4].credential openai-main",
    "E0313 gateway.config.yaml:42:29 projects[0].endpoints[5].monthly_budget_usd -",
    "E0307 review.yaml:4:11 projects[0].endpoints[6].slug -",
    "E0308 review.yaml:9:11 projects[0].endpoints[7].slug -",
    "E0314 review.yaml:17:27 projects[0].endpoints[8].user_prompt_template -",
    "E0315 review.yaml:25:24 projects[0].endpoints[9].input_schema.properties.score.type -",
    "E0104 review.yaml:31:34 projects[0].endpoints[10].guardrails[0].strictness high",
  ]);
  const duplicate = errors.find(({ code }) => code === "E0307");
  assert.match(duplicate?.message ?? "", /gateway\.config\.yaml:38:9$/);
});
