/**
 * Stands between a store and its server and does to answers what a network does: lets them pass, cuts the connection
 * in their place, or swallows them. Requests always arrive, so what was asked is done though nobody hears of it.
 */
import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";

export type Fate = "pass" | "cut" | "swallow";

export interface CuttingProxy {
  /** `host:port`. */
  readonly address: string;
  /** For `state.url`. */
  readonly url: string;
  /** Asked for each piece of answers to scripts, other than their loading. Replace it at will. */
  fate: () => Fate;
  close(): Promise<void>;
}

export async function cuttingProxy(socketPath: string): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  const listener = createServer((near) => {
    const far = createConnection(socketPath);
    let isAsked = false;
    near.on("data", (chunk) => {
      isAsked ||= chunk.includes("evalsha");
      far.write(chunk);
    });
    far.on("data", (chunk) => {
      const fate = isAsked ? proxy.fate() : "pass";
      isAsked = false;
      if (fate === "pass") near.write(chunk);
      if (fate === "cut") near.destroy();
    });
    for (const [socket, peer] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        peer.destroy();
      });
    }
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  // Of a listener on a port: an address, never a path.
  const { port } = listener.address() as AddressInfo;
  const proxy: CuttingProxy = {
    address: `127.0.0.1:${port}`,
    url: `redis://127.0.0.1:${port}`,
    fate: () => "pass",
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  return proxy;
}
