/**
 * The headers of a webhook's delivery: X-Gateway-* and those of Standard Webhooks, so that a
 * receiver of either kind can verify it. Keys are read once; this is the only place that holds them.
 */
import { createHmac } from "node:crypto";

/** What is about to be sent. */
export interface SignedMessage {
  /** The same for every webhook that receives one event, so that receivers can detect duplicates. */
  readonly id: string;
  readonly event: string;
  /** The body exactly as it goes out. */
  readonly body: string;
  readonly sentAtMs: number;
}

export type Signer = (message: SignedMessage) => Record<string, string>;

/** `secrets`: one, or two during rotation: the first signs `X-Gateway-Signature`, each signs `webhook-signature`. */
export function createSigner(secrets: readonly [string, ...string[]]): Signer {
  const ownKey = Buffer.from(secrets[0], "utf8");
  const standardKeys = secrets.map(standardKey);
  return ({ id, event, body, sentAtMs }) => {
    const timestamp = String(Math.floor(sentAtMs / 1000));
    const signed = `${id}.${timestamp}.${body}`;
    return {
      "Content-Type": "application/json",
      "X-Gateway-Event": event,
      "X-Gateway-Signature": `sha256=${createHmac("sha256", ownKey).update(body, "utf8").digest("hex")}`,
      "X-Gateway-Timestamp": timestamp,
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": standardKeys
        .map((key) => `v1,${createHmac("sha256", key).update(signed, "utf8").digest("base64")}`)
        .join(" "),
    };
  };
}

const PREFIX = "whsec_";
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** A secret whose part after the prefix is not base64 is used as it is, since an empty key would sign nothing. */
function standardKey(secret: string): Buffer {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
  return BASE64.test(encoded) ? Buffer.from(encoded, "base64") : Buffer.from(secret, "utf8");
}
