/** One large transfer over a bare socket, up or down: cheap enough that the proxy in between is what is measured. */
import { connect } from "node:net";

const PIECE = Buffer.alloc(1 << 20, "x");
const HEAD_END = "\r\n\r\n";

export interface Transfer {
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly bytes: number;
}

/** Milliseconds until the last byte has come. Rejects when the answer is not 200 or breaks off. */
export function download({ port, path, token, bytes }: Transfer): Promise<number> {
  const startedMs = performance.now();
  return new Promise((resolve, fail) => {
    let received = 0;
    let head = "";
    const socket = connect({
      ...{ port, host: "127.0.0.1" },
      onread: {
        buffer: Buffer.alloc(1 << 20),
        callback(count, buffer) {
          received += count;
          if (head === "") {
            head = Buffer.from(buffer.buffer, 0, count).toString("latin1").split(HEAD_END, 1)[0] ?? "";
            received -= head.length + HEAD_END.length;
            if (!head.startsWith("HTTP/1.1 200 ")) fail(new Error(head));
          }
          if (received >= bytes) {
            resolve(performance.now() - startedMs);
            socket.destroy();
          }
          return true;
        },
      },
    });
    socket.on("error", fail).on("close", () => fail(new Error(`${received} of ${bytes} bytes came`)));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}${HEAD_END}`);
  });
}

/** Milliseconds until the answer to the last byte has come. */
export function upload({ port, path, token, bytes }: Transfer): Promise<number> {
  const startedMs = performance.now();
  return new Promise((resolve, fail) => {
    let left = bytes;
    const socket = connect({ port, host: "127.0.0.1" });
    const more = (): void => {
      while (left > 0) {
        const piece = left < PIECE.length ? PIECE.subarray(0, left) : PIECE;
        left -= piece.length;
        if (!socket.write(piece)) return void socket.once("drain", more);
      }
    };
    socket.on("data", (answer) => {
      if (!answer.toString("latin1").startsWith("HTTP/1.1 200 ") || left > 0)
        fail(new Error(answer.toString("latin1")));
      resolve(performance.now() - startedMs);
      socket.destroy();
    });
    socket.on("error", fail).on("close", () => fail(new Error(`${left} bytes were not sent`)));
    const lines = [
      `POST ${path} HTTP/1.1`,
      "Host: x",
      `Authorization: Bearer ${token}`,
      `Content-Length: ${bytes}`,
    ];
    socket.write(`${lines.join("\r\n")}${HEAD_END}`);
    more();
  });
}
