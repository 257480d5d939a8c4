/** The admin listener's sign-in and records, over real HTTP: who gets in, what is recorded, what is shown. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { CallHistory } from "../../../src/history/history.ts";
import { clientAddress, networkOf } from "../../../src/http/client-address.ts";
import { httpServer } from "../../../src/http/server.ts";
import { SESSION_MS, SESSIONS_MAX } from "../../../src/surfaces/admin/access.ts";
import { adminPlane } from "../../../src/surfaces/admin/admin.ts";
import { AuthFailures, FAILURES_MAX } from "../../../src/surfaces/auth-failures.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { type Answer, assertRefused, at, Client, until } from "../../spec/kit/client.ts";
import { hashOf } from "../../spec/kit/config.ts";
import {
  ALLOW,
  type DispatcherSetup,
  eventOf,
  PROJECT_UUID,
  projectOf,
  receiver,
  startDispatcher,
  webhookOf,
} from "../../webhooks/kit.ts";

const TOKEN = "gw_live_controlPlane1";
const OTHER = "gw_live_controlPlane2";

interface Plane extends DispatcherSetup {
  readonly client: Client;
  /** The configuration's control-plane tokens; tests change them. */
  tokens: { name: string; hash: string; expires_at: number | null }[];
  signIn(token: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
}

async function openPlane(t: TestContext): Promise<Plane> {
  const setup = startDispatcher(t);
  const tokens = [
    { name: "platform-team", hash: hashOf(TOKEN), expires_at: null },
    { name: "night-shift", hash: hashOf(OTHER), expires_at: null },
  ];
  const health = {
    readiness: () => ({
      ready: true,
      generation: 1,
      config_hash: "",
      revision: "",
      last_reload: { at: "", ok: true, errors: [] },
      store: { driver: "memory", ok: true, detail: "" },
    }),
    uuid: () => "00000000-0000-4000-8000-00000000000a",
  };
  const { clock, metrics, trail } = setup;
  const log = createLog("info", (line) => setup.lines.push(line));
  const handle = adminPlane(health, {
    host: "127.0.0.1",
    metrics,
    metricsToken: null,
    failures: new AuthFailures({ clock, log, metrics, trail }),
    control: () => undefined,
    tokens: () => plane.tokens,
    history: new CallHistory({ clock }),
    reload: async () => ({
      ...{ ok: true, changed: false, generation: 1, needsRestart: [], errors: [], warnings: [] },
      inUse: { hash: "", revision: "" },
    }),
    usage: () => assert.fail("not asked"),
    config: () => assert.fail("not asked"),
    overview: () => assert.fail("not asked for here"),
    records: {
      clock: setup.clock,
      audit: setup.store.audit,
      deliveries: setup.webhooks,
      clientAddress: clientAddress(["127.0.0.0/8"]),
    },
  });
  const server = httpServer({ host: "127.0.0.1", port: 0, clock: setup.clock, handle });
  const client = new Client(`http://127.0.0.1:${await server.listen()}`);
  t.after(async () => {
    client.close();
    server.destroy();
    await server.drain();
  });
  const plane: Plane = {
    ...setup,
    client,
    tokens,
    signIn: (token, headers = {}) => client.send("/admin/session", { body: { token }, headers }),
    get: (path, headers = {}) => client.send(path, { method: "GET", headers }),
  };
  return plane;
}

function cookieOf(answer: Answer): string {
  const [cookie = ""] = answer.headers["set-cookie"] ?? [];
  return cookie.split(";", 1)[0] ?? "";
}

test("a control-plane token begins a session, whose cookie opens the admin API until it is ended", async (t) => {
  const plane = await openPlane(t);
  const signedIn = await plane.signIn(TOKEN);
  assert.equal(signedIn.status, 204);
  assert.equal(signedIn.text, "");
  const [set = ""] = signedIn.headers["set-cookie"] ?? [];
  assert.match(set, /^sluice_session=[\w-]{43}; Path=\/; Max-Age=28800; HttpOnly; SameSite=Strict$/);
  assert.equal(signedIn.headers["cache-control"], "no-store");
  const cookie = cookieOf(signedIn);
  const who = await plane.get("/admin/session", { cookie });
  assert.deepEqual(who.json, { ok: true, name: "platform-team" });
  assert.equal((await plane.get("/admin/audit", { cookie: `theme=dark; ${cookie}` })).status, 200);
  const reloaded = await plane.client.send("/admin/reload", { headers: { cookie } });
  assert.equal(reloaded.status, 200);
  const ended = await plane.client.send("/admin/session", { method: "DELETE", headers: { cookie } });
  assert.equal(ended.status, 204);
  assert.match(ended.headers["set-cookie"]?.[0] ?? "", /^sluice_session=; Path=\/; Max-Age=0; HttpOnly/);
  assertRefused(await plane.get("/admin/audit", { cookie }), 401, "Invalid or revoked token.");
});

test("without a token nothing is shown, with a wrong one neither, and a bearer needs no session", async (t) => {
  const plane = await openPlane(t);
  for (const path of ["/admin/audit", "/admin/deliveries", "/admin/session"]) {
    assertRefused(await plane.get(path), 401, "Missing Bearer token.");
    const wrong = { authorization: "Bearer gw_live_wrong" };
    assertRefused(await plane.get(path, wrong), 401, "Invalid or revoked token.");
    assert.equal((await plane.get(path, { authorization: `Bearer ${OTHER}` })).status, 200);
  }
  assertRefused(await plane.client.send("/admin/audit", { token: TOKEN, body: {} }), 405, /POST/);
  const put = await plane.client.send("/admin/session", { method: "PUT", body: {} });
  assert.equal(put.headers["allow"], "GET, POST, DELETE");
  assertRefused(await plane.get("/admin/nothing"), 404, "Not found.");
});

test("a failed sign-in is refused and recorded before it is answered, without the token", async (t) => {
  const plane = await openPlane(t);
  const answer = await plane.signIn("gw_live_guessed", { "x-forwarded-for": "203.0.113.5" });
  assertRefused(answer, 401, "Invalid or revoked token.");
  assert.equal(answer.headers["set-cookie"], undefined);
  const [record] = await plane.store.audit.query({ limit: 1 });
  assert.deepEqual(
    { ...record, id: "", occurredAtMs: 0 },
    {
      id: "",
      event: "auth.login_failed",
      severity: "warn",
      actor: "unknown",
      project: { id: 0, name: "", uuid: "" },
      target: "admin",
      metadata: { reason: "unknown token" },
      ipAddress: "203.0.113.5",
      occurredAtMs: 0,
    },
  );
});

test("a body that is not a sign-in is invalid and not a failed sign-in", async (t) => {
  const plane = await openPlane(t);
  assertRefused(await plane.signIn(7), 400, "Field 'token' must be a string.");
  const malformed = await plane.client.send("/admin/session", { body: "{" });
  assertRefused(malformed, 400, "Malformed JSON body.");
  const large = await plane.signIn("x".repeat(5000));
  assertRefused(large, 413, "Request body exceeds 4096 bytes.");
  const form = await plane.client.send("/admin/session", {
    body: `token=${TOKEN}`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  assertRefused(form, 415, "Content-Type must be application/json.");
  assert.deepEqual(await plane.store.audit.query({ limit: 10 }), []);
});

test("a sign-in whose body does not arrive is canceled", async (t) => {
  const plane = await openPlane(t);
  const head =
    "POST /admin/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nConnection: close\r\n\r\n";
  const dialogue = plane.client.dialogue(`${head}{`);
  await dialogue.sent;
  await until(() => plane.clock.pendingTimers() > 0, "the request has come");
  plane.clock.advance(10_000);
  assert.match(await dialogue.answer, /^HTTP\/1\.1 408 /);
});

test("wrong tokens of an address that keeps failing are throttled; good ones, other addresses and the next minute are not", async (t) => {
  const plane = await openPlane(t);
  const from = (address: string, token = "gw_live_guessed"): Promise<Answer> =>
    plane.signIn(token, { "x-forwarded-for": address });
  for (let n = 0; n < FAILURES_MAX; n++) assert.equal((await from("203.0.113.5")).status, 401);
  plane.clock.advance(20_000);
  const held = await from("203.0.113.5");
  assertRefused(held, 429, "Rate limit exceeded.");
  assert.equal(held.headers["retry-after"], "40");
  assert.equal((await plane.store.audit.query({ limit: 100 })).length, FAILURES_MAX);
  assert.equal((await from("203.0.113.6")).status, 401);
  // Others may stand behind the same address.
  assert.equal((await from("203.0.113.5", TOKEN)).status, 204);
  plane.clock.advance(40_000);
  assert.equal((await from("203.0.113.5")).status, 401);
  const [first] = await plane.store.audit.query({ limit: 1 });
  assert.equal(first?.metadata["unrecorded"], 1);
});

test("addresses of one IPv6 network are counted as one", () => {
  assert.equal(networkOf("2001:db8:1:2:3:4:5:6"), networkOf("2001:db8:1:2::9"));
  assert.notEqual(networkOf("2001:db8:1:2::9"), networkOf("2001:db8:1:3::9"));
  assert.equal(networkOf("2001:db8::1:2:3:4"), "2001:db8:0:0");
  assert.equal(networkOf("::1"), "0:0:0:0");
  assert.equal(networkOf("198.51.100.7"), "198.51.100.7");
});

test("of 300 guesses that begin together no more are judged than of any others", async (t) => {
  const plane = await openPlane(t);
  const answers = await Promise.all(Array.from({ length: 300 }, (_, n) => plane.signIn(`gw_live_guess${n}`)));
  const statuses = answers.map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 401).length, FAILURES_MAX);
  assert.equal(statuses.filter((status) => status === 429).length, 300 - FAILURES_MAX);
  assert.equal((await plane.store.audit.query({ limit: 1000 })).length, FAILURES_MAX);
  assert.equal((await plane.signIn(TOKEN)).status, 204);
});

test("a session and its token end when the token expires", async (t) => {
  const plane = await openPlane(t);
  const expires_at = plane.clock.nowMs() + 60_000;
  plane.tokens = [{ name: "platform-team", hash: hashOf(TOKEN), expires_at }];
  const cookie = cookieOf(await plane.signIn(TOKEN));
  const bearer = { authorization: `Bearer ${TOKEN}` };
  assert.equal((await plane.get("/admin/session", { cookie })).status, 200);
  plane.clock.advance(60_000);
  assertRefused(await plane.get("/admin/session", { cookie }), 401, "Invalid or revoked token.");
  assertRefused(await plane.get("/admin/audit", bearer), 401, "Invalid or revoked token.");
  assertRefused(await plane.signIn(TOKEN), 401, "Invalid or revoked token.");
});

test("a session ends after eight hours, and at once with its token", async (t) => {
  const plane = await openPlane(t);
  const cookie = cookieOf(await plane.signIn(TOKEN));
  plane.clock.advance(SESSION_MS - 1);
  const other = cookieOf(await plane.signIn(OTHER));
  assert.equal((await plane.get("/admin/session", { cookie })).status, 200);
  plane.clock.advance(1);
  assert.equal((await plane.get("/admin/session", { cookie })).status, 401);
  assert.equal((await plane.get("/admin/session", { cookie: other })).status, 200);
  plane.tokens = [{ name: "night-shift", hash: hashOf("gw_live_rotated"), expires_at: null }];
  assert.equal((await plane.get("/admin/session", { cookie: other })).status, 401);
});

test("sessions are bounded: the oldest goes", async (t) => {
  const plane = await openPlane(t);
  const first = cookieOf(await plane.signIn(TOKEN));
  const second = cookieOf(await plane.signIn(TOKEN));
  for (let n = 0; n < SESSIONS_MAX - 1; n++) await plane.signIn(TOKEN);
  assert.equal((await plane.get("/admin/session", { cookie: first })).status, 401);
  assert.equal((await plane.get("/admin/session", { cookie: second })).status, 200);
});

test("a page of another origin cannot sign in, act or sign out with the user's cookie", async (t) => {
  const plane = await openPlane(t);
  const own = { origin: plane.client.origin };
  const foreign = { origin: "http://127.0.0.1:3000" };
  const refusal = "Origin is not allowed.";
  assertRefused(await plane.signIn(TOKEN, foreign), 403, refusal);
  assertRefused(await plane.signIn(TOKEN, { origin: "null" }), 403, refusal);
  const cookie = cookieOf(await plane.signIn(TOKEN, own));
  const reload = (headers: Record<string, string>): Promise<Answer> =>
    plane.client.send("/admin/reload", { headers });
  assertRefused(await reload({ cookie, ...foreign }), 403, refusal);
  const out = await plane.client.send("/admin/session", {
    method: "DELETE",
    headers: { cookie, ...foreign },
  });
  assertRefused(out, 403, refusal);
  assert.equal((await reload({ cookie, ...own })).status, 200);
  assert.equal((await reload({ authorization: `Bearer ${TOKEN}`, ...foreign })).status, 200);
});

test("behind a proxy that speaks TLS the cookie is for TLS only", async (t) => {
  const plane = await openPlane(t);
  const answer = await plane.signIn(TOKEN, { "x-forwarded-proto": "https" });
  assert.match(answer.headers["set-cookie"]?.[0] ?? "", /; Secure$/);
});

test("the audit log is shown newest first, by project and event, page by page", async (t) => {
  const plane = await openPlane(t);
  const elsewhere = { id: 8, name: "Other", uuid: "other" };
  for (const target of ["a", "b", "c"]) plane.trail.record(eventOf({ target }));
  plane.trail.record(eventOf({ target: "d", event: "token.created" }));
  plane.trail.record(eventOf({ target: "e", project: elsewhere }));
  const page = async (query: string): Promise<{ targets: unknown[]; next: unknown }> => {
    const answer = await plane.get(`/admin/audit${query}`, { authorization: `Bearer ${TOKEN}` });
    assert.equal(answer.status, 200, answer.text);
    const records = at(answer.json, "data");
    assert.ok(Array.isArray(records));
    return { targets: records.map((one) => at(one, "target")), next: at(answer.json, "next") };
  };
  assert.deepEqual(await page(""), { targets: ["e", "d", "c", "b", "a"], next: null });
  assert.deepEqual((await page("?event=token.created")).targets, ["d"]);
  assert.deepEqual((await page(`?project=${PROJECT_UUID.toUpperCase()}`)).targets, ["d", "c", "b", "a"]);
  const first = await page(`?project=${PROJECT_UUID}&event=token.revoked&limit=2`);
  assert.deepEqual(first.targets, ["c", "b"]);
  const second = await page(`?project=${PROJECT_UUID}&event=token.revoked&limit=2&before=${first.next}`);
  assert.deepEqual(second, { targets: ["a"], next: null });
  const one = await plane.get("/admin/audit?limit=1", { authorization: `Bearer ${TOKEN}` });
  assert.deepEqual(Object.keys(at(one.json, "data", 0) ?? {}), [
    "id",
    "event",
    "severity",
    "actor",
    "project",
    "target",
    "metadata",
    "ip_address",
    "occurred_at",
  ]);
});

test("deliveries are shown newest first, by webhook and success", async (t) => {
  const plane = await openPlane(t);
  const [good, bad] = [await receiver(t), await receiver(t, (response) => response.writeHead(500).end("no"))];
  plane.webhooks.configure([projectOf(webhookOf(good.url), webhookOf(bad.url, { name: "bad" }))], ALLOW);
  plane.trail.record(eventOf());
  await plane.webhooks.drain(10_000);
  const show = async (query: string): Promise<unknown[]> => {
    const answer = await plane.get(`/admin/deliveries${query}`, { authorization: `Bearer ${TOKEN}` });
    const records = at(answer.json, "data");
    assert.ok(Array.isArray(records), answer.text);
    return records.map((one) => [at(one, "webhook"), at(one, "response_status")]);
  };
  assert.equal((await show(`?project=${PROJECT_UUID}&event=token.revoked`)).length, 2);
  assert.deepEqual(await show("?webhook=bad"), [["bad", 500]]);
  assert.deepEqual(await show("?success=true"), [["siem", 204]]);
  assert.deepEqual(await show("?success=false"), [["bad", 500]]);
  assert.deepEqual(await show("?project=other"), []);
});

test("a question that makes no sense is refused by the name of its field", async (t) => {
  const plane = await openPlane(t);
  const authorization = `Bearer ${TOKEN}`;
  for (const limit of ["0", "1001", "x", "1.5"]) {
    const answer = await plane.get(`/admin/audit?limit=${limit}`, { authorization });
    assertRefused(answer, 400, "Field 'limit' must be an integer from 1 to 1000.");
  }
  const answer = await plane.get("/admin/deliveries?success=maybe", { authorization });
  assertRefused(answer, 400, "Field 'success' must be true or false.");
});
