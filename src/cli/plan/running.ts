/**
 * The configuration that a gateway runs, as its admin listener shows it: values with their places, references as written,
 * without what was changed at run time. The token is in SLUICE_ADMIN_TOKEN.
 */
import { join, sep } from "node:path";
import { isJsonObject } from "../../base/json.ts";
import { type LoadRequest, loadConfig, type PluginLoader } from "../../config/load.ts";
import type { PluginModule, ResolvedConfig } from "../../config/model.ts";
import type { Files } from "../../config/read/files.ts";
import {
  asJsonMap,
  type ConfigPath,
  isJsonMap,
  type JsonMap,
  type Origin,
  type ShownConfig,
} from "../../config/shown.ts";
import { failure } from "../../plan/git/git.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import { AdminError, adminClient } from "../admin-client.ts";
import type { CliIo } from "../command.ts";
import type { LoadedSide } from "./side-outcome.ts";

export async function loadRunning(url: string, io: CliIo, plugins: PluginLoader): Promise<LoadedSide> {
  const { body, address } = await askRunning(url, "/admin/v1/config", io, plugins);
  const { config: tree, hash, revision, plugins: modules } = body;
  if (!isJsonMap(tree) || typeof hash !== "string" || !Array.isArray(modules))
    throw failure(`${address} answers in a form that this version does not know`);
  const shown = shownFrom(tree);
  const versions = modules.map(asJsonMap);
  const config = await resolved(shown.config, versions, plugins, address);
  return {
    side: { name: `running:${address}`, hash, revision: String(revision ?? "") || null, shown, config },
    texts: [],
    skippedPlugins: versions.length,
  };
}

/** A body of the admin API. Throws SideError with what to do when there is none. */
export async function askRunning(
  url: string,
  path: string,
  io: CliIo,
  plugins: PluginLoader,
): Promise<{ readonly body: JsonMap; readonly address: string }> {
  try {
    const client = await adminClient({ url, overlay: [] }, io, plugins);
    try {
      const { status, body } = await client.ask("GET", path);
      // What was parsed from JSON is JSON.
      if (status === 200 && isJsonObject(body)) return { body: body as JsonMap, address: client.url };
      throw failure(`${client.url} answers ${status} to GET ${path}`);
    } finally {
      client.close();
    }
  } catch (error) {
    if (error instanceof AdminError) throw failure(error.message);
    throw error;
  }
}

/** Values and places taken apart again. */
function shownFrom(tree: JsonMap): ShownConfig {
  const originOf = (path: ConfigPath): Origin | undefined => {
    let node: JsonValue | undefined = tree;
    for (const key of path) node = childOf(node, key);
    return node === undefined ? undefined : originIn(node, path);
  };
  return {
    // The values of a map are a map.
    config: valuesOf(tree) as JsonMap,
    originOf,
    referenceOf: () => undefined,
    mapValues(map) {
      const walk = (node: JsonValue, path: ConfigPath): JsonValue => {
        if (Array.isArray(node)) return node.map((item: JsonValue, index) => walk(item, [...path, index]));
        const leaf = leafOf(node);
        if (leaf === undefined)
          return Object.fromEntries(
            Object.entries(asJsonMap(node)).map(([key, item]) => [key, walk(item, [...path, key])]),
          );
        const origin = originIn(node, path);
        return map(leaf.value, origin && (() => origin), path);
      };
      return walk(tree, []);
    },
  };
}

interface Leaf {
  readonly value: JsonValue;
  readonly at: string;
  readonly path: string | undefined;
}

/** A value with its place. In a map with a key `at` of its own, that is such a value too, and no text. */
function leafOf(node: JsonValue): Leaf | undefined {
  if (!isJsonMap(node)) return undefined;
  const { value = null, at, path } = node;
  return typeof at === "string"
    ? { value, at, path: typeof path === "string" ? path : undefined }
    : undefined;
}

function valuesOf(node: JsonValue): JsonValue {
  if (Array.isArray(node)) return node.map(valuesOf);
  const leaf = leafOf(node);
  if (leaf !== undefined) return leaf.value;
  return Object.fromEntries(Object.entries(asJsonMap(node)).map(([key, item]) => [key, valuesOf(item)]));
}

function childOf(node: JsonValue | undefined, key: string | number): JsonValue | undefined {
  if (typeof node !== "object" || node === null || leafOf(node) !== undefined || !Object.hasOwn(node, key))
    return undefined;
  return Reflect.get(node, key) as JsonValue; // A child of JSON is JSON.
}

/** Of a value, or of the first that is written in a map or list. */
function originIn(node: JsonValue, path: ConfigPath): Origin | undefined {
  const leaf = leafOf(node);
  if (leaf !== undefined) {
    const [, file = "", line, column] = /^(.*):(\d+):(\d+)$/s.exec(leaf.at) ?? [];
    const at = { file, line: Number(line), column: Number(column) };
    return file === "" ? undefined : { at, path: leaf.path ?? pathText(path) };
  }
  for (const [key, item] of Object.entries(node ?? {})) {
    const origin = originIn(item, [...path, Array.isArray(node) ? Number(key) : key]);
    if (origin !== undefined) return { at: origin.at, path: pathText(path) };
  }
  return undefined;
}

function pathText(path: ConfigPath): string {
  return path
    .map((key, index) => {
      if (typeof key === "number") return `[${key}]`;
      if (!/^[\w$-]+$/.test(key)) return `[${JSON.stringify(key)}]`;
      return index === 0 ? key : `.${key}`;
    })
    .join("");
}

/** Where the data is loaded from: no such file is on any disk. */
const FILE = join(sep, "running", "gateway.config.json");

/** Checked and resolved as its own gateway has done; modules of plugins, which are not here, by their names alone. */
async function resolved(
  config: JsonMap,
  versions: readonly JsonMap[],
  loadPlugins: PluginLoader,
  address: string,
): Promise<ResolvedConfig> {
  const text = JSON.stringify({ ...config, plugins: versions.map((_, index) => `running-plugin-${index}`) });
  const request: LoadRequest = {
    ...{ path: FILE, overlays: [], env: {}, strict: false },
    ...{ secrets: "keep", plugins: "skip" },
    files: fileOf(Buffer.from(text)),
  };
  const { config: made, errors } = await loadConfig(request, loadPlugins);
  if (made === undefined)
    throw failure(
      `the configuration that ${address} runs is not valid for this version: ${errors[0]?.message ?? "unknown error"}`,
      "use the version of Sluice that the gateway has",
    );
  const plugins = made.plugins.map((plugin, index): PluginModule => {
    const { module = "", version = "" } = versions[index] ?? {};
    return { ...plugin, specifier: String(module), version: String(version) };
  });
  return { ...made, plugins };
}

function fileOf(bytes: Uint8Array): Files {
  return {
    kind: (path) => (path === FILE ? "file" : FILE.startsWith(path) ? "folder" : undefined),
    entries: () => undefined,
    read: (path) => (path === FILE ? bytes : { unreadable: "does not exist" }),
  };
}
