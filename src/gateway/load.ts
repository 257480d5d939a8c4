/** Loads a configuration from its files, with the plugins that it names: what `sluice validate` and every reload do. */

import { type LoadOutcome, type LoadRequest, loadConfig, type PluginLoader } from "../config/load.ts";
import { loadRegistry, type Registry } from "../plugins-host/registry.ts";
import { packConfig } from "./packed-config.ts";

export interface Loaded extends LoadOutcome {
  /** All plugins the configuration may use. */
  readonly registry: Registry;
  /** Of the configuration's folder; "" or absent: not known. */
  readonly revision?: string;
  /** For the admin API; see packed-config.ts. A load of another thread has made it, one of this thread can. */
  readonly packed?: Uint8Array | undefined;
  readonly pack?: (() => Uint8Array) | undefined;
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
