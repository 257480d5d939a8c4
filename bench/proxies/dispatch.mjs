// The harder yardstick: node:http in, undici's `Pool.dispatch` out, which spares the promise and the stream that
// `undici.request` makes. JSON bodies are parsed and written anew; a stream's bytes pass as they are, with
// backpressure. PORT and UPSTREAM (a base URL) come from the environment.
import { createServer } from "node:http";
import { Pool } from "undici";

const upstream = new URL(process.env.UPSTREAM);
const path = `${upstream.pathname}/chat/completions`;
const pool = new Pool(upstream.origin);
const headers = ["content-type", "application/json", "authorization", "Bearer sk-bench"];

class JsonAnswer {
  parts = [];

  constructor(response) {
    this.response = response;
  }

  onRequestStart() {}

  onResponseStart(_controller, status) {
    this.status = status;
  }

  onResponseData(_controller, bytes) {
    this.parts.push(bytes);
  }

  onResponseEnd() {
    const bytes = this.parts.length === 1 ? this.parts[0] : Buffer.concat(this.parts);
    const text = JSON.stringify(JSON.parse(bytes.toString("utf8")));
    this.response.writeHead(this.status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
    });
    this.response.end(text);
  }

  onResponseError() {
    this.response.destroy();
  }
}

class StreamAnswer {
  constructor(response) {
    this.response = response;
  }

  onRequestStart(controller) {
    this.response.on("close", () => {
      if (!this.response.writableFinished) controller.abort(new Error("client gone"));
    });
  }

  onResponseStart(_controller, status) {
    this.response.writeHead(status, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  }

  onResponseData(controller, bytes) {
    if (this.response.write(bytes)) return;
    controller.pause();
    this.response.once("drain", () => controller.resume());
  }

  onResponseEnd() {
    this.response.end();
  }

  onResponseError() {
    this.response.destroy();
  }
}

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (bytes) => parts.push(bytes));
  request.on("end", () => {
    const bytes = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    const call = JSON.parse(bytes.toString("utf8"));
    const answer = call.stream === true ? new StreamAnswer(response) : new JsonAnswer(response);
    pool.dispatch({ method: "POST", path, headers, body: JSON.stringify(call) }, answer);
  });
});
server.listen({ port: Number(process.env.PORT), host: "127.0.0.1", backlog: 4096 });
