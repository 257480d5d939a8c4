/**
 * Registers a test together with the rules it holds. The ids must stand in the call as literals, since the coverage
 * gate reads them from the source text: tests run in many processes, and no one of them sees all.
 */
import { type TestContext, test } from "node:test";
import { REQUIREMENTS, type RequirementId } from "./requirements.ts";

/** A test of Node's runner, named by its sentence. Throws at registration on an id that does not exist. */
export function verifies(
  ids: RequirementId | readonly [RequirementId, ...RequirementId[]],
  sentence: string,
  run: (t: TestContext) => void | Promise<void>,
): void {
  for (const id of typeof ids === "string" ? [ids] : ids) {
    if (!Object.hasOwn(REQUIREMENTS, id)) throw new Error(`verifies: no rule is called ${id}`);
  }
  test(sentence, run);
}
