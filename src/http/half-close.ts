/**
 * Clients that close their sending side once their request is out still get their answer. The end of a stream looks the
 * same for a client that is gone, so it is told by writing: a system whose client is gone answers with a reset, which
 * the next write meets. What is written is an interim answer, or a comment of an event stream, which clients discard.
 */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Connections, isBusy } from "./connections.ts";

/** Between the write that a reset answers and the one that meets it. */
const PROBE_MS = 100;

const probes = new WeakMap<ServerResponse, (() => void) | "none">();

/**
 * Says how an answer that has begun can be written to without changing it. `none`: it cannot, though it may last; a client
 * that closes its side in the middle of it is taken for gone.
 */
export function setProbe(res: ServerResponse, write: (() => void) | "none"): void {
  probes.set(res, write);
}

export function allowHalfClose(server: Server, connections: Connections): void {
  // Node closes the connection after the answer then, and not before it.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket: Socket) => {
    socket.once("end", () => {
      if (!probe(connections, socket, true)) return;
      setTimeout(() => probe(connections, socket, false), PROBE_MS).unref();
    });
  });
}

/** False: there is nothing to write, or nobody waits for an answer. */
function probe(connections: Connections, socket: Socket, isFirst: boolean): boolean {
  const connection = connections.of(socket);
  if (connection === undefined || connection.refused || socket.destroyed || !isBusy(connection)) return false;
  const { req, res } = connection;
  if (req === undefined || res === undefined || res.writableEnded) return false;
  if (res.headersSent) {
    const write = probes.get(res);
    if (typeof write === "function") write();
    // An answer that began after the client's end was asked for by one that still listens.
    else if (write === "none" && isFirst) socket.destroy();
    return typeof write === "function";
  }
  // HTTP/1.0 knows no interim answers: such a client has left, as far as can be told.
  if (req.httpVersion === "1.0" || !req.complete) socket.destroy();
  else res.writeContinue();
  return true;
}
