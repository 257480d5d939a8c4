/**
 * Real paths of one load: each symbolic link is read once, however many paths lead through it. So all files of a
 * ConfigMap are read below the one folder that `..data` named first, and a swap during the load mixes nothing.
 */
import { basename, dirname, join, resolve } from "node:path";
import type { Files } from "./files.ts";

/** As in Linux. */
const LINKS_MAX = 40;

export class PinnedLinks {
  /** Real path by path; undefined: there is nothing. */
  readonly #real = new Map<string, string | undefined>();

  readonly #files: Files;

  constructor(files: Files) {
    this.#files = files;
  }

  /** Of an absolute path; undefined when nothing is there. The answer stays the same. */
  realPath(path: string): string | undefined {
    return this.#resolve(path, 0);
  }

  #resolve(path: string, links: number): string | undefined {
    if (this.#real.has(path)) return this.#real.get(path);
    const real = this.#look(path, links);
    this.#real.set(path, real);
    return real;
  }

  #look(path: string, links: number): string | undefined {
    const parent = dirname(path);
    if (parent === path) return path;
    const folder = this.#resolve(parent, links);
    if (folder === undefined || links > LINKS_MAX) return undefined;
    const at = join(folder, basename(path));
    const kind = this.#files.kind(at);
    if (kind === undefined) return undefined;
    return typeof kind === "object" ? this.#resolve(resolve(folder, kind.link), links + 1) : at;
  }
}
