/** The surfaces of the data plane. A new one is a folder beside these and a line here. */
import { chat } from "./chat/chat.ts";
import { mcp } from "./mcp/mcp.ts";
import { openai } from "./openai/openai.ts";
import { proxy } from "./proxy/proxy.ts";
import type { SurfaceModule } from "./route.ts";

export const SURFACES: readonly SurfaceModule[] = [chat, openai, mcp, proxy];
