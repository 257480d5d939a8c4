/**
 * Recent calls, newest first, bounded for each project and in all. A call is kept as a record of a few
 * values, see `call-record.ts`; what a record says is none of this file's business.
 */

/** Of all projects together. */
export const CALLS_MAX = 20_000;

/** What the ring needs to know of a call. */
export interface Kept {
  /** 1 for the first call of this process, then 2, 3 …: the place of a page's end. */
  readonly sequence: number;
  readonly requestId: string;
  readonly projectUuid: string;
}

/** A call between its neighbors: of all calls, and of its project. */
interface Node<R> {
  readonly record: R;
  older: Node<R> | undefined;
  newer: Node<R> | undefined;
  newerOfProject: Node<R> | undefined;
}

interface Project<R> {
  oldest: Node<R> | undefined;
  newest: Node<R> | undefined;
  count: number;
}

export interface RecentCallsOptions {
  /** Calls kept of each project; 0: none. */
  keep: number;
  /** Calls kept in all. Default: CALLS_MAX. */
  readonly max?: number;
}

export class RecentCalls<R extends Kept> {
  readonly #projects = new Map<string, Project<R>>();
  readonly #listeners = new Set<(record: R) => void>();
  readonly #max: number;
  #keep: number;
  #oldest: Node<R> | undefined;
  #newest: Node<R> | undefined;
  #count = 0;

  constructor({ keep, max = CALLS_MAX }: RecentCallsOptions) {
    this.#keep = keep;
    this.#max = max;
  }

  get size(): number {
    return this.#count;
  }

  /** Another number for each project, from a reload on. Surplus calls go at once. */
  keep(count: number): void {
    this.#keep = count;
    for (const project of this.#projects.values()) {
      while (project.count > count) this.#dropOldestOf(project);
    }
  }

  add(record: R): void {
    if (this.#keep > 0) this.#insert(record);
    for (const listener of this.#listeners) listener(record);
  }

  /** Calls `seen` with each new record. Returns the way to stop. */
  watch(seen: (record: R) => void): () => void {
    this.#listeners.add(seen);
    return () => void this.#listeners.delete(seen);
  }

  /** Newest first; `before`: only calls older than the one of this sequence. */
  *newestFirst(before = Number.POSITIVE_INFINITY): Generator<R> {
    for (let node = this.#newest; node !== undefined; node = node.older) {
      if (node.record.sequence < before) yield node.record;
    }
  }

  find(requestId: string): R | undefined {
    for (const record of this.newestFirst()) if (record.requestId === requestId) return record;
    return undefined;
  }

  #insert(record: R): void {
    const node: Node<R> = { record, older: this.#newest, newer: undefined, newerOfProject: undefined };
    if (this.#newest === undefined) this.#oldest = node;
    else this.#newest.newer = node;
    this.#newest = node;
    this.#count++;
    let project = this.#projects.get(record.projectUuid);
    if (project === undefined) {
      project = { oldest: undefined, newest: undefined, count: 0 };
      this.#projects.set(record.projectUuid, project);
    }
    if (project.newest === undefined) project.oldest = node;
    else project.newest.newerOfProject = node;
    project.newest = node;
    project.count++;
    if (project.count > this.#keep) this.#dropOldestOf(project);
    else if (this.#count > this.#max) this.#dropOldest();
  }

  /** The oldest call of all is the oldest of its project. */
  #dropOldest(): void {
    const project = this.#projects.get(this.#oldest?.record.projectUuid ?? "");
    if (project !== undefined) this.#dropOldestOf(project);
  }

  #dropOldestOf(project: Project<R>): void {
    const node = project.oldest;
    if (node === undefined) return;
    project.oldest = node.newerOfProject;
    project.count--;
    this.#count--;
    if (project.oldest === undefined) {
      project.newest = undefined;
      this.#projects.delete(node.record.projectUuid);
    }
    if (node.older === undefined) this.#oldest = node.newer;
    else node.older.newer = node.newer;
    if (node.newer === undefined) this.#newest = node.older;
    else node.newer.older = node.older;
  }
}
