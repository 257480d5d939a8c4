/** Who may call: header, token, project, scope, and the order in which they are looked at. */
import assert from "node:assert/strict";
import { after } from "node:test";
import { assertAnswered, assertRefused } from "./kit/client.ts";
import { echoEntry, hashOf, OTHER_PROJECT, PROJECT, TOKENS, tokenEntry } from "./kit/config.ts";
import { startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const WRAPPER = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f703";
const NOBODY = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f7ff";
const MANY = Array.from({ length: 3000 }, (_, n) => `gw_live_many${n}`);

const g = await startGateway(
  { after },
  {
    endpoints: [echoEntry({ name: "Echo" })],
    tokens: [
      tokenEntry("unknown", {
        name: "mixed",
        hash: hashOf("gw_live_mixed"),
        scopes: ["models", "proxy", "admin", "mcp"],
      }),
      ...MANY.map((token, n) => ({ name: `many-${n}`, hash: hashOf(token), scopes: ["chat"] })),
    ],
    projects: [
      {
        uuid: WRAPPER,
        name: "Wrapper",
        type: "ai_wrapper",
        tokens: [
          { name: "wrapped", hash: hashOf("gw_live_wrapped"), scopes: ["chat", "admin"] },
          { name: "scopeless", hash: hashOf("gw_live_scopeless"), scopes: [] },
        ],
      },
    ],
  },
);

const echo = `/api/${PROJECT}/echo`;
const listing = `/api/${PROJECT}/endpoints`;
const dispatcher = `/api/${PROJECT}/chat/completions`;
const hello = { message: "Hello" };

verifies(
  ["auth.header.missing", "error.status.401", "error.body"],
  "a call without an Authorization header is refused",
  async () => {
    assertRefused(await g.client.send(echo, { body: hello }), 401, "Missing Bearer token.");
    assertRefused(await g.client.send(listing, { method: "GET" }), 401, "Missing Bearer token.");
  },
);

verifies("auth.header.scheme", "a scheme other than Bearer is refused", async () => {
  for (const authorization of ["Basic d2ViOnNlY3JldA==", TOKENS.web, "Bearer", "Bearer ", ""]) {
    const answer = await g.client.send(echo, { body: hello, headers: { authorization } });
    assertRefused(answer, 401, "Missing Bearer token.");
  }
  const lower = { authorization: `bearer ${TOKENS.web}` };
  assertAnswered(await g.client.send(echo, { body: hello, headers: lower }));
});

verifies("auth.header.twice", "two Authorization headers are refused, even when they are equal", async () => {
  const line = `Authorization: Bearer ${TOKENS.web}\r\n`;
  const body = JSON.stringify(hello);
  const head = `POST ${echo} HTTP/1.1\r\nHost: x\r\n${line}${line}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  assert.match(await g.client.raw(head + body), /^HTTP\/1\.1 400 [\s\S]*"ok":false/);
});

verifies("auth.token.prefix", "a token with no known prefix is refused by its format", async () => {
  for (const token of ["sk-abc", "gw_liv", "GW_LIVE_web0Caller1", "gw_prod_abc", "xgw_live_abc"]) {
    assertRefused(await g.client.send(echo, { token, body: hello }), 401, "Invalid token format.");
  }
});

verifies(
  ["auth.token.live", "auth.token.test", "auth.token.hash"],
  "both kinds of token are accepted",
  async () => {
    assert.equal(assertAnswered(await g.client.send(echo, { token: TOKENS.web, body: hello })), "Hello");
    assert.equal(assertAnswered(await g.client.send(echo, { token: TOKENS.tester, body: hello })), "Hello");
  },
);

verifies(
  ["auth.token.unknown", "auth.token.inactive", "auth.token.expired"],
  "unknown, switched-off and expired tokens are refused alike",
  async () => {
    for (const token of [TOKENS.unknown, TOKENS.retired, TOKENS.expired, "gw_live_", `${TOKENS.web}x`]) {
      assertRefused(await g.client.send(echo, { token, body: hello }), 401, "Invalid or revoked token.");
    }
  },
);

verifies("auth.token.expired", "a token works until the moment it expires", async (t) => {
  const expiresAt = "2026-05-14T12:00:10Z";
  const own = await startGateway(t, {
    endpoint: echoEntry({}),
    tokens: [{ name: "brief", hash: hashOf("gw_live_brief"), scopes: ["chat"], expires_at: expiresAt }],
  });
  own.clock.advance(9_999);
  assertAnswered(await own.call(hello, { token: "gw_live_brief" }));
  own.clock.advance(1);
  assertRefused(await own.call(hello, { token: "gw_live_brief" }), 401, "Invalid or revoked token.");
});

verifies("auth.token.many", "the first and the last of three thousand tokens are accepted", async () => {
  for (const token of [MANY.at(0), MANY.at(-1)]) {
    assertAnswered(await g.client.send(echo, { token, body: hello }));
  }
});

verifies(
  ["auth.project.foreign", "auth.project.unknown", "error.status.403"],
  "a token is valid for its own project only, whether another exists or not",
  async () => {
    const refusal = "Token does not belong to this project.";
    for (const project of [OTHER_PROJECT, NOBODY, "not-a-uuid"]) {
      const answer = await g.client.send(`/api/${project}/echo`, { token: TOKENS.web, body: hello });
      assertRefused(answer, 403, refusal);
    }
    assertRefused(await g.client.send(echo, { token: TOKENS.other, body: hello }), 403, refusal);
    assertRefused(await g.client.send(listing, { method: "GET", token: TOKENS.other }), 403, refusal);
  },
);

verifies(
  ["auth.scope.chat", "auth.scope.admin.not-chat", "auth.scopes.order"],
  "the chat routes require scope chat and name the token's scopes, in the order of the configuration",
  async () => {
    const admin = "Missing required scope: 'chat'. Token has: admin, models.";
    assertRefused(await g.client.send(echo, { token: TOKENS.admin, body: hello }), 403, admin);
    assertRefused(await g.client.send(dispatcher, { token: TOKENS.admin, body: hello }), 403, admin);
    const mixed = "Missing required scope: 'chat'. Token has: models, proxy, admin, mcp.";
    assertRefused(await g.client.send(echo, { token: "gw_live_mixed", body: hello }), 403, mixed);
  },
);

verifies(["auth.scopes.none", "auth.scopes.known"], "a token without scopes has none", async () => {
  const none = "Missing required scope: 'chat'. Token has: none.";
  assertRefused(await g.client.send(echo, { token: TOKENS.bare, body: hello }), 403, none);
});

verifies("auth.scope.admin.listing", "the listing requires scope admin", async () => {
  const refusal = "Missing required scope: 'admin'. Token has: chat.";
  assertRefused(await g.client.send(listing, { method: "GET", token: TOKENS.web }), 403, refusal);
});

verifies(["auth.project.type", "error.status.400"], "the chat routes refuse a wrapper project", async () => {
  const refusal =
    "This project is not an AI Gateway. Use /api/{uuid}/v1/chat/completions for AI Wrapper projects.";
  for (const path of ["echo", "chat/completions"]) {
    const answer = await g.client.send(`/api/${WRAPPER}/${path}`, { token: "gw_live_wrapped", body: hello });
    assertRefused(answer, 400, refusal);
  }
  const listed = await g.client.send(`/api/${WRAPPER}/endpoints`, {
    method: "GET",
    token: "gw_live_wrapped",
  });
  assertRefused(listed, 400, refusal);
});

verifies(
  "auth.order.checks",
  "of several mistakes the first is reported: token, project, scope, type, body, endpoint",
  async () => {
    const broken = "{";
    const told = async (path: string, token: string): Promise<number> => {
      const { status } = await g.client.send(`/api/${path}`, { token, body: broken });
      return status;
    };
    assert.equal(await told(`${NOBODY}/nowhere`, TOKENS.unknown), 401);
    const foreign = await g.client.send(`/api/${NOBODY}/nowhere`, { token: TOKENS.bare, body: broken });
    assertRefused(foreign, 403, "Token does not belong to this project.");
    const scopeless = await g.client.send(`/api/${WRAPPER}/nowhere`, {
      token: "gw_live_scopeless",
      body: broken,
    });
    assertRefused(scopeless, 403, "Missing required scope: 'chat'. Token has: none.");
    const wrapped = await g.client.send(`/api/${WRAPPER}/nowhere`, {
      token: "gw_live_wrapped",
      body: broken,
    });
    assertRefused(wrapped, 400, /^This project is not an AI Gateway\./);
    const malformed = await g.client.send(`/api/${PROJECT}/nowhere`, { token: TOKENS.web, body: broken });
    assertRefused(malformed, 400, "Malformed JSON body.");
    assert.equal(await told(`${PROJECT}/nowhere`, TOKENS.web), 400);
  },
);

verifies("auth.order.nothing-read", "a refused token is answered without waiting for the body", async () => {
  const head = (token: string, more = ""): string =>
    `POST ${echo} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: 5000\r\n${more}\r\n`;
  const answered = (text: string): boolean => text.includes("\r\n\r\n{");
  // No byte of the 5,000 is ever sent: an answer can only come from a gateway that did not wait for them.
  assert.match(await g.client.raw(head(TOKENS.unknown), answered), /^HTTP\/1\.1 401 /);
  assert.match(await g.client.raw(head(TOKENS.other), answered), /^HTTP\/1\.1 403 /);
  const asked = await g.client.raw(head(TOKENS.unknown, "Expect: 100-continue\r\n"), answered);
  assert.match(asked, /^HTTP\/1\.1 401 /);
  const wanted = await g.client.raw(head(TOKENS.web, "Expect: 100-continue\r\n"), (text) => text !== "");
  assert.match(wanted, /^HTTP\/1\.1 100 /);
});
