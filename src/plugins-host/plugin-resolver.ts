/**
 * Lets a plugin import `sluice/plugin` from wherever its file lies: the name means the door of the gateway that loads
 * it, so that a plugin needs no installed copy beside it.
 */
import Module, { register } from "node:module";
import { fileURLToPath } from "node:url";

const OFFERED = ["sluice/plugin", "sluice/provider", "sluice/testing"];
let offered = false;

/** Registers the resolvers once per thread, when the first plugin is loaded. */
export function registerPluginResolver(): void {
  if (offered) return;
  offered = true;
  const doors = new Map(OFFERED.map((name) => [name, import.meta.resolve(name)]));
  offerToImport(doors);
  offerToRequire(doors);
}

function offerToImport(doors: ReadonlyMap<string, string>): void {
  const source = `const doors = new Map(${JSON.stringify([...doors])});
export function resolve(specifier, context, next) {
  const url = doors.get(specifier);
  return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
}`;
  register(`data:text/javascript,${encodeURIComponent(source)}`);
}

/** A TypeScript file in a folder without `"type": "module"` is loaded as CommonJS, which import hooks do not see. */
function offerToRequire(doors: ReadonlyMap<string, string>): void {
  const original: unknown = Reflect.get(Module, "_resolveFilename");
  if (typeof original !== "function") return;
  Reflect.set(
    Module,
    "_resolveFilename",
    function resolve(this: unknown, ...args: readonly unknown[]): unknown {
      // tsx adds a query to what it resolves.
      const door = doors.get(String(args[0]).split("?", 1)[0] ?? "");
      return door === undefined ? Reflect.apply(original, this, args) : fileURLToPath(door);
    },
  );
}
