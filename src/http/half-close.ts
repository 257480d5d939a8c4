/**
 * Clients that half-close their connection after the request still get the response. A disconnected client looks the same,
 * so the difference is found by writing: its system answers with a reset, which fails the next write. The probe is an
 * interim response, or a comment in an event stream, which clients discard.
 */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Connections, isBusy } from "./connections.ts";

/** Between the write that causes a reset and the one that fails. */
const PROBE_MS = 100;

const probes = new WeakMap<ServerResponse, (() => void) | "none">();

/**
 * Sets how a response that has begun can be probed without changing it. `none`: it cannot; a client that half-closes during
 * it counts as disconnected.
 */
export function setProbe(res: ServerResponse, write: (() => void) | "none"): void {
  probes.set(res, write);
}

export function allowHalfClose(server: Server, connections: Connections): void {
  // Node then closes the connection after the response, not before it.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket: Socket) => {
    socket.once("end", () => {
      if (!probe(connections, socket, true)) return;
      setTimeout(() => probe(connections, socket, false), PROBE_MS).unref();
    });
  });
}

/** False: there is no probe, or no open response. */
function probe(connections: Connections, socket: Socket, isFirst: boolean): boolean {
  const connection = connections.of(socket);
  if (connection === undefined || connection.refused || socket.destroyed || !isBusy(connection)) return false;
  const { req, res } = connection;
  if (req === undefined || res === undefined || res.writableEnded) return false;
  if (res.headersSent) {
    const write = probes.get(res);
    if (typeof write === "function") write();
    // The client still reads if the response began after it half-closed.
    else if (write === "none" && isFirst) socket.destroy();
    return typeof write === "function";
  }
  // HTTP/1.0 has no interim responses: such a client counts as disconnected.
  if (req.httpVersion === "1.0" || !req.complete) socket.destroy();
  else res.writeContinue();
  return true;
}
