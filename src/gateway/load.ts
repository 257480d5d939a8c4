/** Loads a configuration from its files, with the plugins that it names: what `sluice validate` and every reload do. */

import { type LoadOutcome, type LoadRequest, loadConfig, type PluginLoader } from "../config/load.ts";
import { loadRegistry, type Registry } from "../plugins-host/registry.ts";

export interface Loaded extends LoadOutcome {
  /** All plugins the configuration may use. */
  readonly registry: Registry;
  /** Of the configuration's folder; "" or absent: not known. */
  readonly revision?: string;
}

/** `alive`: see `loadConfig`. */
export async function load(request: LoadRequest, alive?: () => void): Promise<Loaded> {
  let registry: Registry | undefined;
  const loadPlugins: PluginLoader = async (modules) => (registry = await loadRegistry(modules));
  const outcome = await loadConfig(request, loadPlugins, alive);
  return { ...outcome, registry: registry ?? (await loadRegistry([])) };
}

/** For commands that check without running. */
export const pluginLoader: PluginLoader = loadRegistry;
