// The yardstick of the proxy surface: node:http in, node:http out, bodies piped both ways, and nothing of what a gateway
// does. PORT and UPSTREAM (a base URL) come from the environment.
import { Agent, createServer, request } from "node:http";

const upstream = new URL(process.env.UPSTREAM);
const agent = new Agent({ keepAlive: true });

const server = createServer((incoming, response) => {
  const { method, url: path, headers } = incoming;
  const out = request({ hostname: upstream.hostname, port: upstream.port, agent, method, path, headers });
  out.on("response", (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  out.on("error", () => response.destroy());
  incoming.pipe(out);
});
server.listen({ port: Number(process.env.PORT), host: "127.0.0.1", backlog: 4096 });
