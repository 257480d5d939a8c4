/**
 * How a loaded configuration comes from the loader thread to the calls' thread: taking over a message blocks, and ten
 * thousand endpoints are 15 MB. So entries that the calls' thread has already are not sent, and the others in pieces.
 */

import type { AliasConfig, EndpointConfig, ProjectConfig, ResolvedConfig } from "../config/model.ts";
import { type Entry, type EntryKeys, entryKeys, rememberKeys } from "../config/read/entry-keys.ts";

/** A configuration without its many entries, and the exact keys of those, project by project. */
export interface ConfigOutline {
  readonly shell: ResolvedConfig;
  readonly endpoints: readonly (readonly string[])[];
  readonly aliases: readonly (readonly string[])[];
}

export type SentEntry = readonly [keys: EntryKeys, entry: Entry];

/** Of one piece. */
const PIECE_ENTRIES_MAX = 100;
const PIECE_CHARACTERS_MAX = 200_000;

/** The loader thread's side: one configuration, to be sent in pieces. */
export class ConfigSender {
  readonly outline: ConfigOutline;
  readonly #pieces: Iterator<readonly SentEntry[]>;

  /** `known`: exact keys of entries that the other side has. */
  constructor(config: ResolvedConfig, known: ReadonlySet<string>) {
    const { projects } = config;
    this.outline = {
      shell: { ...config, projects: projects.map((project) => ({ ...project, endpoints: [], aliases: [] })) },
      endpoints: projects.map(({ endpoints }) => endpoints.map((entry) => entryKeys(entry).exact)),
      aliases: projects.map(({ aliases }) => aliases.map((entry) => entryKeys(entry).exact)),
    };
    const entries = projects.flatMap(({ endpoints, aliases }): readonly Entry[] => [
      ...endpoints,
      ...aliases,
    ]);
    this.#pieces = piecesOf(entries.filter((entry) => !known.has(entryKeys(entry).exact)));
  }

  /** undefined after the last one. */
  next(): readonly SentEntry[] | undefined {
    const { done, value } = this.#pieces.next();
    return done === true ? undefined : value;
  }
}

function* piecesOf(entries: readonly Entry[]): Generator<readonly SentEntry[], undefined> {
  let piece: SentEntry[] = [];
  let characters = 0;
  for (const entry of entries) {
    piece.push([entryKeys(entry), entry]);
    characters += JSON.stringify(entry).length;
    if (piece.length < PIECE_ENTRIES_MAX && characters < PIECE_CHARACTERS_MAX) continue;
    yield piece;
    piece = [];
    characters = 0;
  }
  if (piece.length > 0) yield piece;
  return undefined;
}

/** The calls' thread's side: puts a configuration together, with the entries of the one in use where they are equal. */
export class ConfigReceiver {
  readonly #entries = new Map<string, Entry>();

  /** `inUse`: the configuration whose entries need not be sent again. They have their keys since they were compiled. */
  constructor(inUse: ResolvedConfig) {
    for (const entry of entriesOf(inUse)) this.#entries.set(entryKeys(entry).exact, entry);
  }

  get known(): readonly string[] {
    return [...this.#entries.keys()];
  }

  take(piece: readonly SentEntry[]): void {
    for (const [keys, entry] of piece) {
      rememberKeys(entry, keys);
      this.#entries.set(keys.exact, entry);
    }
  }

  /** After the last piece. */
  config({ shell, endpoints, aliases }: ConfigOutline): ResolvedConfig {
    const projects = shell.projects.map(
      (project, index): ProjectConfig => ({
        ...project,
        // What was sent under a list's keys are entries of that list.
        endpoints: (endpoints[index] ?? []).map((key) => this.#entry(key) as EndpointConfig),
        aliases: (aliases[index] ?? []).map((key) => this.#entry(key) as AliasConfig),
      }),
    );
    return { ...shell, projects };
  }

  #entry(key: string): Entry {
    const entry = this.#entries.get(key);
    if (entry === undefined) throw new Error("an entry of the configuration was not sent");
    return entry;
  }
}

function entriesOf({ projects }: ResolvedConfig): readonly Entry[] {
  return projects.flatMap(({ endpoints, aliases }): readonly Entry[] => [...endpoints, ...aliases]);
}
