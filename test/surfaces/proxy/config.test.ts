/** What a configuration may not say of proxies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { errorsOf, folderOf, projectOf } from "../../config/kit.ts";

const proxies = (headers: string): string =>
  projectOf(
    `    proxy_endpoints:\n      - { slug: crm, upstream_url: "https://crm.example/", headers: ${headers} }\n`,
  );

test("headers that frame a message or belong to a connection are not an endpoint's to set", async (t) => {
  for (const name of ["Content-Length", "transfer-encoding", "Connection", "TE", "Upgrade", "Via"]) {
    const found = await errorsOf(t, proxies(`{ ${name}: x }`));
    assert.deepEqual(
      found.map((error) => error.split(" ")[0]),
      ["E0105"],
      name,
    );
  }
  assert.deepEqual(await errorsOf(t, proxies("{ Host: crm.internal, X-Team: blue }")), []);
});

test("a value that no header can hold is an error when it is loaded, and is not shown", async (t) => {
  const folder = folderOf(t, { "gateway.config.yaml": proxies('{ X-Api-Key: "${env:KEY}" }') });
  for (const KEY of ["k-5521\n", "k-5521\r\nX-Injected: 1", "k-5521\u20ac", "k-5521\0"]) {
    const { errors } = await folder.load({ env: { KEY } });
    assert.deepEqual(
      errors.map(({ code }) => code),
      ["E0105"],
    );
    assert.doesNotMatch(JSON.stringify(errors), /k-5521/);
  }
  assert.deepEqual((await folder.load({ env: { KEY: "k-5521" } })).errors, []);
});
