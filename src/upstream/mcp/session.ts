/**
 * Speaks to one upstream MCP server: finds out which era it belongs to, keeps its session where it has one, sends
 * requests and brings their outcomes. Knows nothing of tools.
 */

import { isJsonObject, type JsonMap } from "../../base/json.ts";
import { LEGACY_REVISIONS, STATELESS_REVISION } from "../../base/mcp-revisions.ts";
import type { Resolve } from "../../net/ssrf.ts";
import type { Clock } from "../../plugin/index.ts";
import { type McpPost, type McpPosting, type McpSent, mcpPost } from "./post.ts";
import {
  type Dialect,
  dialectHeaders,
  INITIALIZE,
  type JsonHeaders,
  outcomeOf,
  refusedRequest,
  type UpstreamLog,
  type UpstreamOutcome,
  type UpstreamProgress,
  withEnvelope,
} from "./wire.ts";

/** For requests that precede a call: handshakes, lists. */
export const SHORT_MS = 5000;
/** After a server could not be reached it is left alone for so long. */
const COOL_MS = 5000;

export interface McpSessionOptions {
  readonly url: string;
  /** Sent with every request; never shown. */
  readonly headers: JsonHeaders;
  /** `network.allow`. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  /** Default: the system's. */
  readonly resolve?: Resolve;
  /** The server reports that its tools have changed. */
  onListChanged(): void;
}

export interface McpRequest {
  readonly method: string;
  readonly params: JsonMap;
  /** undefined: as long as the caller waits. */
  readonly timeoutMs: number | undefined;
  /** What the params name: repeated in a header. */
  readonly named?: string;
  /** More headers for a stateless server. */
  readonly more?: JsonHeaders;
  readonly traceparent?: string | undefined;
  readonly onProgress?: ((progress: UpstreamProgress) => void) | undefined;
  readonly onLog?: ((message: UpstreamLog) => void) | undefined;
  /** The least severe messages for `onLog`. */
  readonly logLevel?: string | undefined;
  /** Handed the way to give the request up, as soon as it is under way. */
  readonly onStart?: (cancel: () => void) => void;
}

/** How the server is known to answer, or why that could not be found out. */
type Greeting = Dialect | { readonly failed: string };

/** Of messages before the answer to a request. */
interface Listeners {
  readonly onProgress: (token: unknown) => McpRequest["onProgress"];
  readonly onLog: McpRequest["onLog"];
}

interface Exchanged {
  readonly outcome: UpstreamOutcome;
  /** HTTP's; 0: no answer. */
  readonly status: number;
  readonly session: string | undefined;
}

export class McpSession {
  readonly #options: McpSessionOptions;
  readonly #post: McpPost;
  #dialect: Dialect | undefined;
  #greeting: Promise<Greeting> | undefined;
  #failure: { readonly untilMs: number; readonly failed: string } | undefined;
  #lastId = 0;

  constructor(options: McpSessionOptions) {
    this.#options = options;
    this.#post = mcpPost(options);
  }

  /** Never rejects. A session that the server has forgotten is begun anew, once. */
  async request(request: McpRequest): Promise<UpstreamOutcome> {
    for (let isFirst = true; ; isFirst = false) {
      const dialect = this.#dialect ?? (await this.#greet());
      if ("failed" in dialect) return dialect;
      const { outcome, status } = await this.#exchange(request, dialect);
      if (status !== 400 && status !== 404) return outcome;
      // Refused before anything was done: it may have been restarted, or be another one now.
      if (this.#dialect === dialect) this.#dialect = undefined;
      const hadSession = !dialect.stateless && dialect.session !== undefined;
      if (!hadSession || !isFirst) return outcome;
    }
  }

  /** Ends the session and all connections. */
  close(): void {
    const dialect = this.#dialect;
    if (dialect === undefined || dialect.stateless || dialect.session === undefined)
      return this.#post.close();
    const headers = dialectHeaders(dialect, "", undefined);
    const ending = this.#send({ method: "DELETE", body: "", headers });
    ending.ended.then(() => this.#post.close());
  }

  /** One greeting for all who wait for it. */
  #greet(): Promise<Greeting> {
    const { clock } = this.#options;
    if (this.#failure !== undefined && clock.monotonicMs() < this.#failure.untilMs)
      return Promise.resolve(this.#failure);
    this.#greeting ??= this.#negotiate().then((dialect) => {
      this.#greeting = undefined;
      if ("failed" in dialect) this.#failure = { ...dialect, untilMs: clock.monotonicMs() + COOL_MS };
      else this.#dialect = dialect;
      return dialect;
    });
    return this.#greeting;
  }

  /** Stateless first; servers that do not support it get the older handshake. */
  async #negotiate(): Promise<Greeting> {
    const stateless: Dialect = { stateless: true };
    const discover = { method: "server/discover", params: {}, timeoutMs: SHORT_MS };
    const { outcome, status } = await this.#exchange(discover, stateless);
    if ("failed" in outcome && (status < 400 || status >= 500 || status === 401 || status === 403))
      return outcome;
    const versions = "result" in outcome ? outcome.result["supportedVersions"] : undefined;
    return Array.isArray(versions) && versions.includes(STATELESS_REVISION) ? stateless : this.#initialize();
  }

  async #initialize(): Promise<Greeting> {
    const bare: Dialect = { stateless: false, revision: "", session: undefined };
    const initialize = { method: "initialize", params: INITIALIZE, timeoutMs: SHORT_MS };
    const { outcome, session } = await this.#exchange(initialize, bare);
    if ("failed" in outcome) return outcome;
    if ("error" in outcome) return { failed: "it refused to be initialized" };
    const revision = outcome.result["protocolVersion"];
    if (typeof revision !== "string" || !LEGACY_REVISIONS.includes(revision)) {
      return { failed: "it speaks no revision that is known here" };
    }
    const dialect: Dialect = { stateless: false, revision, session };
    await this.#tell({ method: "notifications/initialized" }, dialect);
    return dialect;
  }

  async #exchange(request: McpRequest, dialect: Dialect): Promise<Exchanged> {
    const { method, params, named, more, traceparent, timeoutMs, onProgress, onLog, onStart } = request;
    const id = ++this.#lastId;
    let outcome: UpstreamOutcome | undefined;
    const onMessage = (message: JsonMap): boolean => {
      if (message["method"] !== undefined) {
        this.#receive(message, dialect, {
          onProgress: (token) => (token === id ? onProgress : undefined),
          onLog,
        });
        return false;
      }
      // An error of a request that the server could not read names none.
      const isLost = message["id"] === null || message["id"] === undefined;
      if (message["id"] !== id && !(isLost && isJsonObject(message["error"]))) return false;
      outcome = outcomeOf(message) ?? { failed: "its answer is malformed" };
      return true;
    };
    const progressToken = onProgress === undefined ? undefined : id;
    const logLevel = onLog === undefined ? undefined : (request.logLevel ?? "debug");
    const meta = withEnvelope(params, dialect, { progressToken, logLevel });
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: meta });
    const headers = {
      ...dialectHeaders(dialect, method, named),
      ...(dialect.stateless ? more : {}),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    const posting = this.#send({ method: "POST", body, headers, timeoutMs, onMessage });
    onStart?.(() => {
      posting.cancel();
      // For a stateless server the closed connection is the cancellation.
      const gone = { requestId: id, reason: "the caller has gone" };
      if (!dialect.stateless) void this.#tell({ method: "notifications/cancelled", params: gone }, dialect);
    });
    const end = await posting.ended;
    if ("failed" in end) return { outcome: end, status: 0, session: undefined };
    const session = end.headers["mcp-session-id"];
    const missing = end.status >= 400 ? `it answered with HTTP ${end.status}` : "it gave no answer";
    return {
      outcome: outcome ?? { failed: missing },
      status: end.status,
      session: typeof session === "string" ? session : undefined,
    };
  }

  /** A message before the answer: progress, a log message, a change of the tools, a request of the server's own. */
  #receive({ method, params, id }: JsonMap, dialect: Dialect, { onProgress, onLog }: Listeners): void {
    if (method === "notifications/tools/list_changed") return this.#options.onListChanged();
    if (method === "notifications/progress" && isJsonObject(params)) {
      const { progressToken, progress, total, message } = params;
      if (typeof progress !== "number") return;
      return onProgress(progressToken)?.({
        progress,
        ...(typeof total === "number" ? { total } : {}),
        ...(typeof message === "string" ? { message } : {}),
      });
    }
    if (method === "notifications/message" && isJsonObject(params)) {
      const { level, logger, data } = params;
      if (typeof level !== "string" || data === undefined) return;
      return onLog?.({ level, ...(typeof logger === "string" ? { logger } : {}), data });
    }
    if (dialect.stateless || (typeof id !== "string" && typeof id !== "number")) return;
    const refusal = { code: -32601, message: refusedRequest(method) };
    void this.#tell(method === "ping" ? { id, result: {} } : { id, error: refusal }, dialect);
  }

  /** Sends a message that is not a request: a notification, or the answer to a request of the server. */
  #tell(message: JsonMap, dialect: Dialect): Promise<unknown> {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    return this.#send({ method: "POST", body, headers: dialectHeaders(dialect, "", undefined) }).ended;
  }

  #send({ headers, ...sent }: Pick<McpSent, "method" | "body" | "headers"> & Partial<McpSent>): McpPosting {
    return this.#post.send({
      timeoutMs: SHORT_MS,
      onMessage: () => false,
      ...sent,
      headers: { ...this.#options.headers, ...headers },
    });
  }
}
