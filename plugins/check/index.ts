/**
 * Stage check: the answer's text against the endpoint's `output_schema`. Text is parsed as JSON unless the schema asks
 * for a string. A streamed answer is judged when it is whole, as a failure after the first byte.
 */
import { definePlugin, type GatewayError, reject } from "sluice/plugin";
import { parseJson } from "sluice/provider";

/** null: there is nothing to check, and the stage is left out. */
const endpointKeys = { output_schema: { type: ["object", "boolean"] } } as const;

export default definePlugin({
  name: "check",
  stage: "check",
  description: "Checks the answer against the endpoint's output_schema.",
  schema: { type: "object", required: ["output_schema"], properties: endpointKeys },
  endpointKeys,
  examples: [{ output_schema: { type: "object", required: ["title"] } }],
  setup({ output_schema }, host) {
    const valid = host.schemas.compile(output_schema);
    const isText = typeof output_schema === "object" && output_schema["type"] === "string";

    function judge(content: string): GatewayError | undefined {
      let value: unknown = content;
      if (!isText) {
        try {
          value = parseJson(content);
        } catch {
          return reject("output_invalid", { error: "the answer is not JSON" });
        }
      }
      const errors = valid(value)?.map((error) => error.replace(/^body\b/, "answer"));
      if (errors === undefined) return undefined;
      return reject("output_invalid", { error: errors[0] ?? "" }, { detail: errors.join("; ") });
    }

    return {
      response: (_x, result) => judge(result.content) ?? result,
      stream() {
        let content = "";
        return {
          chunk(chunk) {
            content += chunk.text;
            return chunk;
          },
          end: () => judge(content) ?? null,
        };
      },
    };
  },
});
