/** Names why a connection failed, in a few words, for log lines and attempts. Contains no address and no name of a host. */

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection reset",
  ENOTFOUND: "DNS: name not found",
  EAI_AGAIN: "DNS: lookup failed",
  ETIMEDOUT: "connection timed out",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network unreachable",
  EMFILE: "out of file descriptors",
  EPROXY: "forward proxy: no tunnel",
  EPROTO: "TLS: handshake failed",
};

/** Codes of Node and OpenSSL for certificates and handshakes. */
const TLS_CODE = /^(?:ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
/** Text that is safe in a log line. */
const PLAIN_CODE = /^[A-Z][A-Z0-9_]{1,63}$/;

/** undefined: unknown. */
export function connectionCause(cause: unknown): string | undefined {
  const code = codeOf(cause);
  if (code === undefined) return undefined;
  const known = CAUSES[code];
  if (known !== undefined) return known;
  if (code.startsWith("EAI_")) return "DNS: lookup failed";
  return TLS_CODE.test(code) ? `TLS: ${code.toLowerCase().replaceAll("_", " ")}` : code;
}

/** Of several addresses tried, the first one's. */
function codeOf(cause: unknown): string | undefined {
  if (typeof cause !== "object" || cause === null) return undefined;
  if ("code" in cause && typeof cause.code === "string" && PLAIN_CODE.test(cause.code)) return cause.code;
  return "errors" in cause && Array.isArray(cause.errors) ? codeOf(cause.errors[0]) : undefined;
}
