/** Passes requests on to a gateway with a bearer token that they do not have, since the conformance suite sends none. */
import { once } from "node:events";
import { createServer, request } from "node:http";

export interface Relay {
  readonly url: string;
  close(): void;
}

/** All of a request but its token goes on as it came, `Host` and `Origin` too. */
export async function relay(target: string, token: string): Promise<Relay> {
  const server = createServer((incoming, answer) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
    const onward = request(target, { method: incoming.method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.rawHeaders);
      response.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}${new URL(target).pathname}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
