/**
 * Registers a test together with the requirements that it verifies. The ids and the sentence must be literals, since the
 * coverage check and docs/behavior.md read them from the source text: tests run in many processes.
 */
import { type TestContext, test } from "node:test";
import { REQUIREMENTS, type RequirementId } from "./requirements.ts";

/** At most three: a test that verifies more says little about each. */
type Ids =
  | RequirementId
  | readonly [RequirementId]
  | readonly [RequirementId, RequirementId]
  | readonly [RequirementId, RequirementId, RequirementId];

/** A test of Node's runner, named by its sentence. Throws at registration if an id does not exist. */
export function verifies(ids: Ids, sentence: string, run: (t: TestContext) => void | Promise<void>): void {
  for (const id of typeof ids === "string" ? [ids] : ids) {
    if (!Object.hasOwn(REQUIREMENTS, id)) throw new Error(`verifies: there is no requirement ${id}`);
  }
  test(sentence, run);
}
