/**
 * Errors as OpenAI's SDKs read them: `error` is an object. The specification's other members stand beside it, so that a
 * client of either kind finds what it looks for.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { CompiledProject } from "../../compile/model.ts";
import { errorBody } from "../../http/respond.ts";
import type { GatewayError } from "../../plugin/index.ts";

/** The SDK of Vercel names itself so. */
const AI_SDK = /\bai-sdk\/|^ai\/\d/;

/** The body of an error under OpenAI's paths, as the project is configured; an unknown project has the default. */
export function errorBodyFor(
  project: CompiledProject | undefined,
  headers: IncomingHttpHeaders,
): (error: GatewayError) => string {
  const format = project?.errorFormat ?? "auto";
  const isOpenAi = format === "openai" || (format === "auto" && readsOpenAiErrors(headers));
  return isOpenAi ? openAiErrorBody : errorBody;
}

/** True for OpenAI's SDKs, which send headers of their generator, and for the AI SDK. */
function readsOpenAiErrors(headers: IncomingHttpHeaders): boolean {
  if (AI_SDK.test(headers["user-agent"] ?? "")) return true;
  for (const name in headers) if (name.startsWith("x-stainless-")) return true;
  return false;
}

/** The body of an error, as JSON text. */
function openAiErrorBody({ code, status, message, extras }: GatewayError): string {
  const { detail, scope, retryAfterSeconds, providerCode, param = null } = extras;
  const error = { message, type: typeOf(status), code: providerCode ?? code, param };
  return JSON.stringify({ ok: false, error, detail, scope, retry_after: retryAfterSeconds });
}

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "insufficient_quota",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

function typeOf(status: number): string {
  return TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
}
