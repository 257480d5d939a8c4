/** HTTP/1.1 requests as bytes, made once and sent many times. */
import { projectUuid, token } from "./gateway-config.ts";
import { systemPrompt } from "./texts.ts";

function post(path: string, body: unknown): Buffer {
  const text = JSON.stringify(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    "User-Agent: sluice-bench",
    "Accept: application/json",
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${text}`);
}

/** Asks the gateway whether it runs, without calling an endpoint. */
export const healthRequest = Buffer.from("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");

/** A call of an endpoint of the gateway. */
export function gatewayRequest(slug: string, message: string, stream = false): Buffer {
  return post(`/api/${projectUuid}/${slug}`, stream ? { message, stream } : { message });
}

/** The same call of a bare proxy, which is sent what the gateway would make of it. */
export function proxyRequest(message: string, stream = false): Buffer {
  return post("/v1/chat/completions", {
    model: "gpt-4.1-mini",
    messages: [
      { role: "system", content: systemPrompt },
      { role: "user", content: message },
    ],
    temperature: 0.7,
    max_tokens: 512,
    ...(stream ? { stream } : {}),
  });
}
