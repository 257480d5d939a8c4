/** The configuration that a document's cases run against: loaded once for equal requests, on an offline gateway. */
import { dirname, resolve } from "node:path";
import type { LoadRequest } from "../config/load.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { Diagnostic } from "../config/report/diagnostic.ts";
import type { ShownConfig } from "../config/shown.ts";
import { ConfigError } from "../gateway/config-error.ts";
import { type Loaded, load } from "../gateway/load.ts";
import { type OfflineGateway, openOffline } from "../offline/offline.ts";
import { nearestConfig } from "./discover.ts";
import type { TestDocument } from "./model.ts";

export interface World {
  /** Absolute. */
  readonly configPath: string;
  readonly config: ResolvedConfig;
  readonly offline: OfflineGateway;
  readonly registry: Loaded["registry"];
  /** How the configuration is written. */
  readonly shown: ShownConfig | undefined;
  /** Absolute paths of all files that it was read from. */
  readonly files: readonly string[];
}

/** Why there is none: what is wrong with the configuration, or that there is no such file. */
export interface NoWorld {
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** Files that a fix may change. */
  readonly files: readonly string[];
}

export interface WorldOptions {
  /** For documents that name none and have none above them. Absolute. */
  readonly fallbackConfig: string | undefined;
  /** Laid over those of the document; absolute. */
  readonly overlays: readonly string[];
  readonly root: string | undefined;
}

export class Worlds {
  readonly #options: WorldOptions;
  readonly #known = new Map<string, Promise<World | NoWorld>>();

  constructor(options: WorldOptions) {
    this.#options = options;
  }

  /** "no config": the document names none and there is none above it. */
  of(document: TestDocument): Promise<World | NoWorld> | "no config" {
    const request = this.#requestFor(document);
    if (request === undefined) return "no config";
    const key = JSON.stringify(request);
    let world = this.#known.get(key);
    if (world === undefined) this.#known.set(key, (world = openWorld(request)));
    return world;
  }

  async close(): Promise<void> {
    for (const opened of this.#known.values()) {
      const world = await opened.catch(() => undefined);
      if (world !== undefined && "offline" in world) await world.offline.close();
    }
    this.#known.clear();
  }

  #requestFor({ file, config, overlays, env }: TestDocument): LoadRequest | undefined {
    const folder = dirname(file);
    const { fallbackConfig, root } = this.#options;
    const path = config === undefined ? (nearestConfig(file) ?? fallbackConfig) : resolve(folder, config);
    if (path === undefined) return undefined;
    const all = [...overlays.map((name) => resolve(folder, name)), ...this.#options.overlays];
    return requestFor({ path, root, env, overlays: all });
  }
}

/** How configurations are loaded for tests: without secrets, and with the place of each value. */
export function requestFor(from: Pick<LoadRequest, "path" | "root" | "env" | "overlays">): LoadRequest {
  return { ...from, strict: false, secrets: "dummy", shows: true };
}

export async function openWorld(request: LoadRequest): Promise<World | NoWorld> {
  const loaded = await load(request);
  const { config, errors, warnings, watch, registry, hash, shown } = loaded;
  const { files } = watch;
  if (config === undefined) return { errors, warnings, files };
  const placeOf = (path: readonly (string | number)[]) => shown?.originOf(path)?.at;
  const offline = await openOffline({ config, registry, hash, placeOf }).catch(notOpened);
  return "errors" in offline
    ? { ...offline, files }
    : { configPath: request.path, config, offline, registry, shown, files };
}

/** A plugin that cannot be set up is a mistake of the configuration. */
function notOpened(thrown: unknown): Pick<NoWorld, "errors" | "warnings"> {
  if (thrown instanceof ConfigError) return thrown;
  throw thrown;
}
