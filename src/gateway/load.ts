/** Loads a configuration from its files, with the plugins that it names: what `sluice validate` and every reload do. */

import { type LoadOutcome, type LoadRequest, loadConfig, type PluginLoader } from "../config/load.ts";
import type { KeptSide } from "../plan/kept-side.ts";
import { loadRegistry, type Registry } from "../plugins-host/registry.ts";
import type { ReloadChanges } from "./compared.ts";
import { packConfig } from "./packed-config.ts";

export interface Loaded extends LoadOutcome {
  /** All plugins the configuration may use. */
  readonly registry: Registry;
  /** Of the configuration's folder; "" or absent: not known. */
  readonly revision?: string;
  /** For the admin API; see packed-config.ts. Of a load in this thread: what other threads load comes with `changes`. */
  readonly pack?: (() => Uint8Array) | undefined;
  /** What is shown of it, for the comparison with the next one. Of the first configuration of a process. */
  readonly kept?: KeptSide | undefined;
  /** What it changes against the configuration in use, once that is known. Of a reload with another configuration. */
  readonly changes?: Promise<ReloadChanges>;
}

/** `alive`: see `loadConfig`. */
export async function load(request: LoadRequest, alive?: () => void): Promise<Loaded> {
  let registry: Registry | undefined;
  const loadPlugins: PluginLoader = async (modules) => (registry = await loadRegistry(modules));
  const outcome = await loadConfig(request, loadPlugins, alive);
  const { config, shown } = outcome;
  return {
    ...outcome,
    registry: registry ?? (await loadRegistry([])),
    pack: shown && config && (() => packConfig(shown, config)),
  };
}

/** For commands that check without running. */
export const pluginLoader: PluginLoader = loadRegistry;
