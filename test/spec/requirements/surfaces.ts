/** Rules of the wrapper and proxy surfaces, which step 6 delivers. */
import { later } from "./rule.ts";

export const SURFACES = {
  ...later(6, "SPEC Errors", {
    "wrapper.alias.unknown": "An unknown alias is a 404.",
    "wrapper.project.type": "The wrapper's path on a gateway project is a 400.",
    "wrapper.error.body": "The wrapper's refusals have the specification's error body.",
    "wrapper.messages": "The gateway's messages hold on the wrapper.",
  }),
  ...later(6, "SPEC Messages (proxy)", {
    "proxy.method":
      "A method that is not allowed gets 405 `Method '<method>' is not allowed for this endpoint.`.",
    "proxy.ssrf": "A blocked address gets 422 `Upstream URL blocked by SSRF guard.` with detail.",
    "proxy.oauth": "A failed refresh gets 502 `Upstream OAuth connection failed.` with detail.",
    "proxy.unreachable": "A network failure or timeout gets 502 `Upstream unreachable.`.",
    "proxy.slug": "An unknown slug gets 404 `Endpoint '<slug>' not found or inactive.`.",
    "proxy.through": "Status and body of the upstream pass unchanged.",
  }),
};
