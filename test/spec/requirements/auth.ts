/** Requirements of authentication: header, token, project, scope, and the order of the checks. */
export const AUTH = {
  "auth.header.missing": "A call without an Authorization header gets 401 `Missing Bearer token.`.",
  "auth.token.prefix":
    "A bearer token that begins with neither known prefix gets 401 `Invalid token format.`.",
  "auth.token.live": "A token that begins with `gw_live_` is accepted when its hash is configured.",
  "auth.token.test": "A token that begins with `gw_test_` is accepted when its hash is configured.",
  "auth.token.unknown": "A well-formed token that is not configured gets 401 `Invalid or revoked token.`.",
  "auth.token.inactive": "A token with `is_active: false` gets 401 `Invalid or revoked token.`.",
  "auth.project.foreign":
    "A token used on another project gets 403 `Token does not belong to this project.`.",
  "auth.scope.chat":
    "The direct and the dispatcher route refuse a token without scope `chat` with 403, naming its scopes.",
  "auth.scope.admin.listing": "The endpoint listing refuses a token without scope `admin` with 403.",
  "auth.scope.admin.not-chat": "Scope `admin` alone does not open the chat routes.",
  "auth.token.rotate": "After a rotation the former plaintext gets 401 and the new one is accepted.",
  "auth.scope.mcp": "The MCP bridge refuses a token without scope `mcp` with a plain 403 error body.",
  "auth.scope.models": "The wrapper's model list refuses a token without scope `models`.",
  "auth.project.type":
    "A chat route of a project of another type gets 400 with the text that points to the wrapper's path.",
  "auth.header.scheme": "A scheme other than Bearer gets 401 `Missing Bearer token.`.",
  "auth.header.twice": "Two Authorization headers get 400.",
  "auth.token.expired": "A token past its `expires_at` gets 401 `Invalid or revoked token.`.",
  "auth.token.hash": "A token is known by the SHA-256 of its whole string; the config holds no token.",
  "auth.token.many": "The first and the last of thousands of tokens are both found.",
  "auth.project.unknown":
    "A project that does not exist gets 403 `Token does not belong to this project.`, never 404.",
  "auth.scopes.order":
    "The refusal lists the token's scopes separated by comma and space, in the config's order.",
  "auth.scopes.none": "The refusal says `Token has: none.` for a token without scopes.",
  "auth.scopes.known": "A project's token may have the scopes chat, models, admin, mcp and proxy.",
  "auth.scopes.control": "Scope `control` on a project's token is a config error.",
  "auth.order.checks":
    "Checks run in the order token, project, scope, project type, body, endpoint; the first that fails is reported.",
  "auth.failures.recorded":
    "A refused token is counted, logged and audited as `auth.login_failed`, on every surface, within bounds.",
  "auth.failures.throttled":
    "From the sixth wrong token a minute (the 101st on the data plane) an address gets 429 with `Retry-After`; others do not.",
  "auth.failures.no-lockout": "A valid token from an address that is throttled works.",
  "auth.control.expires": "A control-plane token past its `expires_at` gets 401, and its sessions end.",
  "auth.control.listener":
    "With `control_plane.listener: admin` the control plane is on the admin listener only, and follows a reload.",
  "auth.admin.host": "A client on this machine that names a foreign `Host` gets 403 from the admin listener.",
  "auth.admin.metrics":
    "With `admin.metrics_token` `/metrics` asks for that token, or for one of the control plane.",
  "auth.order.nothing-read": "No byte of a body is requested or awaited before its token is accepted.",
};
