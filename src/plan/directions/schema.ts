/** Whether a JSON Schema accepts every document that another one does, as far as its keywords decide it. */
import { type Compare, directionOf, unknownDirection } from "./direction.ts";

export const bySchema: Compare = (before, after) => {
  const [hadNone, hasNone] = [before, after].map((schema) => schema === null || schema === undefined);
  return hadNone || hasNone ? directionOf(!hasNone, !hadNone) : unknownDirection(before, after);
};
