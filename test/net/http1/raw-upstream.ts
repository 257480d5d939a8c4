/** A provider that speaks bytes: each connection is played by the test, whatever HTTP would have to say to it. */
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";

export interface RawUpstream {
  readonly url: string;
  readonly port: number;
  /** Ever made. */
  connectionsMade(): number;
  /** The next connection that is made, or was and has not been taken. */
  connection(): Promise<Peer>;
}

/** The provider's end of one connection. */
export interface Peer {
  readonly socket: Socket;
  /** Resolves with the next whole request, as it came. */
  request(): Promise<string>;
  /** Resolves when the system has taken it. */
  send(bytes: string | Buffer): Promise<void>;
  /** Breaks it, so that the other side sees a reset. */
  reset(): void;
  readonly closed: Promise<void>;
}

/** Listens until the test is over. `make`: by default plain TCP. */
export async function rawUpstream(
  t: TestContext,
  make: (accept: (socket: Socket) => void) => Server = (accept) => createServer(accept),
): Promise<RawUpstream> {
  const made: Peer[] = [];
  const waiting: ((peer: Peer) => void)[] = [];
  const sockets = new Set<Socket>();
  let count = 0;
  const server = make((socket) => {
    count++;
    sockets.add(socket);
    const peer = peerOf(socket);
    const taker = waiting.shift();
    if (taker === undefined) made.push(peer);
    else taker(peer);
  });
  server.listen(0, "localhost");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://localhost:${port}`,
    port,
    connectionsMade: () => count,
    connection: async () => made.shift() ?? (await new Promise<Peer>((take) => waiting.push(take))),
  };
}

function peerOf(socket: Socket): Peer {
  let came = "";
  let look = (): void => {};
  socket.setNoDelay(true);
  socket.on("error", () => {});
  socket.on("data", (bytes) => {
    // One character a byte, so that none is cut in two.
    came += bytes.toString("latin1");
    look();
  });
  return {
    socket,
    request: () =>
      new Promise((take) => {
        look = () => {
          const end = requestEnd(came);
          if (end === 0) return;
          take(Buffer.from(came.slice(0, end), "latin1").toString("utf8"));
          came = came.slice(end);
          look = () => {};
        };
        look();
      }),
    send: (bytes) => new Promise((taken) => socket.write(bytes, () => taken())),
    reset: () => void socket.resetAndDestroy(),
    closed: new Promise((gone) => socket.on("close", () => gone())),
  };
}

/** Where the first request in `text` ends, 0 when it has not come whole. */
function requestEnd(text: string): number {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return 0;
  const bytes = Number(/^content-length: (\d+)\r$/m.exec(text.slice(0, head + 2))?.[1] ?? 0);
  return text.length < head + 4 + bytes ? 0 : head + 4 + bytes;
}
