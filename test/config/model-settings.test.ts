/** Settings that models refuse, as `sluice validate` warns of them: at the setting, for every model that it goes to. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { PluginLoader } from "../../src/config/load.ts";
import { constraintsOf } from "../../src/plugin/settings.ts";
import { defineProvider, type SettingConstraint } from "../../src/provider-kit/index.ts";
import { brief, folderOf, loadPlugins, projectOf } from "./kit.ts";

const REFUSALS: readonly SettingConstraint[] = [
  { models: /^calm/, setting: "temperature", range: { min: 0, max: 1 }, reason: "calm models stay calm" },
  { models: /^stern/, setting: "temperature", reason: "stern models choose it themselves" },
  {
    models: /^short/,
    setting: "max_output_tokens",
    range: { min: 1, max: 2048 },
    reason: "they stop there",
  },
];

/** The usual made-up plugins, with rules for `vendor`. */
function pluginsWith(constraints: (options: object) => readonly SettingConstraint[]): PluginLoader {
  return async (modules) => {
    const known = await loadPlugins(modules);
    return {
      ...known,
      find: (kind, name) => {
        const plugin = known.find(kind, name);
        if (plugin === undefined || name !== "vendor") return plugin;
        const made = defineProvider<object>({
          ...{ name, label: name, description: "Made up.", defaultBaseUrl: undefined, needsApiKey: true },
          ...{ schema: plugin.schema, examples: [], constraints, setup: () => assert.fail() },
        });
        return { ...plugin, constraints: (options) => constraintsOf(made, options) };
      },
    };
  };
}

const CREDENTIALS = `    credentials:
      - { name: main, provider: vendor, api_key: "\${env:KEY}", base_url: "https://vendor.example" }
      - { name: east, provider: vendor, api_key: "\${env:KEY}", base_url: "https://vendor.example", options: { region: east } }
`;

async function warningsOf(
  t: TestContext,
  body: string,
  constraints: (options: object) => readonly SettingConstraint[] = () => REFUSALS,
): Promise<readonly string[]> {
  const folder = folderOf(t, { "gateway.config.yaml": projectOf(`${CREDENTIALS}${body}`) });
  const { errors, warnings } = await folder.load({ env: { KEY: "k-0001" } }, pluginsWith(constraints));
  assert.deepEqual(errors.map(brief), []);
  return warnings.map((warning) => `${brief(warning)}: ${warning.message}`);
}

test("a refused setting is warned of where it stands, with model and reason", async (t) => {
  const warnings = await warningsOf(
    t,
    `    endpoints:
      - name: A
        provider: vendor
        model: stern-2
        credential: main
        temperature: 0.5
      - { name: B, provider: vendor, model: calm-1, credential: main, temperature: 1.5 }
      - { name: C, provider: vendor, model: calm-1, credential: main, temperature: 0.5 }
      - { name: D, provider: vendor, model: plain, credential: main, temperature: 1.5 }
      - { name: E, provider: vendor, model: short-1, credential: main, max_output_tokens: 4000 }
`,
  );
  assert.deepEqual(warnings, [
    "W0109 14:22 projects[0].endpoints[0].temperature: temperature 0.5 is not sent to model `stern-2`: stern models choose it themselves",
    "W0109 15:84 projects[0].endpoints[1].temperature: temperature 1.5 is sent as 1 to model `calm-1`: calm models stay calm",
    "W0109 18:91 projects[0].endpoints[4].max_output_tokens: max_output_tokens 4000 is sent as 2048 to model `short-1`: they stop there",
  ]);
});

test("failover entries are looked at too, and named", async (t) => {
  const warnings = await warningsOf(
    t,
    `    endpoints:
      - name: A
        provider: mock
        model: stern-2
        failover: [{ credential: main, model: plain }, { credential: main, model: stern-1 }]
        temperature: 0.5
`,
  );
  assert.deepEqual(warnings, [
    "W0109 14:22 projects[0].endpoints[0].temperature: temperature 0.5 is not sent to failover[1].model `stern-1`: stern models choose it themselves",
  ]);
});

test("a provider template's model counts, and a default of the project is warned of once, where it stands", async (t) => {
  const warnings = await warningsOf(
    t,
    `    provider_templates:
      - { name: fixed, provider: vendor, model: stern-1, credential: main }
    endpoint_defaults: { temperature: 0.5 }
    endpoints:
      - { name: A, provider_template: fixed }
      - { name: B, provider_template: fixed }
`,
  );
  assert.deepEqual(warnings, [
    "W0109 11:39 projects[0].endpoint_defaults.temperature: temperature 0.5 is not sent to model `stern-1`: stern models choose it themselves",
  ]);
});

test("the credential's options decide, with the plugin's defaults filled in", async (t) => {
  const seen: unknown[] = [];
  const inEast = (options: object): readonly SettingConstraint[] => {
    seen.push(options);
    return Reflect.get(options, "region") === "east" ? REFUSALS : [];
  };
  const body = `    endpoints:
      - { name: A, provider: vendor, model: stern-1, credential: main, temperature: 1 }
      - { name: B, provider: vendor, model: stern-1, credential: east, temperature: 1 }
`;
  const warnings = await warningsOf(t, body, inEast);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /endpoints\[1\]\.temperature/);
  assert.deepEqual(seen, [{ region: "eu" }, { region: "east" }]);
});

test("rules that throw, or are none, warn of nothing", async (t) => {
  const body = `    endpoints:
      - { name: A, provider: vendor, model: stern-1, credential: main, temperature: 1 }
`;
  const broken = (): never => {
    throw new Error("no such region");
  };
  assert.deepEqual(await warningsOf(t, body, broken), []);
  // A plugin of plain JavaScript may answer anything.
  assert.deepEqual(await warningsOf(t, body, () => 7 as never), []);
});

test("a model or setting that stands for a reference not given is not judged", async (t) => {
  const text = projectOf(`${CREDENTIALS}    endpoints:
      - { name: A, provider: vendor, model: "\${env:MODEL}", credential: main, temperature: 1 }
      - { name: B, provider: vendor, model: stern-1, credential: main, temperature: "\${env:WARMTH}" }
`);
  const everything = pluginsWith(() => [{ setting: "temperature", reason: "all refuse it" }]);
  const folder = folderOf(t, { "gateway.config.yaml": text });
  const { errors, warnings } = await folder.load({ env: {}, secrets: "skip" }, everything);
  assert.deepEqual(errors.map(brief), []);
  assert.deepEqual(warnings.map(brief), []);
});
