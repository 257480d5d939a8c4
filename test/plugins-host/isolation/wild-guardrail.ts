/** A guardrail that goes wrong as the judged text tells it, and a gateway with endpoints guarded by it. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../spec/kit/client.ts";
import { echoEntry } from "../../spec/kit/config.ts";
import { type Closer, type Harness, startGateway } from "../../spec/kit/gateway.ts";

/** `mark` is written before anything that does not return. */
export const WILD = `import { closeSync, readdirSync, readFileSync, readlinkSync, writeFileSync, writeSync } from "node:fs";
import { serialize } from "node:v8";
import { block, defineGuardrail, refuse, replace } from "sluice/plugin";
/** Writes to the gateway's channel, past the host. */
function write(bytes) {
  for (let at = 0; at < bytes.length; ) {
    try { at += writeSync(3, bytes, at); } catch (error) { if (error.code !== "EAGAIN") throw error; }
  }
}
function frame(message) {
  const body = serialize(message);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}
const say = (code, text) => block(refuse(422, code, text), code);
export default defineGuardrail({
  name: "acme-wild",
  description: "Goes wrong as it is told.",
  schema: { type: "object", additionalProperties: false, properties: { mark: { type: "string" }, refuses: { type: "boolean" } } },
  examples: [{ mark: "there" }],
  setup({ mark, refuses }, host) {
    if (refuses) throw new Error("no luck in setup");
    const kept = [];
    let calls = 0;
    const seen = host.metrics.counter("acme_seen_total", "Texts seen", ["side"]).series("input");
    const begin = () => writeFileSync(mark, String(process.pid));
    return {
      window: 4,
      async judge(text, about) {
        seen(1);
        if (text.includes("secret")) {
          const start = text.indexOf("secret");
          return replace([{ start, end: start + 6, text: "******" }], "secret");
        }
        switch (text) {
          case "loop": begin(); while (true) {}
          case "later": begin(); await null; while (true) {}
          case "fill": begin(); return void new Array(7100 * 7100).fill(0);
          case "allocate": new Array(3e7).fill(1);
          case "throw": throw new Error("thrown by the plugin");
          case "exit": process.exit(3);
          case "abort": process.abort();
          case "segfault": process.kill(process.pid, "SIGSEGV"); return new Promise(() => {});
          case "crash": setImmediate(() => { throw new Error("crashed"); }); return new Promise(() => {});
          case "hang": begin(); return new Promise(() => {});
          case "leak": while (true) kept.push(new Array(100_000).fill(about));
          case "buffers": while (true) kept.push(Buffer.alloc(10_000_000, 1));
          case "hoard": for (let n = 0; n < 5; n++) kept.push(Buffer.alloc(100_000_000, 1)); return undefined;
          case "patch":
            Object.prototype.polluted = "yes";
            for (const name of ["map", "push", "filter"]) Array.prototype[name] = () => { throw new Error("patched"); };
            JSON.stringify = JSON.parse = () => "patched";
            globalThis.fetch = globalThis.setImmediate = undefined;
            return undefined;
          case "env": return say("env", Object.keys(process.env).join() || "nothing");
          case "environ": return say("environ", readFileSync("/proc/self/environ", "latin1").replace(/^NODE_V8_COVERAGE=.*\\0$/, "") || "nothing");
          case "descriptors": return say("fds", readdirSync("/proc/self/fd").flatMap((fd) => { try { return [readlinkSync("/proc/self/fd/" + fd)]; } catch { return []; } }).join(" "));
          case "pid": return say("pid", String(process.pid));
          case "who": return block(refuse(429, "who", about.exchange.endpoint.slug + " " + about.role, { retryAfterSeconds: 7 }), "who");
          case "reach": return about.exchange.headers;
          case "nonsense": return { verdict: "maybe" };
          case "function": return () => undefined;
          case "enormous": return replace([{ start: 0, end: 1, text: "x".repeat(20_000_000) }], "enormous");
          case "count": return say("n", "n=" + await host.store.increment("n", 1, 60));
          case "fetch": return say("f", (await host.fetch("http://127.0.0.1:1/")).failed);
          case "nth": return say("nth", String(++calls));
          case "log": host.log.warn({ n: 1, plugin: "another" }, "seen in the process"); return undefined;
          case "flood":
            for (let n = 0; n < 100_000; n++) {
              host.log.warn({ n }, "flood");
              host.metrics.counter("acme_flood_" + n, "Flood", []).series()(1);
            }
            return undefined;
          case "raw flood": while (true) write(frame({ kind: "log", level: "warn", fields: "{}", message: "raw flood" }));
          case "raw verdicts": for (let n = 0; ; n++) write(frame({ kind: "judged", number: 1e6 + n, verdict: undefined }));
          case "raw message": write(frame({ kind: "measure", type: "counter", name: "sluice_calls_total" })); return new Promise(() => {});
          case "raw garbage": write(Buffer.from([0, 0, 0, 4, 1, 2, 3, 4])); return new Promise(() => {});
          case "raw length": write(Buffer.from([255, 255, 255, 255])); return new Promise(() => {});
          case "disconnect": closeSync(3); return new Promise(() => {});
        }
      },
    };
  },
});
`;

export interface Wild extends Harness {
  /** A judgement that does not return has begun; the id of its process. */
  begun(): Promise<number>;
}

/**
 * Endpoint `ask` is guarded, `other` is not. With `crowd` there are three more: `hog` and `reader` are guarded by isolated
 * guardrails with the same faults (acme-hog, acme-reader), `calm` by one without (acme-calm).
 */
export async function wild(
  t: Closer,
  use: Readonly<Record<string, unknown>> = {},
  { crowd = false } = {},
): Promise<Wild> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-isolate-"));
  const mark = join(folder, "begun");
  const g = await startGateway(t, {
    files: {
      "wild.js": WILD,
      "hog.js": WILD.replace("acme-wild", "acme-hog"),
      "reader.js": WILD.replace("acme-wild", "acme-reader"),
      "calm.js": CALM,
    },
    root: { plugins: ["./wild.js", "./hog.js", "./reader.js", "./calm.js"] },
    endpoint: echoEntry({ guardrails: [{ use: "acme-wild", isolate: true, options: { mark }, ...use }] }),
    endpoints: [
      echoEntry({ name: "Other" }),
      ...(crowd ? [guardedBy("Hog"), guardedBy("Reader"), guardedBy("Calm", { timeout_ms: 60_000 })] : []),
    ],
  });
  t.after(async () => rmSync(folder, { recursive: true }));
  return {
    ...g,
    async begun() {
      await until(() => existsSync(mark) && readPid(mark) > 0, "the judgement begins");
      const pid = readPid(mark);
      rmSync(mark);
      return pid;
    },
  };
}

function guardedBy(name: string, use: Readonly<Record<string, unknown>> = {}): ReturnType<typeof echoEntry> {
  return echoEntry({ name, guardrails: [{ use: `acme-${name.toLowerCase()}`, isolate: true, ...use }] });
}

function readPid(mark: string): number {
  return Number(readFileSync(mark, "utf8"));
}

/** Isolated as well, and always right: masks "secret". */
const CALM = `import { defineGuardrail, replace } from "sluice/plugin";
export default defineGuardrail({
  name: "acme-calm",
  description: "Masks a word.",
  schema: { type: "object", additionalProperties: false, properties: {} },
  examples: [],
  setup() {
    return {
      judge(text) {
        const start = text.indexOf("secret");
        return start < 0 ? undefined : replace([{ start, end: start + 6, text: "******" }], "secret");
      },
    };
  },
});
`;

export const FAILED = "Request blocked: guardrail 'acme-wild' could not judge it.";
