/**
 * Stage `call`: asks the targets in their order until one answers. Moves on only where another target may do better
 * (`failover.order`), and never after the first content of a stream. Knows no wire format and no HTTP.
 */

import type { Answer, ChatResult, Exchange, GatewayError, MaybePromise, Target } from "sluice/plugin";
import { definePlugin, isGatewayError, isPromise, reject } from "sluice/plugin";
import type { ProviderFailure } from "sluice/provider";
import { COMMON_FIELDS, firstUnsupportedField, isFailure } from "sluice/provider";
import type { CoreExchange } from "../../src/plugin/exchange.ts";
import { Circuits } from "./circuit.ts";
import { FailoverSequence, INACTIVE, requestOf } from "./failover.ts";
import { streamed } from "./streamed-call.ts";

export const call = definePlugin({
  name: "call",
  stage: "call",
  endpointKeys: {},
  description: "Asks the endpoint's model, then its failover entries, in order.",
  schema: { type: "object", additionalProperties: false },
  examples: [{}],
  setup(_options, host) {
    const circuits = new Circuits(host);
    return {
      call: (x: CoreExchange, targets: readonly Target[]) => {
        const primary = targets[0];
        if (primary === undefined || !targets.some((target) => target.enabled)) {
          return reject("provider_disabled", { key: primary?.provider ?? "" });
        }
        const able = x.options === undefined ? targets : ableOf(x, targets);
        if (isGatewayError(able)) return able;
        const sequence = new FailoverSequence(host, circuits, x, able);
        return x.stream ? streamed(sequence) : whole(sequence);
      },
    };
  },
});

export default call;

/** The targets that support every requested field; if there is none, the refusal names the first target. */
function ableOf(x: Exchange, targets: readonly Target[]): readonly Target[] | GatewayError {
  const fields = targets.map((target) => {
    const request = requestOf(x, target);
    const { client } = target;
    return client.unsupported === undefined
      ? firstUnsupportedField(request, COMMON_FIELDS)
      : client.unsupported(request, x.stream);
  });
  const able = targets.filter((target, n) => fields[n] === undefined && target.enabled);
  if (able.length > 0) return able;
  const at = targets.findIndex(({ enabled }) => enabled);
  return reject("unsupported_field", { field: fields[at] ?? "", provider: targets[at]?.label ?? "" });
}

/** Requests a whole answer. Synchronous as long as the providers are. */
function whole(sequence: FailoverSequence): MaybePromise<Answer> {
  for (let target = sequence.next(); target !== undefined; target = sequence.next()) {
    const asked = target;
    const settled = asked.active ? asked.client.complete(sequence.request(asked), sequence.x) : INACTIVE;
    if (isPromise(settled))
      return settled.then((result) => judge(sequence, asked, result) ?? whole(sequence));
    const answer = judge(sequence, asked, settled);
    if (answer !== undefined) return answer;
  }
  return reject("internal", {});
}

function judge(
  sequence: FailoverSequence,
  target: Target,
  result: ChatResult | ProviderFailure,
): Answer | undefined {
  if (isFailure(result)) return sequence.fail(target, result, true);
  sequence.succeed(target);
  return result.id !== "" && result.model !== ""
    ? result
    : { ...result, ...sequence.named(result.id, result.model) };
}
