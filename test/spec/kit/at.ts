/** Reads JSON of unknown shape, so that no test needs a cast. */

/** What stands at a path of a JSON value; undefined where nothing does. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}
