/**
 * The configuration in use as the admin API shows it: every value with its place, references as written, made once per
 * load in the thread that loads, and kept compressed (about 100 KB for 1,000 endpoints).
 */
import { promisify } from "node:util";
import { gunzip, gzipSync } from "node:zlib";
import type { ResolvedConfig } from "../config/model.ts";
import type { ShownConfig } from "../config/shown.ts";

const unpack = promisify(gunzip);

/** JSON of `{config, plugins}`, compressed. */
export function packConfig(shown: ShownConfig, { plugins }: ResolvedConfig): Uint8Array {
  const config = shown.mapValues((value, originOf, path) => {
    if (originOf === undefined) return { value, at: "default" };
    const { at, path: written } = originOf();
    const place = { value, at: `${at.file}:${at.line}:${at.column}` };
    // What an endpoint inherits is written elsewhere than its own path says.
    const isInherited = path[2] !== "endpoint_defaults" && written.includes(".endpoint_defaults");
    return isInherited ? { ...place, path: written } : place;
  });
  const versions = plugins.map(({ specifier, version }) => ({ module: specifier, version }));
  return gzipSync(JSON.stringify({ config, plugins: versions }), { level: 1 });
}

/** What of the configuration changes without a load. */
export interface ConfigHead {
  readonly generation: number;
  readonly hash: string;
  readonly revision: string;
}

/** One JSON document. Decompressed outside the event loop. */
export async function unpackConfig(packed: Uint8Array, head: ConfigHead): Promise<Uint8Array> {
  const inner = await unpack(packed);
  const begin = JSON.stringify({ ok: true, ...head });
  // `{"ok":true,…` and `"config":…}` as one object.
  return Buffer.concat([Buffer.from(`${begin.slice(0, -1)},`), inner.subarray(1)]);
}
