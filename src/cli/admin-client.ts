/**
 * Asks the admin listener of a running gateway. What can go wrong on the way is told with what to do about it; the token
 * comes from the environment and is printed nowhere.
 */
import { resolve } from "node:path";
import { systemClock } from "../base/clock.ts";
import { isJsonObject, type JsonMap } from "../base/json.ts";
import { type LoadRequest, loadConfig, type PluginLoader } from "../config/load.ts";
import { environmentProxies } from "../net/forward-proxy.ts";
import { type GuardedHttp, guardedHttp } from "../net/guarded.ts";
import { type CliIo, configPath } from "./command.ts";
import { printable } from "./terminal.ts";

export const TOKEN_VARIABLE = "SLUICE_ADMIN_TOKEN";

/** Options that commands for a running gateway share, for `parseArgs`. */
export const ADMIN_OPTIONS = {
  url: { type: "string" },
  config: { type: "string" },
  overlay: { type: "string", multiple: true, default: [] as string[] },
  root: { type: "string" },
} as const;

export const ADMIN_OPTIONS_HELP = `  --url URL        the admin listener (default: admin.host and admin.port of the configuration)
  --config PATH    the configuration to take them from (default: SLUICE_CONFIG, else gateway.config.yaml)
  --overlay FILE   a partial configuration merged over it; may be repeated
  --root DIR       the folder that the files of the configuration must stay inside (default: the folder of PATH)`;

export interface AdminOptions {
  readonly url?: string | undefined;
  readonly config?: string | undefined;
  readonly overlay: readonly string[];
  readonly root?: string | undefined;
}

export interface AdminAnswer {
  readonly status: number;
  readonly body: JsonMap;
}

/** There is no answer that could be used; the message says what to do. */
export class AdminError extends Error {
  /** Asking again cannot help: the token or the address is wrong. */
  readonly isFinal: boolean;
  /** Of the answer, where there was one and it matters. */
  readonly status: number | undefined;

  constructor(message: string, isFinal: boolean, status?: number) {
    super(message);
    this.isFinal = isFinal;
    this.status = status;
  }
}

/** The operator names the address: none is refused. */
const ANYWHERE = ["0.0.0.0/0", "::/0"];
/** A reload loads everything before it answers. */
const TIMEOUT_MS = 60_000;
/** A configuration of 10,000 endpoints takes 30 MB. */
const ANSWER_BYTES_MAX = 134_217_728;

export class AdminClient {
  /** Without a slash at its end. */
  readonly url: string;
  readonly #token: string;
  readonly #http: GuardedHttp;

  constructor(url: string, token: string, env: CliIo["env"]) {
    this.url = url.replace(/\/$/, "");
    this.#token = token;
    this.#http = guardedHttp({ clock: systemClock(), allow: ANYWHERE, proxyFor: environmentProxies(env) });
  }

  /** Any answer of the API that is JSON, refusals of the request included. Rejects with AdminError. */
  async ask(method: "GET" | "POST", path: string, body?: object): Promise<AdminAnswer> {
    const answer = await this.#http.fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      body: body === undefined ? "" : JSON.stringify(body),
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
    });
    if ("failed" in answer) throw new AdminError(unreachable(this.url, answer), false);
    const { status, text } = answer;
    const content = jsonOf(text);
    if (status === 401) throw new AdminError(REJECTED_TOKEN, true);
    if (status === 429) throw new AdminError(throttled(content), true);
    if (status === 404) throw new AdminError(await this.#wrongListener(), true, 404);
    if (content === undefined)
      throw new AdminError(`${this.url} answers ${status} without JSON: ${NOT_SLUICE}`, true);
    if (status >= 500) throw new AdminError(`${this.url} answers ${status}: ${errorOf(content)}`, false);
    return { status, body: content };
  }

  close(): void {
    this.#http.close();
  }

  /** Both listeners have `/readyz`; only the admin listener's names the generation. */
  async #wrongListener(): Promise<string> {
    const ready = await this.#http.fetch(`${this.url}/readyz`, { timeoutMs: TIMEOUT_MS });
    const content = "failed" in ready ? undefined : jsonOf(ready.text);
    if (content === undefined || !("ready" in content)) return `${this.url} answers 404: ${NOT_SLUICE}`;
    return "generation" in content
      ? `${this.url} is an admin listener of an older version of Sluice, without this part of the admin API`
      : `${this.url} is the public listener; name the admin listener (admin.host, admin.port) with --url`;
  }
}

const NOT_SLUICE = "it does not look like an admin listener of Sluice; name that one with --url";

const REJECTED_TOKEN = `the gateway rejects the token in ${TOKEN_VARIABLE}; set it to the plaintext of a token in control_plane.tokens that has not expired`;

const MISSING_TOKEN = `${TOKEN_VARIABLE} is not set; set it to the plaintext of a token in control_plane.tokens
(\`sluice token new\` creates one and prints the hash to commit)`;

function unreachable(url: string, { failed, detail }: { readonly failed: string; readonly detail: string }) {
  if (detail === "ECONNREFUSED")
    return `nothing listens on ${url}; start the gateway, or name its admin listener with --url`;
  if (detail === "ENOTFOUND" || detail === "EAI_AGAIN")
    return `the host of ${url} has no address (${detail}); check the name in --url`;
  if (failed === "timeout") return `${url} gives no answer: ${detail}`;
  if (/^(?:ERR_SSL|ERR_TLS|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO)/.test(detail))
    return `no trusted TLS connection to ${url} (${detail}); the admin listener itself speaks plain HTTP`;
  return `${url} cannot be reached: ${detail}`;
}

function throttled(content: JsonMap | undefined): string {
  const seconds = Number(content?.["retry_after"]);
  const later = Number.isFinite(seconds) ? `in ${seconds} s` : "later";
  return `${REJECTED_TOKEN}; try again ${later}, since too many tokens from this address were wrong`;
}

function errorOf(content: JsonMap): string {
  return printable(typeof content["error"] === "string" ? content["error"] : "no reason given");
}

function jsonOf(text: string): JsonMap | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Rejects with AdminError when there is no token, or no address. */
export async function adminClient(
  options: AdminOptions,
  io: CliIo,
  loadPlugins: PluginLoader,
): Promise<AdminClient> {
  const token = io.env[TOKEN_VARIABLE]?.trim() ?? "";
  if (token === "") throw new AdminError(MISSING_TOKEN, true);
  const url =
    options.url === undefined ? await configuredUrl(options, io, loadPlugins) : checkedUrl(options.url);
  return new AdminClient(url, token, io.env);
}

function checkedUrl(given: string): string {
  const text = given.includes("://") ? given : `http://${given}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new AdminError(`invalid --url '${given}'; expected one such as http://127.0.0.1:8081`, true);
  if (url.username !== "" || url.password !== "")
    throw new AdminError(
      `--url must not hold a user or password; the token comes from ${TOKEN_VARIABLE}`,
      true,
    );
  return `${url.origin}${url.pathname}`;
}

/** The configuration need not be valid: a rejected one is what an operator looks at most. */
async function configuredUrl(
  { config, overlay, root }: AdminOptions,
  io: CliIo,
  loadPlugins: PluginLoader,
): Promise<string> {
  const path = configPath(config, io.env);
  const request: LoadRequest = {
    path: resolve(io.cwd, path),
    overlays: overlay.map((one) => resolve(io.cwd, one)),
    root: root === undefined ? undefined : resolve(io.cwd, root),
    ...{ env: io.env, secrets: "skip", plugins: "skip", strict: false },
  };
  const { admin } = await loadConfig(request, loadPlugins);
  const how = "name the admin listener with --url";
  if (admin === undefined) throw new AdminError(`${path} cannot be read as a configuration; ${how}`, true);
  if (!admin.enabled)
    throw new AdminError(
      `${path} has no admin listener (admin.enabled is false), so there is nothing to ask`,
      true,
    );
  if (admin.port === 0)
    throw new AdminError(`admin.port is 0 in ${path}, so the port is not known; ${how}`, true);
  return `http://${reachable(admin.host)}:${admin.port}`;
}

/** A listener on all addresses is asked on loopback. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
