/** Proxied calls signed by an OAuth connection: one token for all, refreshed in time, and no secret anywhere. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import {
  type FakeUpstream,
  fakeUpstream,
  hangUpAnswer,
  jsonAnswer,
  type ScriptedAnswer,
  stallAnswer,
  statusAnswer,
} from "../../src/testing/fake-upstream.ts";
import { CALLER, exchange, proxied, startProxy } from "../surfaces/proxy/kit.ts";
import { type Answer, assertRefused, at, until } from "./kit/client.ts";
import { PROJECT } from "./kit/config.ts";
import type { Closer, Harness } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const SECRETS = ["client-secret-8c1f", "refresh-token-77ab", "access-token-"];

interface Signed extends Harness {
  readonly upstream: FakeUpstream;
  readonly issuer: FakeUpstream;
  get(rest?: string): Promise<Answer>;
  post(body: string): Promise<Answer>;
  /** What calls were signed with, in their order. */
  signatures(): unknown[];
  audit(): Promise<readonly string[]>;
}

interface Setting {
  readonly allow?: readonly string[];
  /** What the upstream plays. */
  readonly answers?: readonly ScriptedAnswer[];
}

async function start(t: Closer, connection: object = {}, setting: Setting = {}): Promise<Signed> {
  const { allow = ["127.0.0.1"], answers = [jsonAnswer({ fine: true })] } = setting;
  const [upstream, issuer] = await Promise.all([fakeUpstream(), fakeUpstream()]);
  t.after(async () => {
    await Promise.all([upstream.close(), issuer.close()]);
  });
  upstream.answer(...answers);
  const crm_oauth = {
    ...{ name: "crm-oauth", token_url: `${issuer.url}/token`, client_id: "id:&x" },
    ...{ client_secret: SECRETS[0], scopes: ["crm.read", "crm.write"] },
    ...connection,
  };
  const g = await startProxy(
    t,
    { upstream_url: upstream.url, oauth_connection: "crm-oauth", headers: { Authorization: "Basic ours" } },
    { allow, project: { oauth_connections: [crm_oauth] } },
  );
  return {
    ...{ ...g, upstream, issuer },
    get: (rest = "") => g.client.send(proxied(rest), { token: CALLER, method: "GET" }),
    post: (body) => g.client.send(proxied(), { token: CALLER, body }),
    signatures: () => upstream.requests.map(({ headers }) => headers.authorization),
    async audit() {
      const found = await g.gateway.store.audit.query({ limit: 100 });
      return found.map(({ event, target, actor }) => `${event} ${target} ${actor}`).reverse();
    },
  };
}

/** Tokens one after the other: `access-token-1`, `access-token-2` … */
function issues(fields: object = {}): ScriptedAnswer {
  let count = 0;
  return (response, request) => {
    count++;
    const token = { access_token: `access-token-${count}`, token_type: "Bearer", expires_in: 100, ...fields };
    jsonAnswer(token)(response, request);
  };
}

verifies(
  "proxy.oauth.single",
  "a hundred calls at once cause one refresh, and so do a hundred after its end",
  async (t) => {
    const g = await start(t);
    g.issuer.answer(issues());
    const hundred = async (): Promise<void> => {
      const answers = await Promise.all(Array.from({ length: 100 }, () => g.get()));
      for (const { status } of answers) assert.equal(status, 200);
    };
    await hundred();
    assert.equal(g.issuer.requests.length, 1);
    g.clock.advance(100_000);
    await hundred();
    assert.equal(g.issuer.requests.length, 2);
    assert.equal(new Set(g.signatures().slice(0, 100)).size, 1);
    assert.deepEqual(new Set(g.signatures().slice(100)), new Set(["Bearer access-token-2"]));
  },
);

verifies(
  ["proxy.oauth.single", "proxy.oauth.audit"],
  "a hundred concurrent calls fail with one failed refresh, which is recorded once",
  async (t) => {
    const g = await start(t);
    let refuse = (): void => {};
    g.issuer.answer((response, request) => {
      refuse = () => statusAnswer(400, { error: "invalid_scope" })(response, request);
    });
    const asked = Array.from({ length: 100 }, () => g.get());
    await g.issuer.received(1);
    await until(() => g.gateway.openCalls === 100, "all calls wait");
    refuse();
    for (const answer of await Promise.all(asked)) {
      assertRefused(answer, 502, "Upstream OAuth connection failed.");
      assert.equal(at(answer.json, "detail"), "token endpoint answered 400 invalid_scope");
    }
    assert.deepEqual([g.issuer.requests.length, g.upstream.requests.length], [1, 0]);
    assert.deepEqual(await g.audit(), ["oauth_connection.refresh_failed crm-oauth caller"]);
  },
);

verifies(
  "proxy.oauth.cached",
  "a token is asked for as RFC 6749 says and used until shortly before its end",
  async (t) => {
    const g = await start(t);
    g.issuer.answer(issues());
    await g.get();
    const [asked] = g.issuer.requests;
    assert.deepEqual([asked?.method, asked?.path], ["POST", "/token"]);
    assert.equal(asked?.body, "grant_type=client_credentials&scope=crm.read+crm.write");
    const pair = Buffer.from(`id%3A%26x:${SECRETS[0]}`).toString("base64");
    assert.equal(asked?.headers.authorization, `Basic ${pair}`);
    g.clock.advance(89_999);
    await g.get();
    assert.equal(g.issuer.requests.length, 1);
    g.clock.advance(1);
    await g.get();
    assert.deepEqual(g.signatures(), [
      ...["Bearer access-token-1", "Bearer access-token-1", "Bearer access-token-2"],
    ]);
    assert.deepEqual(await g.audit(), ["oauth_connection.connected crm-oauth caller"]);
  },
);

verifies("event.oauth", "a connection that is taken out of the configuration is disconnected", async (t) => {
  const g = await start(t);
  g.issuer.answer(issues());
  await g.get();
  const path = `${g.folder}/gateway.config.yaml`;
  writeFileSync(path, readFileSync(path, "utf8").replaceAll('"crm-oauth"', '"crm-other"'));
  assert.deepEqual((await g.gateway.reload()).changed, true);
  assert.deepEqual((await g.audit()).at(-1), "oauth_connection.disconnected crm-oauth config");
});

verifies("proxy.oauth.cached", "it outlives a reload that leaves the connection as it is", async (t) => {
  const g = await start(t, { grant: "refresh_token", refresh_token: SECRETS[1] });
  g.issuer.answer(issues({ refresh_token: "refresh-token-rotated" }));
  await g.get();
  const path = `${g.folder}/gateway.config.yaml`;
  writeFileSync(path, readFileSync(path, "utf8").replace("Elsewhere", "Nowhere"));
  assert.deepEqual((await g.gateway.reload()).changed, true);
  await g.get();
  assert.equal(g.issuer.requests.length, 1);
  g.clock.advance(95_000);
  await g.get();
  assert.deepEqual(
    g.issuer.requests.map(({ body }) => new URLSearchParams(body).get("refresh_token")),
    [SECRETS[1], "refresh-token-rotated"],
  );
});

verifies(
  "proxy.oauth.cached",
  "a server that reads the secret from the body alone gets it there",
  async (t) => {
    const g = await start(t);
    const issue = issues();
    g.issuer.answer((response, request) => {
      const form = new URLSearchParams(request.body);
      const known = form.get("client_id") === "id:&x" && form.get("client_secret") === SECRETS[0];
      if (known && request.headers.authorization === undefined) issue(response, request);
      else statusAnswer(401, { error: "invalid_client" })(response, request);
    });
    assert.equal((await g.get()).status, 200);
    g.clock.advance(95_000);
    assert.equal((await g.get()).status, 200);
    assert.equal(g.issuer.requests.length, 3);
  },
);

verifies(
  "proxy.oauth.401",
  "a token that the upstream refuses is replaced once, and the call sent again",
  async (t) => {
    const g = await start(t, {}, { answers: [statusAnswer(401), jsonAnswer({ fine: true })] });
    g.issuer.answer(issues());
    const answer = await g.post("small body");
    assert.deepEqual([answer.status, answer.json], [200, { fine: true }]);
    assert.deepEqual(g.signatures(), ["Bearer access-token-1", "Bearer access-token-2"]);
    assert.deepEqual(
      g.upstream.requests.map(({ body }) => body),
      ["small body", "small body"],
    );
    const chunked = exchange(`${g.client.origin}${proxied()}`, { method: "POST", body: ["in ", "chunks"] });
    assert.equal((await chunked).status, 200);
    g.upstream.answer(statusAnswer(401, { said: "no" }));
    const refused = await g.get();
    assert.deepEqual([refused.status, refused.json], [401, { said: "no" }]);
    assert.equal(g.issuer.requests.length, 3);
  },
);

verifies("proxy.oauth.401", "a hundred calls with a token that is refused cause one refresh", async (t) => {
  const onlyNew: ScriptedAnswer = (response, request) => {
    const isOld = request.headers.authorization === "Bearer access-token-1";
    statusAnswer(isOld ? 401 : 200)(response, request);
  };
  const g = await start(t, {}, { answers: [onlyNew] });
  g.issuer.answer(issues());
  const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => g.post(`body ${n}`)));
  for (const { status } of answers) assert.equal(status, 200);
  assert.equal(g.issuer.requests.length, 2);
});

verifies("proxy.oauth.401", "what cannot be sent again is answered with the upstream's 401", async (t) => {
  const g = await start(t, {}, { answers: [statusAnswer(401, { said: "no" }), jsonAnswer({})] });
  g.issuer.answer(issues());
  const answer = await g.post("x".repeat(70_000));
  assert.deepEqual([answer.status, answer.json], [401, { said: "no" }]);
  assert.equal(g.upstream.requests.length, 1);
  assert.equal((await g.post("next")).status, 200);
  assert.deepEqual(g.signatures(), ["Bearer access-token-1", "Bearer access-token-2"]);
});

verifies(
  ["proxy.oauth", "proxy.oauth.audit", "proxy.oauth.secret"],
  "a refusal of the token server is a 502 in words, an audit record, and no secret",
  async (t) => {
    const g = await start(t, { grant: "refresh_token", refresh_token: SECRETS[1] });
    const echo: ScriptedAnswer = (response, request) => {
      const { authorization } = request.headers;
      const body = { error: "invalid_grant", error_description: `${request.body} ${authorization}` };
      statusAnswer(400, body, { "x-echo": request.body })(response, request);
    };
    g.issuer.answer(echo);
    const answer = await g.get();
    assertRefused(answer, 502, "Upstream OAuth connection failed.");
    assert.equal(at(answer.json, "detail"), "token endpoint answered 400 invalid_grant");
    assert.equal(answer.headers["x-should-retry"], "true");
    assert.equal(g.upstream.requests.length, 0);
    assert.deepEqual(await g.audit(), ["oauth_connection.refresh_failed crm-oauth caller"]);
    const [record] = await g.gateway.store.audit.query({ limit: 1 });
    assert.deepEqual(
      [record?.severity, record?.metadata, record?.ipAddress, record?.project.uuid],
      ["warn", { detail: "token endpoint answered 400 invalid_grant" }, "127.0.0.1", PROJECT],
    );
    g.issuer.answer(issues());
    assert.equal((await g.get()).status, 200);
    assert.deepEqual((await g.audit()).slice(1), ["oauth_connection.connected crm-oauth caller"]);
    await until(() => g.lines.some((line) => line.includes("oauth_failed")), "the refused call is logged");
    const told = [
      answer.text,
      answer.head,
      ...g.lines,
      JSON.stringify(await g.gateway.store.audit.query({ limit: 9 })),
    ];
    for (const secret of SECRETS) assert.ok(!told.join("\n").includes(secret), secret);
  },
);

verifies("proxy.oauth", "whatever else the token server does short of a token is a 502 too", async (t) => {
  const g = await start(t);
  const cases: readonly [ScriptedAnswer, RegExp][] = [
    [statusAnswer(500, "<html>"), /answered 500$/],
    [statusAnswer(302, "", { location: "http://elsewhere.example/" }), /answered 302$/],
    [jsonAnswer("not json"), /no access token/],
    [jsonAnswer({ access_token: 7 }), /no access token/],
    [jsonAnswer({ access_token: "a\r\nX-Injected: 1" }), /no access token/],
    [jsonAnswer({ access_token: "a", token_type: "mac" }), /no bearer/],
    [jsonAnswer({ access_token: "a".repeat(70_000) }), /unreachable: the answer exceeds/],
    [hangUpAnswer(), /unreachable: ECONNRESET/],
  ];
  for (const [answer, detail] of cases) {
    g.issuer.answer(answer);
    const refused = await g.get();
    assertRefused(refused, 502, "Upstream OAuth connection failed.");
    assert.match(String(at(refused.json, "detail")), detail);
  }
  const asked = g.issuer.requests.length;
  g.issuer.answer(stallAnswer());
  const late = g.get();
  await g.issuer.received(asked + 1);
  g.clock.advance(10_000);
  const refused = await late;
  assert.match(String(at(refused.json, "detail")), /timed out/);
  assert.equal(g.upstream.requests.length, 0);
  // While it goes on failing, the audit log is not flooded.
  assert.equal((await g.audit()).length, 1);
});

verifies("proxy.oauth", "the SSRF guard covers the token server as well", async (t) => {
  const g = await start(t, {}, { allow: [] });
  const refused = await g.get();
  assertRefused(refused, 422, "Upstream URL blocked by SSRF guard.");
  const other = await start(t, { token_url: "http://169.254.169.254/token" });
  const blocked = await other.get();
  assertRefused(blocked, 502, "Upstream OAuth connection failed.");
  assert.match(String(at(blocked.json, "detail")), /SSRF guard: it leads to a link-local address$/);
});
