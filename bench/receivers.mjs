// The webhook receivers, over bare sockets and as cheap as upstream.mjs: each POST is answered with 204, one under
// `/dead` never, and `GET /count` says how many have come. Listens on the port that it is given; loopback only.
import { createServer } from "node:net";

const HEAD_END = Buffer.from("\r\n\r\n");
const ACCEPTED = Buffer.from("HTTP/1.1 204 No Content\r\n\r\n");
const REQUEST_BYTES_MAX = 1 << 20;
const [port] = process.argv.slice(2);
let received = 0;

createServer((socket) => {
  let pending = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on("error", () => {});
  socket.on("data", (bytes) => {
    pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
    const headEnd = pending.indexOf(HEAD_END);
    if (headEnd < 0 || pending.length > REQUEST_BYTES_MAX) return;
    const head = pending.toString("latin1", 0, headEnd);
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (pending.length < headEnd + HEAD_END.length + length) return;
    pending = Buffer.alloc(0);
    if (head.startsWith("GET /count ")) {
      const text = String(received);
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n${text}`);
      return;
    }
    received++;
    if (!head.startsWith("POST /dead ")) socket.write(ACCEPTED);
  });
}).listen(Number(port), "127.0.0.1", () => process.stdout.write("ready\n"));
