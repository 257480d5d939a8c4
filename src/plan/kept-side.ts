/**
 * One side of a plan in few bytes, for as long as a configuration is in use: what is shown of it, with the places of what
 * is written in each object, and the facts that the configuration comes to. No secret is in it.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { ConfigPath, JsonMap, LoadedShown, Origin } from "../config/shown.ts";
import { objectsOf } from "./objects.ts";
import type { Side, SideFacts } from "./side.ts";

/** One whose files are at hand. */
export interface LoadedSide extends Side {
  readonly shown: LoadedShown;
}

/** Made by `keepSide`. */
export type KeptSide = Uint8Array;

/** Index into `files`, line, column, and the YAML's path where that is not the object's with the key. */
type KeptOrigin = readonly [file: number, line: number, column: number, path?: string];

interface KeptObject {
  readonly path: ConfigPath;
  readonly at: KeptOrigin | null;
  readonly keys: Readonly<Record<string, KeptOrigin>>;
}

interface Kept extends Pick<Side, "name" | "hash" | "revision"> {
  readonly config: JsonMap;
  readonly facts: SideFacts;
  readonly files: readonly string[];
  readonly objects: readonly KeptObject[];
}

/** The quickest level: values repeat, and 10,000 endpoints come to less than a megabyte. */
const COMPRESSION = { level: 1 };

export function keepSide(side: LoadedSide): KeptSide {
  const files: string[] = [];
  const indexes = new Map<string, number>();
  const kept = ({ at: { file, line, column }, path }: Origin, expected: string): KeptOrigin => {
    let index = indexes.get(file);
    if (index === undefined) {
      indexes.set(file, (index = files.length));
      files.push(file);
    }
    return path === expected ? [index, line, column] : [index, line, column, path];
  };
  const objects = objectsOf(side).map(({ path }): KeptObject => {
    const own = side.shown.originOf(path);
    const keys = side.shown
      .writtenIn(path)
      .map(([key, origin]) => [key, kept(origin, `${own?.path ?? ""}.${key}`)] as const);
    return { path, at: own === undefined ? null : kept(own, ""), keys: Object.fromEntries(keys) };
  });
  const { name, hash, revision, shown, config } = side;
  const all: Kept = { name, hash, revision, config: shown.config, facts: factsOf(config), files, objects };
  return deflateRawSync(JSON.stringify(all), COMPRESSION);
}

function factsOf({ prices, plugins, projects }: SideFacts): SideFacts {
  return {
    prices,
    plugins,
    projects: projects.map(({ uuid, tokens }) => ({
      uuid,
      tokens: tokens.map(({ id, name, hash, is_active }) => ({ id, name, hash, is_active })),
    })),
  };
}

/** As it was kept. Places are known of objects and of their keys, not of what is inside their values. */
export function keptSide(bytes: KeptSide): Side {
  // Written by `keepSide` of this process.
  const kept = JSON.parse(inflateRawSync(bytes).toString("utf8")) as Kept;
  const { name, hash, revision, config, facts, files } = kept;
  const objects = new Map(kept.objects.map((object) => [keyOf(object.path), object]));
  const origin = ([file, line, column, path]: KeptOrigin, expected: string): Origin => ({
    at: { file: files[file] ?? "", line, column },
    path: path ?? expected,
  });
  const ownPath = ({ at }: KeptObject): string => at?.[3] ?? "";
  const shown: Side["shown"] = {
    config,
    originOf(path) {
      const object = objects.get(keyOf(path));
      if (object !== undefined) return object.at === null ? undefined : origin(object.at, "");
      const holder = objects.get(keyOf(path.slice(0, -1)));
      const key = String(path.at(-1));
      const at = holder?.keys[key];
      return holder === undefined || at === undefined ? undefined : origin(at, `${ownPath(holder)}.${key}`);
    },
    referenceOf: () => undefined,
  };
  return { name, hash, revision, shown, config: facts };
}

const keyOf = (path: ConfigPath): string => path.join("\0");
