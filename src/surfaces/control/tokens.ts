/** Control-plane tools for access tokens: create, rotate, revoke, list. A plaintext is shown once. */
import type { JsonMap } from "../../base/json.ts";
import { parseUsd } from "../../base/money.ts";
import { knownScopes, TOKEN_SCOPES, type TokenScope } from "../../base/scopes.ts";
import { TIMESTAMP } from "../../base/timestamp.ts";
import { derivedTokenId, integerTokenId, newToken, tokenHash } from "../../base/token.ts";
import type { ProjectConfig, ResolvedConfig, TokenConfig } from "../../config/model.ts";
import type { Standing } from "../../config/override-edits.ts";
import { type RpcError, structured } from "../jsonrpc/jsonrpc.ts";
import {
  type ControlTool,
  changing,
  noSuchProject,
  ofProject,
  PROJECT_UUID,
  projectOf,
  refusedArgument,
  shownTokenId,
  textOf,
} from "./tool.ts";

const TOKEN_ID: JsonMap = {
  type: ["string", "integer"],
  description: "Id of a token, as gw_list_tokens shows it.",
};

export const createToken: ControlTool = {
  name: "gw_create_token",
  title: "Create a token",
  description:
    "Creates an access token for a project and shows it once. Each call creates another. To keep it in git, commit its id and hash.",
  args: {
    project_uuid: PROJECT_UUID,
    name: { type: "string", minLength: 1, maxLength: 200, description: "Name of the client." },
    scopes: {
      ...{
        type: "array",
        items: { type: "string", enum: TOKEN_SCOPES },
        uniqueItems: true,
        default: ["chat"],
      },
      description: "Scopes of the token.",
    },
    monthly_budget_usd_cap: {
      ...{ type: ["number", "string", "null"], default: null },
      description: 'Limit of its spend in a calendar month in USD, e.g. 25 or "25.50". null: no limit.',
    },
    expires_at: {
      ...{ type: ["string", "null"], default: null },
      description: "ISO 8601: a date, or date and time with its offset. null: never.",
    },
  },
  required: ["project_uuid", "name"],
  effect: "changes",
  isIdempotent: false,
  run: changing(({ edits, standing, running, author }, args) => {
    const project = projectOf(running, args);
    if (project === undefined) return noSuchProject(args);
    const { monthly_budget_usd_cap: cap = null, expires_at: expires = null } = args;
    const money = cap === null ? null : parseUsd(String(cap));
    if (money === undefined)
      return refusedArgument("monthly_budget_usd_cap", "must be a non-negative decimal");
    const expiresAtMs = typeof expires === "string" ? momentOf(expires) : null;
    if (expiresAtMs !== null && !(expiresAtMs > author.atMs)) {
      return refusedArgument("expires_at", "must be an ISO 8601 time in the future");
    }
    const token = newToken("live");
    const hash = tokenHash(token);
    const made: TokenConfig = {
      ...{
        id: integerTokenId(hash, (id) => isKnownId(running, standing, id)),
        name: textOf(args, "name"),
        hash,
        is_active: true,
      },
      scopes: scopesOf(args),
      monthly_budget_usd_cap: money,
      expires_at: expiresAtMs,
    };
    return {
      edit: edits.createToken(project.uuid, made, author),
      event: eventOf("token.created", project, made),
      content: { token, hash, ...shown(project, made) },
    };
  }),
};

export const rotateToken: ControlTool = {
  name: "gw_rotate_token",
  title: "Rotate a token",
  description:
    "Gives a token a new plaintext and shows it once; the previous one stops working immediately. Each call rotates again.",
  args: { token_id: TOKEN_ID },
  required: ["token_id"],
  effect: "changes",
  isIdempotent: false,
  run: changing(({ edits, standing, running, author }, args) => {
    const found = findToken(running, args);
    if ("error" in found) return found;
    const { project, token } = found;
    if (!token.is_active) return refusedArgument("token_id", `token '${token.id}' is revoked`);
    const plaintext = newToken("live");
    const hash = tokenHash(plaintext);
    return {
      edit: edits.rotateToken(standing, project.uuid, { token, hash }, author),
      event: eventOf("token.rotated", project, token),
      content: { token: plaintext, hash, ...shown(project, token) },
    };
  }),
};

export const revokeToken: ControlTool = {
  name: "gw_revoke_token",
  title: "Revoke a token",
  description:
    "Revokes a token permanently, whatever git says later. Revoking a revoked token succeeds. `durable: false`: the state store loses it at a restart, so commit the `yaml` of the result.",
  args: { token_id: TOKEN_ID },
  required: ["token_id"],
  effect: "changes",
  isIdempotent: true,
  run: changing(({ edits, standing, running, author, driver }, args) => {
    const found = findToken(running, args);
    if ("error" in found) return found;
    const { project, token } = found;
    const kept = durability(standing, project, token, driver);
    return {
      edit: edits.revokeToken(standing, project.uuid, token, author),
      event: token.is_active ? eventOf("token.revoked", project, token) : undefined,
      content: { ...shown(project, { ...token, is_active: false }), ...kept },
    };
  }),
};

export const listTokens: ControlTool = {
  name: "gw_list_tokens",
  title: "List tokens",
  description: "The tokens of a project, without plaintexts or hashes.",
  args: { project_uuid: PROJECT_UUID },
  required: ["project_uuid"],
  effect: "reads",
  isIdempotent: true,
  run: ofProject((project) => structured({ tokens: project.tokens.map((token) => shown(project, token)) })),
};

const MOMENT = new RegExp(TIMESTAMP);

/** Unix milliseconds; NaN: not a valid time. */
function momentOf(text: string): number {
  return MOMENT.test(text) ? Date.parse(text) : Number.NaN;
}

interface FoundToken {
  readonly project: ProjectConfig;
  readonly token: TokenConfig;
}

/** Ids of git are unique in all projects; derived ones are hashes. */
function findToken(config: ResolvedConfig, args: JsonMap): FoundToken | { readonly error: RpcError } {
  const id = String(args["token_id"]);
  for (const project of config.projects) {
    const token = project.tokens.find((one) => one.id === id);
    if (token !== undefined) return { project, token };
  }
  return refusedArgument("token_id", `there is no token '${id.slice(0, 128)}'`);
}

/** Ids of revoked tokens stay reserved: their spend is still counted. */
function isKnownId(running: ResolvedConfig, { overrides }: Standing, id: string): boolean {
  return (
    running.projects.some(({ tokens }) => tokens.some((token) => token.id === id)) ||
    overrides.some(({ key }) => key.endsWith(`/${id}`))
  );
}

/** Whether a revocation survives a restart: without the store's record git would restore the token. */
function durability(
  { git }: Standing,
  { uuid }: ProjectConfig,
  { id }: TokenConfig,
  driver: string,
): JsonMap {
  const known = git.projects
    .find((project) => project.uuid === uuid)
    ?.tokens.find((token) => token.id === id);
  if (driver !== "memory" || known === undefined) return { durable: true };
  // A token without an explicit id is identified by its hash.
  const identity =
    known.id === derivedTokenId(known.hash)
      ? `hash: "${known.hash}"`
      : `id: ${JSON.stringify(shownTokenId(known.id))}`;
  const yaml = `projects:\n  - uuid: ${uuid}\n    tokens:\n      - ${identity}\n        is_active: false\n`;
  return { durable: false, yaml };
}

function scopesOf(args: JsonMap): readonly TokenScope[] {
  const { scopes = ["chat"] } = args;
  return Array.isArray(scopes) ? knownScopes(scopes) : [];
}

function shown(project: ProjectConfig, token: TokenConfig): JsonMap {
  const { id, name, scopes, is_active, monthly_budget_usd_cap, expires_at } = token;
  return {
    token_id: shownTokenId(id),
    ...{ project_uuid: project.uuid, name, scopes, is_active },
    monthly_budget_usd_cap: monthly_budget_usd_cap === null ? null : Number(monthly_budget_usd_cap.text),
    expires_at: expires_at === null ? null : new Date(expires_at).toISOString(),
  };
}

function eventOf(event: string, project: ProjectConfig, { id, name }: TokenConfig) {
  const severity = event === "token.revoked" ? ("warn" as const) : ("info" as const);
  return { event, severity, project, target: name, metadata: { token_id: shownTokenId(id) } };
}
