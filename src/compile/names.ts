/** Names that calls find an endpoint, alias or proxy endpoint by. */

/** Under its name, and under the one that it had as long as `moved_from` names that. */
export function setNamed<T>(
  map: Map<string, T>,
  name: string,
  { moved_from: before }: { readonly moved_from: string | null },
  compiled: T,
): void {
  map.set(name, compiled);
  if (before !== null) map.set(before, compiled);
}
