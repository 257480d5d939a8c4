/**
 * Stages that remember something of the calls before (circuits, lengths of recent answers, whatever a third party's
 * keeps) are set up anew for each case, when the case needs them first. Stages without memory are set up once.
 */
import type { SetUpStage } from "../compile/context.ts";
import type { StagePlugin } from "../plugin/contract.ts";
import type { Hooks } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";

/** Of the built-in stages those that remember calls. */
const REMEMBERING: ReadonlySet<string> = new Set(["call", "budget"]);

/**
 * `caseNumber`: another one in each case. `isForeign`: the stage is a third party's. A stage whose setup is asynchronous
 * stays as it is: its hooks may not be waited for.
 */
export function setUpPerCase(
  caseNumber: () => number,
  isForeign: (plugin: StagePlugin<never>) => boolean,
): SetUpStage {
  return (plugin, options, host) => {
    // The options were checked against this plugin's own schema, which is what its type stands for.
    const make = () => plugin.setup(options as never, host);
    const first = make();
    if (isPromise(first) || !(REMEMBERING.has(plugin.name) || isForeign(plugin))) return first;
    return renewed(first, make, caseNumber);
  };
}

function renewed(
  first: Hooks,
  make: () => ReturnType<StagePlugin["setup"]>,
  caseNumber: () => number,
): Hooks {
  let of = caseNumber();
  let hooks = first;
  const now = (): Hooks => {
    if (of === caseNumber()) return hooks;
    of = caseNumber();
    const made = make();
    if (isPromise(made)) {
      made.catch(() => undefined);
      return hooks;
    }
    hooks.close?.();
    return (hooks = made);
  };
  const { request, call, response, stream, commit, finish, readsAnswer } = first;
  return {
    ...(readsAnswer !== undefined && { readsAnswer }),
    ...(request && { request: (x) => now().request?.(x) }),
    // The other hooks are there as they were the first time: they follow from the options.
    ...(call && { call: (x, targets) => (now().call ?? call)(x, targets) }),
    ...(response && { response: (x, result) => now().response?.(x, result) ?? result }),
    ...(stream && { stream: (x) => now().stream?.(x) }),
    ...(commit && { commit: (x, result) => now().commit?.(x, result) }),
    ...(finish && { finish: (x, end) => now().finish?.(x, end) }),
    close: () => hooks.close?.(),
  };
}
