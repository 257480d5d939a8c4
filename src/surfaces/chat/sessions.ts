/** Ends a conversation before its time: `DELETE /api/{project_uuid}/sessions/{id}`, for the token that it belongs to. */

import type { CompiledProject } from "../../compile/model.ts";
import { sendEmpty } from "../../http/respond.ts";
import { follow } from "../../pipeline/fault.ts";
import type { MaybePromise } from "../../plugin/index.ts";
import { andThen, isPromise, reject } from "../../plugin/index.ts";
import { OWN_SESSIONS } from "../../state/own-sessions.ts";
import type { Visit } from "../arrival.ts";

export function deleteSession(visit: Visit, id: string): void {
  visit.admit(
    "ai_gateway",
    () => reject("not_gateway_project", {}),
    (project) => {
      const known = forget(visit, project, id);
      if (isPromise(known)) follow(visit.call, known, (settled) => answer(visit, settled, id));
      else answer(visit, known, id);
    },
  );
}

/** The call may have been given up while the store was asked. */
function answer(visit: Visit, known: boolean, id: string): void {
  if (visit.call.ended) return;
  if (!known) return visit.refuse(reject("session_not_found", { id }));
  sendEmpty(visit.res, 204, visit.headers());
  visit.end(204, undefined);
}

function forget({ ctx, call }: Visit, project: CompiledProject, id: string): MaybePromise<boolean> {
  const { sessions } = ctx.rt.store;
  return andThen(
    sessions.ownerOf(id),
    (owner) =>
      owner !== undefined && belongsTo(owner, project.ref.uuid, call.token.id) && sessions.delete(owner, id),
  );
}

/** An owner is made by `conversationOwner`: project, endpoint, token. Slugs have no slash. */
function belongsTo(owner: string, projectUuid: string, tokenId: string): boolean {
  const ofProject = `${OWN_SESSIONS}${projectUuid}/`;
  if (!owner.startsWith(ofProject)) return false;
  return owner.slice(owner.indexOf("/", ofProject.length) + 1) === tokenId;
}
