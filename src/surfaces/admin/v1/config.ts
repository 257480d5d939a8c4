/** `GET /admin/v1/config`: the configuration in use, as git has it: without what was changed at run time. */
import { reject } from "../../../plugin/index.ts";
import type { ApiRoute } from "./api-route.ts";
import { count, list, object, text } from "./schema.ts";

export const config = object("The configuration in use.", {
  ok: { const: true, description: "Always true." },
  generation: count("Number of the configuration since the start."),
  hash: text("As `config_hash` elsewhere."),
  revision: text("Git revision of its folder, with `-dirty` where files differ; empty if unknown."),
  config: {
    type: "object",
    description:
      "Merged, with defaults; secrets as their references. Each value that is no map and no list is `{value, at}`: `at` is `file:line:column`, or `default`; `path` where an endpoint inherits it.",
    additionalProperties: true,
  },
  plugins: list(
    "Modules of third parties.",
    object("One of them.", { module: text("Its path or package."), version: text("Hash of its files.") }),
  ),
});

export const getConfig: ApiRoute = {
  ...{ method: "GET", path: "/admin/v1/config" },
  summary: "The configuration in use with the place of each value, without overrides; secrets as references.",
  responses: { 200: { description: "The configuration.", schema: config } },
  async handler(ctx) {
    const json = await ctx.config();
    return json === undefined ? reject("draining", {}) : { status: 200, json };
  },
};
