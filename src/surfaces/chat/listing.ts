/** The endpoint listing: what a project offers, in the order of its config. */
import { sendJson } from "../../http/respond.ts";
import { reject } from "../../plugin/index.ts";
import type { Visit } from "../arrival.ts";

export function serveListing(visit: Visit): void {
  visit.admit(
    "ai_gateway",
    () => reject("not_gateway_project", {}),
    (project) => {
      sendJson(visit.res, 200, `{"ok":true,"data":${project.listingJson}}`, visit.headers());
      visit.end(200, undefined);
    },
  );
}
