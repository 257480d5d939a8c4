/** Asks a gateway again and again until Ctrl-C. A gateway that restarts meanwhile is waited for. */
import { setTimeout as pauseFor } from "node:timers/promises";
import type { Overview } from "../../gateway/overview.ts";
import { AdminError } from "../admin-client.ts";
import { type CliIo, EXIT } from "../command.ts";
import { Screen, styleOf } from "../terminal.ts";

const EVERY_MS = 2_000;

export interface WatchOptions {
  ask(): Promise<Overview>;
  readonly io: CliIo;
  /** What is drawn on a terminal; undefined: lines are printed. */
  readonly screen: ((seen: Overview) => string) | undefined;
  line(seen: Overview): string;
  /** Between two questions; ends early when it is aborted. Default: 2 s. */
  pause?(signal: AbortSignal): Promise<void>;
}

const twoSeconds = (signal: AbortSignal): Promise<void> =>
  pauseFor(EVERY_MS, undefined, { signal }).catch(() => undefined);

/** Rejects with AdminError when asking again cannot help. */
export async function watchStatus(options: WatchOptions): Promise<number> {
  const { io } = options;
  const screen = new Screen(io);
  const stopped = new AbortController();
  const release = io.onInterrupt?.(() => stopped.abort());
  const { pause = twoSeconds } = options;
  let seen: Overview | undefined;
  try {
    while (!stopped.signal.aborted) {
      const asked = await answered(options);
      if (stopped.signal.aborted) break;
      if (asked.seen !== undefined) seen = asked.seen;
      present(options, screen, seen, asked.problem);
      await pause(stopped.signal);
    }
  } finally {
    release?.();
    screen.close();
  }
  // What was seen last stays in the terminal.
  if (seen !== undefined && options.screen !== undefined) io.stdout(options.screen(seen));
  return EXIT.ok;
}

interface Asked {
  readonly seen: Overview | undefined;
  /** Why there is no answer now. */
  readonly problem: string | undefined;
}

async function answered({ ask }: WatchOptions): Promise<Asked> {
  try {
    return { seen: await ask(), problem: undefined };
  } catch (error) {
    if (!(error instanceof AdminError) || error.isFinal) throw error;
    return { seen: undefined, problem: error.message };
  }
}

function present(
  { io, screen: draw, line }: WatchOptions,
  screen: Screen,
  seen: Overview | undefined,
  problem: string | undefined,
): void {
  if (draw === undefined) {
    if (problem !== undefined) io.stderr(`sluice status: ${problem}\n`);
    else if (seen !== undefined) io.stdout(line(seen));
    return;
  }
  const style = styleOf(io, "stdout");
  const view = seen === undefined ? "" : draw(seen);
  if (problem === undefined) return screen.draw(view);
  screen.draw(`${style.red("●")} ${style.bold(style.red("no answer"))}  ${problem}\n\n${view}`);
}
