/** With `--network`: name, connection, TLS and answer of each address, over the clients that the gateway itself uses. */
import { lookup } from "node:dns/promises";
import { isIP, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { systemClock } from "../../base/clock.ts";
import { environmentProxies, fixedProxy } from "../../net/forward-proxy.ts";
import type { HttpError } from "../../net/http-client.ts";
import { createRequestClient, type RequestClientOptions } from "../../net/request.ts";
import { Sockets } from "../../net/sockets.ts";
import { checkUrl, SsrfError, ssrfAllow } from "../../net/ssrf.ts";
import { durationText } from "../units.ts";
import { advised, codeOf, type Finding, finding, type Subject } from "./finding.ts";
import type { Target } from "./targets.ts";

/** Asked at the same time, and in all. */
const CONCURRENT = 16;
const TARGETS_MAX = 200;
const ANSWER_TIMEOUT_MS = 10_000;
/** A certificate that ends sooner is worth a warning. */
const CERTIFICATE_MS = 14 * 86_400_000;
/** Of this machine's clock from the servers'. */
const SKEW_MS = 30_000;

export async function checkNetwork(
  subject: Subject,
  targets: readonly Target[],
): Promise<readonly Finding[]> {
  if (targets.length === 0) return [finding("network", "ok", "", "the configuration names no address")];
  const found: Finding[] = [];
  const skews: number[] = [];
  const waiting = targets.slice(0, TARGETS_MAX);
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const probed = await probe(next, subject);
      found.push(probed.finding);
      if (probed.skewMs !== undefined) skews.push(probed.skewMs);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  const order = new Map(targets.map((target, index) => [subjectOf(target), index]));
  found.sort((a, b) => (order.get(a.subject) ?? 0) - (order.get(b.subject) ?? 0));
  if (targets.length > TARGETS_MAX)
    found.push(
      finding("network", "skipped", "", `${targets.length - TARGETS_MAX} more addresses were not asked`),
    );
  return [...found, ...clockFinding(skews)];
}

/** The median: one server's clock may be wrong. */
function clockFinding(skews: readonly number[]): readonly Finding[] {
  const [skewMs] = [...skews].sort((a, b) => a - b).slice(Math.floor(skews.length / 2));
  if (skewMs === undefined) return [];
  if (Math.abs(skewMs) <= SKEW_MS) return [finding("clock", "ok", "servers", "agree with this machine")];
  const message = `their clocks differ by ${durationText(Math.abs(skewMs) / 1000)} from this machine's`;
  return [advised(finding("clock", "warning", "servers", message), "synchronize this machine (NTP)")];
}

const subjectOf = ({ name, url }: Target): string => `${name} ${url.host}`;

interface Probed {
  readonly finding: Finding;
  readonly skewMs?: number | undefined;
}

async function probe(target: Target, { io, config }: Subject): Promise<Probed> {
  const { url, isProvider, isGuarded, proxy, certificates, http2 } = target;
  const bad = isProvider ? "error" : "warning";
  const fail = (message: string, advice: string): Probed => ({
    finding: advised(finding("network", bad, subjectOf(target), message), advice),
  });
  try {
    const allow = ssrfAllow(config.network.allow);
    const refusal = isGuarded ? checkUrl(url.href, allow) : url;
    if (typeof refusal === "string") return fail(`blocked by the SSRF guard: ${refusal}`, ALLOW);
    const proxyFor = proxy === undefined ? environmentProxies(io.env) : fixedProxy(proxy);
    const options: RequestClientOptions = {
      ...{ clock: systemClock(), proxyFor, certificates, http2 },
      ...(isGuarded && { guard: { allow, resolve: undefined } }),
    };
    const way = proxyFor(url) === undefined ? await resolved(url) : "by the forward proxy";
    const line = await connection(url, options);
    const answer = await answered(url, options);
    if ("error" in answer) return fail(`${way}, ${line.text}, no answer: ${answer.error}`, REACH);
    const message = `${way}, ${line.text}, answers ${answer.status} in ${answer.tookMs} ms`;
    const found =
      line.endsMs === undefined || line.endsMs - Date.now() > CERTIFICATE_MS
        ? finding("network", "ok", subjectOf(target), message)
        : advised(finding("network", "warning", subjectOf(target), message), "renew its certificate");
    return { finding: found, skewMs: answer.skewMs };
  } catch (error) {
    return fail(...failureOf(error));
  }
}

const ALLOW = "add the host to network.allow if it is meant to be reached";
const REACH = "check firewalls and HTTPS_PROXY between this machine and it";

function failureOf(error: unknown): readonly [message: string, advice: string] {
  const code = codeOf(error);
  if (error instanceof SsrfError) return [`blocked by the SSRF guard: ${error.message}`, ALLOW];
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return [`its name has no address (${code})`, "check the URL, and this machine's DNS"];
  if (/^(?:ERR_TLS|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|HOSTNAME_)/.test(code))
    return [
      `its certificate is not trusted (${code})`,
      "trust its authority: providers.<key>.ca, or NODE_EXTRA_CA_CERTS",
    ];
  const reason = error instanceof Error && code === "" ? error.message : code;
  return [`cannot be connected to (${reason})`, REACH];
}

/** Rejects when there is no address. */
async function resolved({ hostname }: URL): Promise<string> {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return host;
  const startMs = performance.now();
  const { address } = await lookup(host);
  return `${address} (DNS ${Math.round(performance.now() - startMs)} ms)`;
}

interface Line {
  readonly text: string;
  /** When the certificate ends. */
  readonly endsMs: number | undefined;
}

/** Rejects when it cannot be opened. */
function connection(url: URL, options: RequestClientOptions): Promise<Line> {
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    new Sockets(options).open(url, (error, socket) => {
      if (error !== null || socket === undefined) return reject(error ?? new Error("no connection"));
      const tookMs = Math.round(performance.now() - startMs);
      resolve(lineOf(socket, tookMs));
      socket.destroy();
    });
  });
}

function lineOf(socket: Socket, tookMs: number): Line {
  if (!(socket instanceof TLSSocket)) return { text: `connected in ${tookMs} ms`, endsMs: undefined };
  const endsMs = Date.parse(socket.getPeerCertificate().valid_to);
  const until = Number.isFinite(endsMs)
    ? `, certificate until ${new Date(endsMs).toISOString().slice(0, 10)}`
    : "";
  return { text: `${socket.getProtocol() ?? "TLS"} in ${tookMs} ms${until}`, endsMs };
}

type Answered =
  | { readonly status: number; readonly tookMs: number; readonly skewMs: number | undefined }
  | { readonly error: string };

/** Any status is an answer: no credential is sent, so most refuse. */
function answered(url: URL, options: RequestClientOptions): Promise<Answered> {
  const client = createRequestClient(options);
  const startMs = performance.now();
  const limits = {
    ...{ firstByteTimeoutMs: ANSWER_TIMEOUT_MS, idleTimeoutMs: ANSWER_TIMEOUT_MS },
    ...{ totalTimeoutMs: ANSWER_TIMEOUT_MS, bodyBytesMax: Number.POSITIVE_INFINITY },
  };
  return new Promise<Answered>((settle) => {
    const call = client.send(
      { method: "HEAD", url: `${url.origin}/`, headers: {}, body: "" },
      {
        onHead(status, headers) {
          const dateMs = Date.parse(headers.record()["date"] ?? "");
          const skewMs = Number.isFinite(dateMs) ? dateMs - Date.now() : undefined;
          settle({ status, tookMs: Math.round(performance.now() - startMs), skewMs });
          setImmediate(() => call.cancel());
        },
        onChunk: () => undefined,
        onEnd: () => undefined,
        onError: ({ reason }: HttpError) => settle({ error: reason }),
      },
      limits,
    );
  }).finally(() => void client.close());
}
