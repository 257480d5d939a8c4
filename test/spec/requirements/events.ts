/** Requirements of webhooks, audit events and the control plane's effects. */
export const EVENTS = {
  "webhook.secret.once": "A webhook's secret can never be read back.",
  "webhook.record":
    "Every attempt leaves a record of its own: status, time, body sent, body received, success, error.",
  "webhook.project": "A webhook receives events of its own project only.",
  "webhook.post": "A matching event is one POST per active webhook that names it.",
  "webhook.headers":
    "A delivery is `application/json`; `X-Gateway-Event` is the event key, `X-Gateway-Timestamp` Unix time in seconds, not signed.",
  "webhook.header.signature":
    "`X-Gateway-Signature` is `sha256=` and the lower-case hex HMAC of the raw body.",
  "webhook.body.fields":
    "The body has event and severity, actor and ip_address, project with id, name and uuid, target, metadata, and occurred_at in ISO 8601 UTC.",
  "webhook.inactive": "An inactive webhook does not fire.",
  "webhook.events.filter": "An event that a webhook does not name is not sent to it.",
  "webhook.outcome": "A receiver's 2xx is success; any other status is recorded as failure with its answer.",
  "webhook.timeout": "A receiver that does not answer within 10 s is recorded as failure with an error.",
  "webhook.unreachable": "An unreachable receiver is recorded as failure.",
  "webhook.no-retry": "A failed delivery is not retried.",
  "event.auth": "A failed sign-in raises `auth.login_failed`.",
  "event.credential": "Credentials raise created, deactivated and deleted.",
  "event.token": "Tokens raise created, rotated, revoked and deleted.",
  "event.endpoint": "Endpoints raise created, updated and deactivated.",
  "event.provider": "Disabling a provider raises `provider.disabled`.",
  "event.guardrail": "A guardrail's block raises `guardrail.blocked`.",
  "webhook.test": "Send test fires `webhook.test` with a sample payload.",
  "event.backup": "A backup raises `backup.exported`.",
  "event.oauth": "OAuth connections raise connected, disconnected and refresh_failed.",
  "state.endpoint.switch":
    "An endpoint deactivated by the control plane answers 404, and answers again when it is activated.",
  "control.set-active.idempotent":
    "`gw_set_endpoint_active` may be called again with the same value, and succeeds.",
  "control.revoke.idempotent": "`gw_revoke_token` may be called again, and succeeds.",
  "state.token.rotate-again": "Each rotation creates another plaintext.",
};
