// The upstream of the proxy scenario: sends or swallows as many bytes as it is asked to, over bare sockets, so that it is
// never what is measured. `GET /N` is answered with N bytes; any body is read and
// counted. Listens on the port that is its argument.
import { createServer } from "node:net";

const PIECE = Buffer.alloc(1 << 20, "x");

const server = createServer((socket) => {
  let missing = 0;
  socket.on("error", () => {});
  socket.on("data", (bytes) => {
    if (missing > 0) return swallow(bytes.length);
    // A head fits into one read on a loopback that nobody else uses.
    const end = bytes.indexOf("\r\n\r\n") + 4;
    const head = bytes.toString("latin1", 0, end);
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    if (head.startsWith("GET")) return send(Number(/\/(\d+) /.exec(head)?.[1] ?? 0));
    missing = length;
    swallow(bytes.length - end);
  });

  function swallow(count) {
    missing -= count;
    if (missing <= 0) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  }

  function send(length) {
    let left = length;
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`);
    const more = () => {
      while (left > 0) {
        const piece = left < PIECE.length ? PIECE.subarray(0, left) : PIECE;
        left -= piece.length;
        if (!socket.write(piece)) return void socket.once("drain", more);
      }
    };
    more();
  }
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => process.stdout.write("listening\n"));
