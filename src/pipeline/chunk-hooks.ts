/** Opens the chunk hooks of one stream. */
import type { StreamStep } from "../compile/model.ts";
import type { ChunkHook, GatewayError } from "../plugin/index.ts";
import { isGatewayError } from "../plugin/index.ts";
import type { Call } from "./call.ts";

/** One stream's hook of one step. */
export interface OpenHook {
  readonly stage: number;
  readonly plugin: string;
  readonly hook: ChunkHook;
}

/** Opens the hooks of one stream; a refusal where one of them failed. */
export function openChunkHooks(x: Call, steps: readonly StreamStep[]): readonly OpenHook[] | GatewayError {
  const hooks: OpenHook[] = [];
  for (const { stage, plugin, run } of steps) {
    const hook = run(x);
    if (isGatewayError(hook)) return hook;
    if (hook !== undefined) hooks.push({ stage, plugin, hook });
  }
  return hooks;
}
