/** A forward proxy as tests play it: it opens tunnels to loopback, or fails in one of several ways. */
import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { connect, type Server, type Socket } from "node:net";
import type { Closer } from "../spec/kit/gateway.ts";

export async function listen(t: Closer, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => void sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return address.port;
}

export interface ForwardProxy {
  readonly url: string;
  /** What tunnels were requested to, with the credentials. */
  readonly asked: { readonly to: string; readonly credentials: string | undefined }[];
}

export type Way = "tunnel" | "refuse" | "drop" | "garbage" | "hang up later";

/** A proxy that opens tunnels to loopback, whatever host they are requested to. */
export async function forwardProxy(t: Closer, way: Way = "tunnel"): Promise<ForwardProxy> {
  const asked: { to: string; credentials: string | undefined }[] = [];
  const server = http.createServer((_request, response) => void response.writeHead(501).end());
  server.on("connect", (request, socket: Socket) => {
    socket.on("error", () => {});
    asked.push({ to: request.url ?? "", credentials: request.headers["proxy-authorization"] });
    if (way === "refuse") return socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    if (way === "drop") return socket.destroy();
    if (way === "garbage") return socket.end("nonsense\r\n\r\n");
    const port = Number(/:(\d+)$/.exec(request.url ?? "")?.[1]);
    const target = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      target.pipe(socket).pipe(target);
      if (way === "hang up later") target.once("data", () => setImmediate(() => socket.destroy()));
    });
    target.on("error", () => socket.destroy());
    socket.on("close", () => target.destroy());
  });
  return { url: `http://127.0.0.1:${await listen(t, server)}`, asked };
}
