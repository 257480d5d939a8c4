/** Rules of webhooks, audit events and the control plane's effects. */
import { rules } from "./rule.ts";

export const EVENTS = {
  ...rules("SPEC Resources", {
    "webhook.secret.once": "A webhook's secret can never be read back.",
    "webhook.record.fields":
      "Each delivery leaves a record: status, time, body sent, body received, success, error.",
    "webhook.record.many": "Every attempt has a record of its own.",
    "webhook.project": "A webhook fires for its own project only.",
  }),
  ...rules("SPEC Events", {
    "webhook.post": "A matching event is one POST per active webhook that names it.",
    "webhook.content-type": "A delivery is `application/json`.",
    "webhook.header.event": "`X-Gateway-Event` is the event key.",
    "webhook.header.signature":
      "`X-Gateway-Signature` is `sha256=` and the lower-case hex HMAC of the raw body.",
    "webhook.header.timestamp": "`X-Gateway-Timestamp` is Unix time in seconds and not signed.",
    "webhook.body.event": "The body has event and severity.",
    "webhook.body.actor": "The body has actor and ip_address.",
    "webhook.body.project": "The body has project with id, name and uuid.",
    "webhook.body.target": "The body has target, metadata and occurred_at in ISO 8601 UTC.",
    "webhook.inactive": "An inactive webhook does not fire.",
    "webhook.events.filter": "An event that a webhook does not name is not sent to it.",
    "webhook.success": "A receiver's 2xx is success.",
    "webhook.failure": "A receiver's other status is recorded as failure with its answer.",
    "webhook.timeout": "A receiver that does not answer in 10 s is recorded as failure with an error.",
    "webhook.unreachable": "An unreachable receiver is recorded as failure.",
    "webhook.no-retry": "A failed delivery is not tried again.",
    "event.auth": "A failed sign-in raises `auth.login_failed`.",
    "event.credential": "Credentials raise created, deactivated and deleted.",
    "event.token": "Tokens raise created, rotated, revoked and deleted.",
    "event.endpoint": "Endpoints raise created, updated and deactivated.",
    "event.provider": "A provider switched off raises `provider.disabled`.",
    "event.guardrail": "A guardrail's block raises `guardrail.blocked`.",
  }),
  ...rules("SPEC Events", {
    "webhook.test": "Send test fires `webhook.test` with a made-up payload.",
    "event.backup": "A backup raises `backup.exported`.",
  }),
  ...rules("SPEC Events", {
    "event.oauth": "OAuth connections raise connected, disconnected and refresh_failed.",
  }),
  ...rules("SPEC States and transitions", {
    "state.endpoint.deactivate": "An endpoint switched off by the control plane answers 404.",
    "state.endpoint.activate": "Switched on again, it answers.",
    "state.endpoint.idempotent": "Setting the same value again succeeds.",
    "state.token.revoke-twice": "Revoking a revoked token succeeds.",
    "state.token.rotate-again": "Each rotation makes another plaintext.",
  }),
};
