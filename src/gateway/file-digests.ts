/**
 * Digests of files' contents, read piece by piece so that a large configuration costs no memory. A poll need not read
 * what by its stamp has stayed as it was: ten thousand endpoints are 15 MB, and reading them every two seconds would cost
 * calls more than all their guardrails.
 */
import { createHash } from "node:crypto";
import { type FileHandle, open, stat } from "node:fs/promises";

interface Known {
  /** Which file it is, how long, and when it and its name were changed; see `stampOf`. */
  readonly stamp: string;
  readonly digest: string | undefined;
  /** A second look found the same stamp and the same content: from then on the stamp alone is believed. */
  readonly settled: boolean;
}

const PIECE_BYTES = 256 * 1024;

export class FileDigests {
  readonly #digest: (file: string) => Promise<string | undefined>;
  #known = new Map<string, Known>();

  constructor(digest = digestOf) {
    this.#digest = digest;
  }

  /**
   * Hex SHA-256 of each file, as `contentDigest`; undefined for what cannot be read. `believeStamps`: a file whose stamp
   * has settled is not read. A stamp settles only a look after it was first seen, since two changes within a tick of the
   * file system's clock have the same one. Files that are not asked for are forgotten.
   */
  async of(
    files: readonly string[],
    believeStamps: boolean,
  ): Promise<readonly (readonly [string, string | undefined])[]> {
    const known = new Map<string, Known>();
    for (const file of files) known.set(file, await this.#look(file, believeStamps));
    this.#known = known;
    return [...known].map(([file, { digest }]) => [file, digest]);
  }

  async #look(file: string, believeStamp: boolean): Promise<Known> {
    const before = this.#known.get(file);
    const stamp = await stampOf(file);
    if (stamp === undefined) return { stamp: "", digest: undefined, settled: false };
    if (believeStamp && before?.settled === true && before.stamp === stamp) return before;
    const digest = await this.#digest(file);
    return { stamp, digest, settled: before?.stamp === stamp && before.digest === digest };
  }
}

async function digestOf(file: string): Promise<string | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, "r");
    const hash = createHash("sha256");
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    for (;;) {
      const { bytesRead, buffer } = await handle.read(piece, 0, PIECE_BYTES);
      if (bytesRead === 0) return hash.digest("hex");
      hash.update(buffer.subarray(0, bytesRead));
    }
  } catch {
    return undefined;
  } finally {
    await handle?.close();
  }
}

/** Through links: a ConfigMap's swap changes which file a name leads to. */
async function stampOf(file: string): Promise<string | undefined> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return `${dev}/${ino}/${size}/${mtimeNs}/${ctimeNs}`;
  } catch {
    return undefined;
  }
}
