/**
 * Lets a plugin import `sluice/plugin` from wherever its file lies: the name means the door of the gateway that loads
 * it, so that a plugin needs no installed copy and never meets a second one.
 */
import { register } from "node:module";

const OFFERED = ["sluice/plugin", "sluice/testing"];
let offered = false;

/** Registers the resolver once per process, when the first plugin is loaded. */
export function offerDoor(): void {
  if (offered) return;
  offered = true;
  const doors = Object.fromEntries(OFFERED.map((name) => [name, import.meta.resolve(name)]));
  const source = `const doors = ${JSON.stringify(doors)};
export function resolve(specifier, context, next) {
  const url = doors[specifier];
  return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
}`;
  register(`data:text/javascript,${encodeURIComponent(source)}`);
}
