/**
 * The end of the listeners: open calls may finish within a deadline, then they are ended with their error, which is
 * written before their connections close.
 */
import { batchEnded } from "../base/batching.ts";
import type { HttpServer } from "../http/server.ts";
import type { OpenCalls } from "../pipeline/open-calls.ts";
import type { Clock } from "../plugin/index.ts";

/** How long clients have to take the ends of their answers, once the deadline has passed. */
const FLUSH_MS = 1_000;

export interface DrainOptions {
  readonly clock: Clock;
  readonly open: OpenCalls;
  readonly servers: readonly HttpServer[];
  readonly timeoutMs: number;
  /** True: listeners stay open until the calls have ended, so that health checks see that it is not ready. */
  readonly isListening: boolean;
}

/** Resolves when the last connection has ended. */
export async function drain({ clock, open, servers, timeoutMs, isListening }: DrainOptions): Promise<void> {
  let ended = (): void => {};
  const atDeadline = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const deadline = clock.after(timeoutMs, () => {
    void endCalls(open, servers).then(ended);
  });
  if (isListening) await Promise.race([open.empty(), atDeadline]);
  await Promise.all(servers.map((server) => server.drain()));
  deadline.cancel();
}

async function endCalls(open: OpenCalls, servers: readonly HttpServer[]): Promise<void> {
  open.cancelAll();
  await batchEnded();
  for (const server of servers) server.closeIdle();
  // By the machine's time, since it is the kernel that is waited for. Clients that do not read are cut off then.
  setTimeout(() => {
    for (const server of servers) server.destroy();
  }, FLUSH_MS).unref();
}
