/** Stage validate: the request body, as received, against the endpoint's `input_schema`. */
import { definePlugin, reject } from "sluice/plugin";

/** null: there is nothing to check, and the stage is left out. */
const endpointKeys = { input_schema: { type: ["object", "boolean"] } } as const;

export default definePlugin({
  name: "validate",
  stage: "validate",
  description: "Checks the request body against the endpoint's input_schema.",
  schema: { type: "object", required: ["input_schema"], properties: endpointKeys },
  endpointKeys,
  examples: [{ input_schema: { type: "object", required: ["message"] } }],
  setup({ input_schema }, host) {
    const check = host.schemas.compile(input_schema);
    return {
      request(x) {
        const errors = check(x.body);
        if (errors === undefined) return undefined;
        return reject("input_invalid", { error: errors[0] ?? "" }, { detail: errors.join("; ") });
      },
    };
  },
});
