/**
 * What a turn of the event loop leaves to be done at its end, all calls' together and kind by kind: what has been read
 * is processed first, then everything is written, then work that no client waits for is done. Under load that is a
 * third of a call's cost: code that runs in a row stays in the processor's caches, and who is written to in a row is
 * woken once. A turn with one call in it costs that call nothing, since its end comes before the loop waits again.
 *
 * No more is queued than calls are open, each for once in each list or for a write each.
 */

type Task = () => void;

/** Called with what a task has thrown. It must not throw itself; if it does, the error is an uncaught exception. */
type Failed<T> = (subject: T, thrown: unknown) => void;

/** Tasks with their owners, so that one that throws fails its owner and nothing else. */
class Batch {
  readonly #tasks: (Task | undefined)[] = [];
  readonly #subjects: unknown[] = [];
  readonly #failed: (Failed<never> | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add<T>(task: Task, subject: T, failed: Failed<T> | undefined): void {
    const at = this.#size++;
    this.#tasks[at] = task;
    this.#subjects[at] = subject;
    this.#failed[at] = failed;
  }

  run(from: number, to: number): void {
    for (let i = from; i < to; i++) {
      try {
        this.#tasks[i]?.();
      } catch (thrown) {
        this.#fail(i, thrown);
      }
    }
  }

  /** Empties the batch. Its lists stay as long as they are, so that the next turn does not make them anew. */
  clear(): void {
    for (let i = 0; i < this.#size; i++) {
      this.#tasks[i] = undefined;
      this.#subjects[i] = undefined;
      this.#failed[i] = undefined;
    }
    this.#size = 0;
  }

  /** A task that belongs to nothing cannot fail alone: its error is the process's. */
  #fail(i: number, thrown: unknown): void {
    try {
      const failed = this.#failed[i];
      if (failed === undefined) throw thrown;
      // Added together with its subject, in `add`.
      failed(this.#subjects[i] as never, thrown);
    } catch (uncaught) {
      setImmediate(() => {
        throw uncaught;
      });
    }
  }
}

/** Tasks of one kind: those of the turn that ends are run while the next turn's are collected. */
class Queue {
  #collected = new Batch();
  #running = new Batch();

  get size(): number {
    return this.#collected.size;
  }

  add<T>(task: Task, subject: T, failed: Failed<T> | undefined): void {
    this.#collected.add(task, subject, failed);
  }

  /** Runs what has been collected; `after` each portion of it. */
  run(portion = Number.POSITIVE_INFINITY, after?: () => void): void {
    const tasks = this.#collected;
    if (tasks.size === 0) return;
    this.#collected = this.#running;
    this.#running = tasks;
    for (let from = 0; from < tasks.size; from += portion) {
      tasks.run(from, Math.min(from + portion, tasks.size));
      after?.();
    }
    tasks.clear();
  }
}

/** Calls processed before their writes are flushed: the first must not wait for hundreds. */
const PORTION = 64;

const work = new Queue();
const flushes = new Queue();
const writes = new Queue();
const rest = new Queue();
let armed = false;
let turns = 0;

/** Another one in each turn that had something to do. */
export function batchNumber(): number {
  return turns;
}

/**
 * For what has been read whole: deciding a call, making something of an answer. `failed` is told when the task throws,
 * with its `subject`: two values rather than a closure, since this runs on every call.
 */
export function processInBatch(task: Task): void;
export function processInBatch<T>(task: Task, subject: T, failed: Failed<T>): void;
export function processInBatch<T>(task: Task, subject?: T, failed?: Failed<T | undefined>): void {
  work.add(task, subject, failed);
  arm();
}

/** For what must be stored before anything of this turn goes out. */
export function persistInBatch(task: Task): void {
  flushes.add(task, undefined, undefined);
  arm();
}

/** For bytes that are ready to go out. Writes go out in the order in which they were given. */
export function flushInBatch(task: Task): void;
export function flushInBatch<T>(task: Task, subject: T, failed: Failed<T>): void;
export function flushInBatch<T>(task: Task, subject?: T, failed?: Failed<T | undefined>): void {
  writes.add(task, subject, failed);
  arm();
}

/** For what no client waits for. */
export function finishInBatch(task: Task): void;
export function finishInBatch<T>(task: Task, subject: T, failed: Failed<T>): void;
export function finishInBatch<T>(task: Task, subject?: T, failed?: Failed<T | undefined>): void {
  rest.add(task, subject, failed);
  arm();
}

/** Resolves when all that has been queued so far is done and written. */
export function batchEnded(): Promise<void> {
  return new Promise((resolve) => {
    finishInBatch(resolve);
  });
}

function arm(): void {
  if (armed) return;
  armed = true;
  setImmediate(endTurn);
}

function endTurn(): void {
  armed = false;
  turns += 1;
  work.run(PORTION, writeOut);
  writeOut();
  rest.run();
}

function writeOut(): void {
  flushes.run();
  writes.run();
}
