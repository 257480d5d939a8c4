/**
 * Plugins that misbehave: modules as a third party would write them in JavaScript, each of which does one wrong thing in
 * one hook. Knows nothing of what the gateway should do about it.
 */

/** `hangs`: a promise that never settles. `nonsense`: an answer that the hook may not give. */
export const WAYS = ["throws", "rejects", "hangs", "nonsense"] as const;
export type Way = (typeof WAYS)[number];

/** A body of a function that misbehaves. What is thrown must reach the log only. */
export function misbehaves(way: Way): string {
  switch (way) {
    case "throws":
      return `throw new Error("hunter2 threw");`;
    case "rejects":
      return `return Promise.reject(new Error("hunter2 rejected"));`;
    case "hangs":
      return "return new Promise(() => {});";
    case "nonsense":
      return "return { nonsense: 42 };";
  }
}

const HEAD = `description: "Misbehaves.", examples: [], schema: { type: "object" }`;

/** Hooks of a stage, and how each is written when it works. */
const SOUND_CHUNK = "chunk(c) { return c; }";

export const STAGE_HOOKS = [
  "request",
  "call",
  "response",
  "stream",
  "chunk",
  "end",
  "commit",
  "finish",
] as const;
export type StageHook = (typeof STAGE_HOOKS)[number];

export function stageModule(name: string, hook: StageHook, way: Way): string {
  const body = misbehaves(way);
  const hooks: Record<StageHook, string> = {
    request: `request(x) { ${body} }`,
    call: `call(x, targets) { ${body} }`,
    response: `response(x, result) { ${body} }`,
    stream: `stream(x) { ${body} }`,
    chunk: `stream(x) { return { chunk(c) { ${body} } }; }`,
    end: `stream(x) { return { ${SOUND_CHUNK}, end() { ${body} } }; }`,
    commit: `commit(x, result) { ${body} }`,
    finish: `finish(x, end) { ${body} }`,
  };
  const stage = hook === "call" ? "call" : "prepare";
  return `export default { api: 1, kind: "stage", name: "${name}", stage: "${stage}", ${HEAD},
    setup() { return { ${hooks[hook]} }; } };`;
}

/** Ways to listen for the end of a call, with a listener of this body. */
export const LISTENERS: Readonly<Record<string, (body: string) => string>> = {
  "signal.function": (body) => `x.signal.addEventListener("abort", () => { ${body} });`,
  "signal.object": (body) =>
    `x.signal.addEventListener("abort", { handleEvent() { ${body} } }, { once: true });`,
  "signal.onabort": (body) => `x.signal.onabort = () => { ${body} };`,
  "signal.later": (body) => `await null; x.signal.addEventListener("abort", () => { ${body} });`,
  "on-cancel": (body) => `x.onCancel(() => { ${body} });`,
};

/** Waits until its call is cancelled, with a listener that misbehaves before one that works. */
export function listenerModule(name: string, listener: string, way: Way): string {
  const listens = LISTENERS[listener]?.(misbehaves(way)) ?? "";
  return `export default { api: 1, kind: "stage", name: "${name}", stage: "prepare", ${HEAD}, setup() { return {
    async request(x) {
      ${listens}
      const removed = () => globalThis.heardByListeners.push("removed");
      x.signal.addEventListener("abort", removed);
      x.signal.removeEventListener("abort", removed);
      const once = () => globalThis.heardByListeners.push("${name}");
      x.signal.addEventListener("abort", once);
      x.signal.addEventListener("abort", once);
      globalThis.heardByListeners.push("waiting");
      await new Promise(() => {});
    },
  }; } };`;
}

export function guardrailModule(name: string, way: Way): string {
  return `export default { api: 1, kind: "guardrail", name: "${name}", ${HEAD},
    setup() { return { window: 0, judge(text, about) { ${misbehaves(way)} } }; } };`;
}

/** Functions of a wire format. Each is called while the fake provider of the test answers. */
export const FORMAT_HOOKS = [
  ...["encode", "decode", "failure", "decoder"],
  ...["decoder.event", "decoder.end", "decoder.id", "decoder.complete"],
] as const;

export function formatModule(name: string, hook: string, way: Way): string {
  const body = misbehaves(way);
  const or = (own: string, sound: string): string => (own === hook ? body : sound);
  const result = `{ id: "1", model: "m", content: text, finishReason: "stop" }`;
  const chunk = `{ text, toolCalls: undefined, finishReason: undefined, providerFinishReason: undefined, usage: undefined, raw: undefined }`;
  return `export default { api: 1, kind: "provider", name: "${name}", ${HEAD}, label: "Bad",
    defaultBaseUrl: undefined, needsApiKey: false,
    setup() { return {
      framing: "sse",
      encode(request, { baseUrl }, stream) {
        ${or("encode", `return { method: "POST", url: baseUrl + "/chat", headers: {}, body: JSON.stringify({ stream, model: request.model }) };`)}
      },
      decode(text) { ${or("decode", `return ${result};`)} },
      failure(status, headers, text) {
        ${or("failure", `return { kind: "failure", status, reason: "no", retryable: false, accepted: false };`)}
      },
      decoder() {
        ${or(
          "decoder",
          `return {
            get id() { ${or("decoder.id", `return "1";`)} },
            model: "m",
            get complete() { ${or("decoder.complete", "return true;")} },
            event(name, text, out) { ${or("decoder.event", `out.push(${chunk});`)} },
            end(out) { ${or("decoder.end", "return undefined;")} },
          };`,
        )}
      },
    }; } };`;
}

/** Operations of a store that a call or the gateway itself asks for. */
export const STORE_HOOKS = [
  ...["admit", "settle", "release", "renew", "sums", "health", "close"],
  ...["sessions.open", "sessions.delete", "overrides.list", "audit.append", "audit.query"],
] as const;

/** A store that admits everything, keeps nothing, and misbehaves in one operation from when `globalThis.misbehave` is set. */
export function storeModule(name: string, hook: string, way: Way): string {
  const run = (own: string, sound: string): string =>
    own === hook ? `if (globalThis.misbehave) { ${misbehaves(way)} } ${sound}` : sound;
  return `export default { api: 1, kind: "store", name: "${name}", ${HEAD}, setup() { return {
    driver: "${name}",
    admit(callId) { ${run("admit", `return { admitted: true, reservation: { callId, month: "2026-05", entries: [] } };`)} },
    renew() { ${run("renew", "")} },
    settle() { ${run("settle", "")} },
    release() { ${run("release", "")} },
    spending() { return { settledNanoUsd: 0, reservedNanoUsd: 0 }; },
    sums() { ${run("sums", "return [];")} },
    health() { ${run("health", `return { ok: true, detail: "sound" };`)} },
    close() { ${run("close", "")} },
    sessions: {
      open(owner, id) { ${run("sessions.open", `return { id: "s1", history: [], save() {}, close() {} };`)} },
      historyCharacters() { return 0; },
      delete() { ${run("sessions.delete", "return true;")} },
      ownerOf() { return undefined; },
    },
    overrides: {
      list() { ${run("overrides.list", "return [];")} },
      set() { return true; },
      delete() { return false; },
      watch(changed) { globalThis.overridden = changed; return () => {}; },
    },
    audit: { append() { ${run("audit.append", "")} }, query() { ${run("audit.query", "return [];")} } },
  }; } };`;
}

/** Functions of a provider that has its own sockets. */
export const PROVIDER_HOOKS = ["complete", "stream", "sink", "control"] as const;
export type ProviderHook = (typeof PROVIDER_HOOKS)[number];

export function providerModule(name: string, hook: ProviderHook, way: Way): string {
  const body = misbehaves(way);
  const result = `{ id: "1", model: "m", content: "Yes.", finishReason: "stop" }`;
  const streams: Record<ProviderHook, string> = {
    complete: body,
    stream: body,
    sink: `sink.begin(7, {}); setImmediate(() => { sink.batch(${way === "nonsense" ? "[{ nonsense: 42 }]" : `"none"`}); sink.end(); sink.end(); });
      return { pause() {}, resume() {}, cancel() {} };`,
    control: `setImmediate(() => sink.fail({ nonsense: 42 }));
      return { pause() { ${body} }, resume() { ${body} }, cancel() { ${body} } };`,
  };
  return `export default { api: 1, kind: "provider", name: "${name}", ${HEAD}, label: "Bad",
    defaultBaseUrl: "bad://local", needsApiKey: false,
    setup() { return {
      complete(request, x) { ${hook === "complete" ? body : `return ${result};`} },
      stream(request, x, sink) { ${streams[hook]} },
    }; } };`;
}
