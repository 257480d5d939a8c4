/** Webhooks through the whole gateway: a call or a reload at one end, a real receiver at the other. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { TestContext } from "node:test";
import { Webhook } from "standardwebhooks";
import type { FakeUpstream, ScriptedAnswer, UpstreamRequest } from "../../src/testing/fake-upstream.ts";
import { accept, hang, receiver } from "../webhooks/kit.ts";
import { assertRefused, at, until } from "./kit/client.ts";
import { type ConfigParts, configOf, echoEntry, hashOf, PROJECT, TOKENS } from "./kit/config.ts";
import { type Harness, START_MS, startGateway } from "./kit/gateway.ts";
import { gatewayProcess } from "./kit/process.ts";
import { verifies } from "./verifies.ts";

const SECRET = "whsec_aG9va3MtYXJlLXNpZ25lZA==";
const OPERATOR = "gw_live_operator0Token9";

type Fields = Readonly<Record<string, unknown>>;

interface Scene extends Harness {
  readonly receiver: FakeUpstream;
}

/** A gateway whose endpoint refuses the word `plum`, and whose webhook `siem` wants to hear of it. */
async function scene(t: TestContext, webhook: Fields = {}, ...answers: ScriptedAnswer[]): Promise<Scene> {
  const siem = await receiver(t, ...answers);
  const g = await startGateway(t, partsOf({ url: siem.url, ...webhook }));
  return { ...g, receiver: siem };
}

function partsOf(webhook: Fields, project: Fields = {}): ConfigParts {
  const siem = { name: "siem", events: ["guardrail.blocked"], secret: SECRET, ...webhook };
  return {
    endpoint: echoEntry({ guardrails: [{ use: "keyword_blocklist", keywords: ["plum"] }] }),
    project: { id: 12, webhooks: [siem], ...project },
    root: {
      network: { allow: ["127.0.0.0/8"] },
      control_plane: { tokens: [{ name: "operator", hash: hashOf(OPERATOR) }] },
    },
  };
}

/** A call that the guardrail blocks, which is what the webhook hears of. */
async function blockedCall(g: Scene): Promise<string> {
  const answer = await g.call({ message: "a plum" });
  assertRefused(answer, 422, "Request blocked: keyword 'plum' detected in input.");
  return String(answer.headers["x-request-id"]);
}

async function delivered(g: Scene): Promise<UpstreamRequest> {
  await g.receiver.received(1);
  return g.receiver.requests[0] ?? assert.fail("nothing came");
}

/** The delivery records that the admin API shows, newest first. */
async function recordsOf(g: Harness, count: number): Promise<readonly unknown[]> {
  let records: unknown;
  await until(async () => {
    const answer = await g.admin.send("/admin/deliveries", { method: "GET", token: OPERATOR });
    records = at(answer.json, "data");
    return Array.isArray(records) && records.length >= count;
  }, `${count} delivery records`);
  assert.ok(Array.isArray(records));
  return records;
}

verifies(
  ["webhook.post", "webhook.headers", "webhook.header.signature"],
  "a matching event is one signed POST",
  async (t) => {
    const g = await scene(t);
    await blockedCall(g);
    const { method, headers, body } = await delivered(g);
    assert.equal(method, "POST");
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers["x-gateway-event"], "guardrail.blocked");
    const digest = createHmac("sha256", SECRET).update(body).digest("hex");
    assert.equal(headers["x-gateway-signature"], `sha256=${digest}`);
    assert.equal(headers["x-gateway-timestamp"], String(START_MS / 1000));
    const id = String(headers["webhook-id"]);
    assert.equal(headers["webhook-timestamp"], String(START_MS / 1000));
    assert.equal(headers["webhook-signature"], new Webhook(SECRET).sign(id, new Date(START_MS), body));
  },
);

verifies("webhook.body.fields", "the body has the specification's fields", async (t) => {
  const g = await scene(t);
  const requestId = await blockedCall(g);
  const { body } = await delivered(g);
  assert.deepEqual(JSON.parse(body), {
    event: "guardrail.blocked",
    severity: "warn",
    actor: "web",
    project: { id: 12, name: "Support", uuid: PROJECT },
    target: "keyword_blocklist",
    metadata: {
      guardrail: "keyword_blocklist",
      reason: at(JSON.parse(body), "metadata", "reason"),
      side: "input",
      endpoint: "ask",
      request_id: requestId,
    },
    ip_address: "127.0.0.1",
    occurred_at: new Date(START_MS).toISOString(),
  });
  assert.doesNotMatch(body, /a plum/);
});

verifies(
  ["webhook.inactive", "webhook.events.filter", "webhook.project"],
  "a webhook that is inactive, for other events or of another project is not called",
  async (t) => {
    const siem = await receiver(t);
    const hook = { url: siem.url, secret: SECRET, events: ["guardrail.blocked"] };
    const g = await startGateway(t, {
      ...partsOf(
        {},
        {
          webhooks: [
            { ...hook, name: "off", active: false, url: `${siem.url}/off` },
            { ...hook, name: "other-event", events: ["token.revoked"], url: `${siem.url}/other-event` },
            { ...hook, name: "siem", url: `${siem.url}/siem` },
          ],
        },
      ),
      projects: [
        {
          uuid: "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f703",
          name: "Third",
          type: "ai_gateway",
          webhooks: [{ ...hook, name: "third", url: `${siem.url}/third` }],
        },
      ],
    });
    for (let n = 0; n < 3; n++) assertRefused(await g.call({ message: "a plum" }), 422, /plum/);
    await siem.received(3);
    await recordsOf(g, 3);
    assert.deepEqual(
      siem.requests.map(({ path }) => path),
      ["/siem", "/siem", "/siem"],
    );
  },
);

verifies(
  ["webhook.outcome", "webhook.record", "webhook.no-retry"],
  "each attempt has a record of its own with what was sent and answered, and none is made twice",
  async (t) => {
    const failing: ScriptedAnswer = (response) => response.writeHead(503).end("later");
    const g = await scene(t, {}, failing, accept);
    await blockedCall(g);
    await blockedCall(g);
    const [second, first] = await recordsOf(g, 2);
    assert.equal(g.receiver.requests.length, 2);
    const sent = g.receiver.requests.map(({ body }) => body);
    assert.deepEqual([at(first, "request_body"), at(second, "request_body")], sent);
    assert.deepEqual([at(first, "success"), at(first, "response_status")], [false, 503]);
    assert.equal(at(first, "response_body"), "later");
    assert.deepEqual([at(second, "success"), at(second, "response_status")], [true, 204]);
    assert.equal(at(first, "attempted_at"), new Date(START_MS).toISOString());
    assert.equal(at(first, "error"), null);
    assert.equal(at(first, "webhook"), "siem");
    assert.notEqual(at(first, "id"), at(second, "id"));
  },
);

verifies("webhook.timeout", "a receiver that does not answer in ten seconds has failed", async (t) => {
  const g = await scene(t, {}, hang);
  await blockedCall(g);
  await g.receiver.received(1);
  g.clock.advance(10_000);
  const [record] = await recordsOf(g, 1);
  assert.equal(at(record, "success"), false);
  assert.equal(at(record, "response_status"), null);
  assert.equal(at(record, "error"), "timed out after 10000 ms");
});

verifies("webhook.unreachable", "an unreachable receiver is a failed delivery", async (t) => {
  const gone = await receiver(t);
  const { url } = gone;
  await gone.close();
  gone.close = async () => {};
  const g = { ...(await startGateway(t, partsOf({ url }))), receiver: gone };
  await blockedCall(g);
  const [record] = await recordsOf(g, 1);
  assert.equal(at(record, "success"), false);
  assert.equal(at(record, "error"), "unreachable (ECONNREFUSED)");
});

verifies("webhook.secret.once", "nothing that the gateway says has a webhook's secret in it", async (t) => {
  const echo: ScriptedAnswer = (response) => response.writeHead(500).end(`signed with ${SECRET}`);
  const g = await scene(t, {}, echo);
  await blockedCall(g);
  const records = await recordsOf(g, 1);
  const asked = ["/admin/audit", "/readyz", "/metrics"];
  const answers = await Promise.all(
    asked.map((path) => g.admin.send(path, { method: "GET", token: OPERATOR })),
  );
  await g.gateway.stop();
  const said = [
    ...answers.map(({ head, text }) => head + text),
    JSON.stringify(records),
    JSON.stringify(g.receiver.requests),
    ...g.lines,
  ].join();
  for (const secret of [SECRET, SECRET.slice("whsec_".length), OPERATOR, TOKENS.web]) {
    assert.ok(!said.includes(secret));
  }
});

verifies("server.drain", "stopping sends what webhooks still wait for", async (t) => {
  let letGo = (): void => {};
  const held: ScriptedAnswer = (response) => (letGo = () => void response.writeHead(204).end());
  const g = await scene(t, {}, held, accept);
  await blockedCall(g);
  await blockedCall(g);
  await g.receiver.received(1);
  const stopped = g.gateway.stop();
  await new Promise(setImmediate);
  letGo();
  await stopped;
  assert.equal(g.receiver.requests.length, 2);
});

verifies("server.drain", "a process that stops sends queued deliveries first", async (t) => {
  const siem = await receiver(t);
  const config = configOf(partsOf({ url: siem.url }), "https://provider.invalid");
  const { client, stop } = await gatewayProcess(t, config);
  const path = `/api/${PROJECT}/ask`;
  const calls = Array.from({ length: 50 }, () =>
    client.send(path, { token: TOKENS.web, body: { message: "a plum" } }),
  );
  for (const answer of await Promise.all(calls)) assertRefused(answer, 422, /plum/);
  assert.equal(await stop(), 0);
  assert.equal(siem.requests.length, 50);
});

verifies("webhook.post", "a reload changes the receivers from the next event on", async (t) => {
  const g = await scene(t);
  const other = await receiver(t);
  await blockedCall(g);
  await g.receiver.received(1);
  g.rewrite(partsOf({ url: other.url }));
  assert.equal((await g.gateway.reload()).ok, true);
  await blockedCall(g);
  await other.received(1);
  assert.equal(g.receiver.requests.length, 1);
});
