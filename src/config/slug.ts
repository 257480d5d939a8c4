/** Slugs: the path segment of an endpoint, made from its name when none is given. */

export const SLUG_PATTERN = "^[a-z0-9]+(?:-[a-z0-9]+)*$";

/** Paths that other routes have taken. */
export const RESERVED_SLUGS: ReadonlySet<string> = new Set(["endpoints", "chat", "v1", "mcp", "proxy"]);

/** `Résumé & Co.` -> `resume-co`; "" when nothing of the name can stand in a slug. */
export function slugOf(name: string): string {
  const plain = name
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}
