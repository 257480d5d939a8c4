/** Tells a Node version that is too old. Must run on such a version itself: no imports, no new syntax. */

/** The oldest version that works, as package.json's `engines` has it. */
const OLDEST = [20, 19] as const;

/** The line to print when this version of Node is not supported; undefined when it is. */
export function unsupportedNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  return isOld ? `Sluice needs Node ${OLDEST.join(".")} or newer; this is ${version}.` : undefined;
}
