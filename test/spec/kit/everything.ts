/** The official example server of MCP in this process, on a free port: its own code, and the official transport. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { Closer } from "./gateway.ts";

/** As the package makes one for each session. It has no types of its own. */
interface Made {
  readonly server: { connect(transport: Transport): Promise<void>; readonly server: Server };
  readonly cleanup: (session?: string) => void;
}

const ENTRY = "@modelcontextprotocol/server-everything/dist/server/index.js";

/** Its address. */
export async function everythingServer(closer: Closer): Promise<string> {
  // See Made.
  const { createServer: make } = (await import(ENTRY)) as { createServer: () => Made };
  const sessions = new Map<string, { transport: StreamableHTTPServerTransport; made: Made }>();
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const known = sessions.get(String(req.headers["mcp-session-id"]));
    if (known !== undefined) return known.transport.handleRequest(req, res);
    const made = make();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { transport, made }),
    });
    // What a transport may leave out, this one does not.
    await made.server.connect(transport as Transport);
    await transport.handleRequest(req, res);
  };
  const http = createServer((req, res) => void serve(req, res));
  closer.after(async () => {
    for (const [id, { transport, made }] of sessions) {
      await transport.close();
      made.cleanup(id);
    }
    http.closeAllConnections();
    await new Promise((closed) => http.close(closed));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/mcp`;
}
