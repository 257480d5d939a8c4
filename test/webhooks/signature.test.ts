/** The headers of a delivery, held to `openssl` and to the reference verifier of Standard Webhooks. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { createSigner } from "../../src/webhooks/signature.ts";
import { HAS_OPENSSL, verifyWithOpenssl, verifyWithStandard } from "./kit.ts";

const MESSAGE = { id: "msg-1", event: "token.revoked", body: '{"name":"Zoë ☕"}' };

/** Verifiers refuse what is older than five minutes: by default the time is that of the test, not of this file's loading. */
function requestOf(secrets: readonly [string, ...string[]], body = MESSAGE.body, sentAtMs = Date.now()) {
  const signed = createSigner(secrets)({ ...MESSAGE, body, sentAtMs });
  const headers = Object.fromEntries(
    Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return { method: "POST", path: "/", headers, body };
}

test("headers are the specification's and those of Standard Webhooks", () => {
  const seconds = "1795357556";
  const { headers } = requestOf(["plain secret"], MESSAGE.body, 1_795_357_556_789);
  assert.deepEqual(Object.keys(headers).sort(), [
    "content-type",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
    "x-gateway-event",
    "x-gateway-signature",
    "x-gateway-timestamp",
  ]);
  assert.equal(headers["content-type"], "application/json");
  assert.equal(headers["x-gateway-event"], "token.revoked");
  assert.equal(headers["x-gateway-timestamp"], seconds);
  assert.equal(headers["webhook-timestamp"], seconds);
  assert.equal(headers["webhook-id"], "msg-1");
});

test("a known secret and body give the digest that any HMAC tool gives", () => {
  const { headers } = requestOf(["key"], "The quick brown fox jumps over the lazy dog");
  const digest = "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8";
  assert.equal(headers["x-gateway-signature"], `sha256=${digest}`);
});

const SECRETS = [
  "plain secret",
  "påsswörd",
  "whsec_c2x1aWNlLXRlc3Q=",
  "whsec_c2x1aWNlLXRlc3Qx",
  "c2x1aWNl",
] as const;

for (const secret of SECRETS) {
  test(`openssl verifies what '${secret}' signed`, { skip: !HAS_OPENSSL && "NO OPENSSL HERE" }, () => {
    verifyWithOpenssl(requestOf([secret]), secret);
    assert.throws(() => verifyWithOpenssl({ ...requestOf([secret]), body: "{}" }, secret));
  });
}

for (const secret of SECRETS.filter((one) => one !== "påsswörd")) {
  test(`a verifier of Standard Webhooks accepts what '${secret}' signed`, () => {
    verifyWithStandard(requestOf([secret]), secret);
    assert.throws(() => verifyWithStandard({ ...requestOf([secret]), body: "{}" }, secret));
  });
}

test("with two secrets either verifies, and the first alone signs the specification's header", () => {
  const request = requestOf(["new one", "whsec_b2xkIG9uZQ=="]);
  assert.match(request.headers["webhook-signature"] ?? "", /^v1,[A-Za-z0-9+/]+=* v1,[A-Za-z0-9+/]+=*$/);
  verifyWithStandard(request, "new one");
  verifyWithStandard(request, "whsec_b2xkIG9uZQ==");
  const alone = requestOf(["new one"]);
  assert.equal(request.headers["x-gateway-signature"], alone.headers["x-gateway-signature"]);
});

test("a secret of the prefix alone, or one that is no base64, is a key as it stands and never an empty one", () => {
  for (const secret of ["whsec_", "whsec_===", "whsec_not base64!"]) {
    const { headers, body } = requestOf([secret]);
    const signed = `msg-1.${headers["webhook-timestamp"]}.${body}`;
    const expected = createHmac("sha256", secret).update(signed).digest("base64");
    assert.equal(headers["webhook-signature"], `v1,${expected}`);
  }
});
