/** Detects unsupported Node versions. Must itself run on them: no imports, no new syntax. */

/** The oldest supported version, equal to `engines` in package.json. */
const OLDEST = [20, 19] as const;

/** The line to print when this version of Node is not supported; undefined when it is. */
export function unsupportedNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  return isOld ? `Sluice needs Node ${OLDEST.join(".")} or newer; this is ${version}.` : undefined;
}
