// A yardstick: the proxy that most people would write. node:http in, `undici.request` out, both bodies parsed and
// written anew, and nothing of what a gateway does. PORT and UPSTREAM (a base URL) come from the environment.
import { createServer } from "node:http";
import { Pool } from "undici";

const upstream = new URL(process.env.UPSTREAM);
const path = `${upstream.pathname}/chat/completions`;
const pool = new Pool(upstream.origin);
const headers = { "content-type": "application/json", authorization: "Bearer sk-bench" };

async function forward(body, response) {
  const answer = await pool.request({ method: "POST", path, headers, body: JSON.stringify(body) });
  const text = JSON.stringify(await answer.body.json());
  response.writeHead(answer.statusCode, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (bytes) => parts.push(bytes));
  request.on("end", () => {
    const bytes = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    forward(JSON.parse(bytes.toString("utf8")), response).catch(() => response.destroy());
  });
});
server.listen({ port: Number(process.env.PORT), host: "127.0.0.1", backlog: 4096 });
