/** `moved_from`: which names it may hold. */
import assert from "node:assert/strict";
import { verifies } from "../spec/verifies.ts";
import { errorsOf, folderOf, projectOf } from "./kit.ts";

const CHOICE = "provider: mock, model: m";
const endpoint = (name: string, moved: string) =>
  `      - { name: ${name}, ${CHOICE}, moved_from: ${moved} }\n`;

verifies("moved-from.checked", "moved_from holds a name of the past, of one object alone", async (t) => {
  const endpoints = (...lines: readonly string[]) => projectOf(`    endpoints:\n${lines.join("")}`);
  assert.deepEqual(await errorsOf(t, endpoints(endpoint("New", "old"), endpoint("Next", "older"))), []);
  const cases: readonly (readonly [lines: readonly string[], error: string])[] = [
    [[endpoint("New", "new")], "E0324 7:60 projects[0].endpoints[0].moved_from"],
    [
      [endpoint("New", "old"), `      - { name: Old, ${CHOICE} }\n`],
      "E0324 7:60 projects[0].endpoints[0].moved_from",
    ],
    [[endpoint("New", "old"), endpoint("Next", "old")], "E0307 8:61 projects[0].endpoints[1].moved_from"],
    [[endpoint("New", "mcp")], "E0308 7:60 projects[0].endpoints[0].moved_from"],
    [[endpoint("New", "Old")], "E0105 7:60 projects[0].endpoints[0].moved_from -> old"],
    // Two that change their names with each other would need a third.
    [
      [endpoint("One", "two"), endpoint("Two", "one")],
      "E0324 7:60 projects[0].endpoints[0].moved_from;E0324 8:60 projects[0].endpoints[1].moved_from",
    ],
  ];
  for (const [lines, error] of cases)
    assert.deepEqual(await errorsOf(t, endpoints(...lines)), error.split(";"), lines.join(""));
  assert.deepEqual(await errorsOf(t, projectOf(`    endpoint_defaults: { moved_from: old }\n`)), [
    "E0101 6:26 projects[0].endpoint_defaults.moved_from",
  ]);
});

verifies(
  "moved-from.checked",
  "so do aliases and proxy endpoints, and the message names both places",
  async (t) => {
    const wrapper = projectOf(
      `    aliases:\n      - { alias: fast, ${CHOICE}, moved_from: gpt-4/turbo }\n      - { alias: gpt-4/turbo, ${CHOICE} }\n`,
    ).replace("ai_gateway", "ai_wrapper");
    const { errors } = await folderOf(t, { "gateway.config.yaml": wrapper }).load({ env: {} });
    assert.deepEqual(
      errors.map(({ code, message }) => [code, message.replace(/\S*\/(?=gateway)/, "")]),
      [["E0324", "`moved_from` names alias `gpt-4/turbo`, which exists: gateway.config.yaml:8:11"]],
    );
    const proxies = projectOf(
      `    proxy_endpoints:\n      - { slug: a, upstream_url: "https://a.example", moved_from: b }\n      - { slug: b, upstream_url: "https://b.example" }\n`,
    ).replace("ai_gateway", "proxy");
    assert.deepEqual(await errorsOf(t, proxies), ["E0324 7:67 projects[0].proxy_endpoints[0].moved_from"]);
  },
);
