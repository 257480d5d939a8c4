/** `call`, `http`, `provider` and `upstream` of a step. */
import { choice, integer, list, mapOf, name, section, text } from "../../config/schema/keywords.ts";
import { anything, headers, PLACEHOLDER } from "./forms.ts";

export const callKeys = {
  endpoint: name("Slug of the endpoint to call.", { examples: ["summarise"] }),
  alias: name("Alias of a wrapper project, called as OpenAI's clients do.", { examples: ["default"] }),
  tool: name("Tool of the project's MCP bridge.", { examples: ["summarise"] }),
  proxy: name("Slug of a proxy endpoint.", { examples: ["crm"] }),
  project: name("Name, slug or UUID of the project. Default: `defaults.project`, else the one that has it.", {
    examples: ["Support"],
  }),
  token: name(
    "Name or id of a token of the project. Default: `defaults.token`, else the first with the scope.",
    {
      examples: ["web"],
    },
  ),
  message: text("The user's message.", { examples: ["Write to ann@example.org"] }),
  messages: list("The conversation, in the place of `message`.", anything("A message."), {
    examples: [[{ role: "user", content: "hi" }]],
  }),
  stream: {
    type: ["boolean", "string"],
    description: "Whether the answer is asked for as events.",
    pattern: `^${PLACEHOLDER}$`,
    patternErrorMessage: "must be true or false",
    examples: [true],
  },
  session_id: text("The conversation to continue.", { examples: ["{{session}}"] }),
  arguments: mapOf("Arguments of a tool.", anything("An argument."), { examples: [{ message: "hi" }] }),
  method: name("Method of a proxied call. Default: GET, with a body POST.", { examples: ["POST"] }),
  path: text("What follows the slug of a proxied call, with its query.", { examples: ["/contacts?limit=1"] }),
  headers: headers("Headers of the request."),
  body: anything("Body of a proxied call: JSON, or a text as it is.", { examples: [{ name: "Ann" }] }),
} as const;

export const CALL_KEYS: ReadonlySet<string> = new Set(Object.keys(callKeys));
export const CALL_TARGETS = ["endpoint", "alias", "tool", "proxy"] as const;

export const callSchema = {
  ...section(
    "One call of an endpoint, alias, tool or proxy. Other keys go into the request's body.",
    callKeys,
  ),
  additionalProperties: true,
  examples: [{ endpoint: "summarise", message: "hi" }],
};

export const httpSchema = section(
  "One request as a client sends it.",
  {
    method: name("Method. Default: GET, with a body POST.", { examples: ["POST"] }),
    path: text("Path with its query.", { examples: ["/api/{{project.uuid}}/summarise"] }),
    project: name("Project of `{{project.…}}` and of the token.", { examples: ["Support"] }),
    token: {
      type: ["string", "null"],
      description: "Token that is sent as `Authorization: Bearer …`; null: none.",
      minLength: 1,
      examples: ["web"],
    },
    headers: headers("Headers; null leaves a default one out."),
    body: anything("JSON, a text as it is, or the path of a file that begins with `./` or `../`.", {
      examples: [{ message: "hi" }, "./cases/openai.json"],
    }),
  },
  { required: ["path"] },
);

export const usage = section("Tokens that the provider reports.", {
  prompt: integer("Tokens of the input.", 0, 1_000_000_000, { examples: [40] }),
  completion: integer("Tokens of the answer.", 0, 1_000_000_000, { examples: [5] }),
  cached: integer("Part of `prompt` that came from the provider's cache.", 0, 1_000_000_000, {
    examples: [20],
  }),
});

export const toolCall = section(
  "A tool call of the model.",
  {
    id: name("Id of the call.", { examples: ["call_1"] }),
    name: name("Name of the tool.", { examples: ["weather"] }),
    arguments: {
      type: ["object", "string"],
      description: "Arguments, as a map or as JSON text.",
      examples: [{ city: "Bonn" }],
    },
  },
  { required: ["name"] },
);

export const answerKeys = {
  reply: text("The text that the model answers.", { examples: ["Done."] }),
  chunks: list("The answer as the pieces of a stream.", text("A piece.", { examples: ["Do"] }), {
    examples: [["mail ann@exa", "mple.org"]],
  }),
  usage,
  finish_reason: choice("Why the answer ends.", ["stop", "length", "tool_calls", "error"]),
  tool_calls: list("Tool calls of the model.", toolCall, { examples: [[{ name: "weather" }]] }),
  json: anything("The raw body of the answer, in the provider's own format.", { examples: [{ id: "1" }] }),
  status: {
    ...integer("HTTP status of the provider; with `body` and `headers`.", 100, 599, { examples: [503] }),
    type: ["integer", "string"],
    pattern: `^${PLACEHOLDER}$`,
    patternErrorMessage: "must be an HTTP status",
  },
  body: anything("Body of the answer with this status.", {
    examples: [{ error: { message: "overloaded" } }],
  }),
  headers: headers("Headers of the answer."),
  timeout: { type: "boolean", enum: [true], description: "The provider never answers.", examples: [true] },
  disconnect: {
    type: ["boolean", "object"],
    description: "The connection breaks: at once, or after some chunks.",
    properties: { after_chunks: integer("Chunks sent before it.", 0, 100_000, { examples: [1] }) },
    required: ["after_chunks"],
    additionalProperties: false,
    examples: [true, { after_chunks: 1 }],
  },
  recording: name("A file with the answer as the provider sends it: JSON, or server-sent events.", {
    examples: ["./cases/answer.json"],
  }),
} as const;

export const answer = section("What the provider answers.", answerKeys);

export const providerSchema = {
  type: ["object", "array"],
  description: "What the provider answers: one entry for each attempt, in order. Default: the reply `ok`.",
  properties: answerKeys,
  additionalProperties: false,
  items: answer,
  minItems: 1,
  maxItems: 1000,
  examples: [{ reply: "Done." }, [{ status: 503 }, { reply: "ok" }]],
} as const;

export const upstreamKeys = {
  status: answerKeys.status,
  headers: headers("Headers of the upstream's answer."),
  body: anything("Its body: JSON, or a text as it is.", { examples: [{ id: 1 }] }),
} as const;

export const upstreamSchema = section(
  "What the upstream of a proxied call answers. Default: 200 with an empty body.",
  upstreamKeys,
  {
    examples: [{ status: 200, body: { id: 1 } }],
  },
);
