/** The wrapper's list of models: the aliases that a client may name, in the order of the config, in OpenAI's shape. */
import { sendJson } from "../../http/respond.ts";
import { reject } from "../../plugin/index.ts";
import type { Visit } from "../arrival.ts";

/** `alias`: the one that is asked for; undefined: all. */
export function serveModels(visit: Visit, alias: string | undefined): void {
  visit.admit(
    "ai_wrapper",
    () => reject("not_wrapper_project", {}),
    ({ models }) => {
      const model = models.find(({ id }) => id === alias);
      if (alias !== undefined && model === undefined)
        return visit.refuse(reject("alias_not_found", { alias }));
      const body = alias === undefined ? { object: "list", data: models } : model;
      sendJson(visit.res, 200, JSON.stringify(body), visit.headers());
      visit.end(200, undefined);
    },
  );
}
