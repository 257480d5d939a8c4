// A stranger beside the gateway that posts as much as its webhooks would: what calls lose to it they lose to a shared
// processor, not to webhooks. Ten connections over bare sockets, each answer awaited; the port, and POSTs a second of all.
import { connect } from "node:net";

const CONNECTIONS = 10;
const TICK_MS = 4;
const [port, rate] = process.argv.slice(2).map(Number);
/** As long as a delivery, head and body. */
const body = JSON.stringify({ event: "guardrail.blocked", text: "x".repeat(500) });
const head = `POST /w HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\nx-pad: ${"y".repeat(400)}\r\n`;
const request = Buffer.from(`${head}content-length: ${body.length}\r\n\r\n${body}`);

const free = [];
let due = 0;
let madeMs = performance.now();

function next(socket) {
  if (due >= 1) {
    due--;
    socket.write(request);
  } else free.push(socket);
}

for (let n = 0; n < CONNECTIONS; n++) {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  socket.on("data", () => next(socket));
  socket.on("error", () => {});
  socket.on("connect", () => next(socket));
}
setInterval(() => {
  const nowMs = performance.now();
  due = Math.min(due + ((nowMs - madeMs) * rate) / 1000, rate);
  madeMs = nowMs;
  for (let socket = free.pop(); socket !== undefined; socket = due >= 1 ? free.pop() : undefined)
    next(socket);
}, TICK_MS);
process.stdout.write("ready\n");
