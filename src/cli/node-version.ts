/** Detects unsupported Node versions. Must itself run on them: no imports, no new syntax. */

/** The oldest supported version, equal to `engines` in package.json. */
const OLDEST = [20, 19] as const;

/** The line to print when this version of Node is not supported; undefined when it is. */
export function unsupportedNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  return isOld ? `Sluice needs Node ${OLDEST.join(".")} or newer; this is ${version}.` : undefined;
}

/** By major version, the first release without CVE-2026-21717 and CVE-2026-21710. */
const FIXED: Readonly<Record<number, readonly [minor: number, patch: number]>> = {
  20: [20, 2],
  22: [22, 2],
  24: [14, 1],
  25: [8, 2],
};

/** What speaks against this version of Node, and which one to use; undefined: nothing. */
export function nodeAdvice(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major > 25) return undefined;
  const fixed = FIXED[major];
  if (fixed !== undefined && (minor > fixed[0] || (minor === fixed[0] && patch >= fixed[1])))
    return undefined;
  const newer = fixed === undefined ? "24.14.1" : `${major}.${fixed[0]}.${fixed[1]}`;
  return `use ${newer} or newer: this one has CVE-2026-21717 (crafted JSON keys slow the process down) and CVE-2026-21710`;
}
