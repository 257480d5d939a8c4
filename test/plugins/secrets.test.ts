/** secrets: keys and tokens by their formats and checksums; what only looks like one stays. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { SECRET_KINDS, type SecretKind } from "../../plugins/secrets/formats.ts";
import secrets from "../../plugins/secrets/index.ts";
import { newToken } from "../../src/base/token.ts";
import { testGuardrail } from "../../src/testing/index.ts";
import { growth, judgeOf } from "./guardrail-kit.ts";

const { masked } = judgeOf(secrets, { mode: "mask" });

/** Characters that look random. Written in pieces, so that nobody takes the tests' own for real ones. */
const random = (length: number): string => "aB3dE5fG7hJ9kL1mN4pQ6rS8tU0vW2xY".repeat(12).slice(0, length);
const capitals = (length: number): string =>
  random(length)
    .toUpperCase()
    .replace(/[0189]/g, "Q");
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const pem = generateKeyPairSync("ec", {
  namedCurve: "P-256",
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
const rsa = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
/** A revoked token whose checksum is right. */
const GITHUB = `ghp_${"zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ"}${"0mLq17"}`;

const SECRETS: Readonly<Record<SecretKind, readonly string[]>> = {
  openai: [`sk-proj-${random(120)}`, `sk-svcacct-${random(60)}`, `sk-${random(48)}`],
  anthropic: [`sk-ant-api03-${random(93)}AA`, `sk-ant-oat01-${random(90)}`],
  aws: [`AKIA${capitals(16)}`, `ASIA${capitals(16)}`],
  github: [GITHUB, `github_pat_${random(22)}_${random(59)}`],
  google: [`AIza${random(35)}`, `GOCSPX-${random(28)}`],
  slack: [
    `xoxb-${"123456789012-"}${random(24)}`,
    `hooks.slack.com/services/T${capitals(8)}/B${capitals(8)}/${random(24)}`,
  ],
  stripe: [`sk_live_${random(24)}`, `rk_test_${random(40)}`, `whsec_${random(32)}`],
  jwt: [`${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: "ada", exp: 1 })}.${random(43)}`],
  private_key: [pem.privateKey.trim(), rsa.privateKey.trim(), rsa.privateKey.trim().replaceAll("\n", "\\n")],
  sluice: [newToken("live"), newToken("test")],
};

for (const kind of SECRET_KINDS) {
  test(`${kind}: each form is masked whole, and only when the kind is asked for`, () => {
    const only = judgeOf(secrets, { mode: "mask", kinds: [kind] });
    const others = judgeOf(secrets, { mode: "mask", kinds: SECRET_KINDS.filter((other) => other !== kind) });
    assert.ok(SECRETS[kind].length > 0);
    for (const secret of SECRETS[kind]) {
      for (const [before, after] of [
        ["", ""],
        ["key: ", ", thanks"],
        ['{"k":"', '"}'],
        ["KEY=", "\nX=1"],
        ["（", "）"],
      ]) {
        assert.equal(masked(`${before}${secret}${after}`), `${before}[SECRET]${after}`);
        assert.equal(only.masked(`${before}${secret}${after}`), `${before}[SECRET]${after}`);
      }
      assert.equal(others.masked(secret), secret);
    }
  });
}

test("an AWS secret key is found by its name, and the name stays", () => {
  const key = `${random(20)}/${random(19)}`;
  assert.equal(masked(`aws_secret_access_key = ${key}`), "aws_secret_access_key = [SECRET]");
  assert.equal(masked(`{"SecretAccessKey": "${key}"}`), '{"SecretAccessKey": "[SECRET]"}');
  assert.equal(masked(`commit ${key}`), `commit ${key}`);
});

test("what only looks like a secret stays as it is", () => {
  const innocent = [
    "sk-proj-your-key-here, sk-..., sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, sk-learn, sk_live_...",
    `${GITHUB.slice(0, -1)}8, ghp_${"x".repeat(36)}`,
    "AKIA, ASIA1234, task-proj-planning-for-the-next-quarter, mask-ant-api-documentation-of-it",
    "eyJ.eyJ, eyJhbGciOi, a.b.c, module.exports.something",
    pem.publicKey,
    "-----BEGIN PRIVATE KEY----- is the first line, -----BEGIN CERTIFICATE-----",
    "gw_live_ and gw_test_ are prefixes; gw_list_projects is a tool",
    "6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11 da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "https://hooks.slack.com/services/T000/B000/XXXX",
  ];
  for (const text of innocent) assert.equal(masked(text), text);
});

test("block mode names the kind, and never the secret", () => {
  const { judge, refusal } = judgeOf(secrets, {});
  assert.equal(
    refusal(`my key is ${SECRETS.openai[0]}`),
    "Request blocked: OpenAI API key detected in input.",
  );
  assert.equal(refusal(pem.privateKey), "Request blocked: private key detected in input.");
  assert.equal(
    refusal(GITHUB, { side: "output", role: "assistant" }),
    "Response blocked: GitHub token detected in output.",
  );
  assert.equal(judge(`${GITHUB} ${SECRETS.aws[0]}`)?.reason, "github");
});

test("several secrets of one text are masked each", () => {
  const all = SECRET_KINDS.flatMap((kind) => SECRETS[kind]);
  assert.equal(masked(all.join(" and ")), all.map(() => "[SECRET]").join(" and "));
});

testGuardrail(secrets, {
  options: { mode: "mask" },
  pass: ["nothing to hide", "sk-learn and ghp_"],
  mask: [SECRETS.openai[0], GITHUB, SECRETS.jwt[0], SECRETS.stripe[0], pem.privateKey.trim()].map(
    (secret) => ({
      text: `a ${secret} b`,
      becomes: "a [SECRET] b",
    }),
  ),
});

test("time grows with the length of the text and no faster", () => {
  const { judge } = judgeOf(secrets, { mode: "mask" });
  const begin = "-----BEGIN PRIVATE KEY-----";
  const worst = [
    "sk-proj-",
    " sk-proj-a",
    "eyJ",
    ".eyJ",
    " eyJaaaaaaaaaaaa.",
    begin,
    `${begin}${"a".repeat(40)}`,
    "-----BEGIN ",
  ];
  worst.push(
    " xoxb-a",
    "aws_secret",
    "secret_access_key = ",
    " AKIA",
    `${SECRETS.jwt[0]} `,
    " ghp_",
    "whsec_",
    "é sk-",
  );
  for (const unit of worst) assert.ok(growth(unit, judge) < 6, `super-linear on ${JSON.stringify(unit)}`);
});
