/**
 * Every provider, whole and streamed, against every way in which an answer can fail: what the client gets alone, what
 * it gets with another entry to fail over to, and that nothing stays reserved.
 */
import assert from "node:assert/strict";
import { monthOf } from "../../src/base/month.ts";
import {
  type FakeUpstream,
  fakeUpstream,
  garbageAnswer,
  hangUpAnswer,
  type ScriptedAnswer,
  stallAnswer,
  statusAnswer,
} from "../../src/testing/fake-upstream.ts";
import { VENDORS, type Vendor } from "../providers/vendors.ts";
import { assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { PROJECT } from "./kit/config.ts";
import { textOf } from "./kit/event-stream.ts";
import { type Closer, type Harness, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const ask = { message: "What is on the stove?" };
const TIMEOUT_MS = 20_000;
/** Text of a stream that fails after its first content. */
const SHOWN = "A ket";

/** What an upstream does wrong, and what comes of it. */
interface Fault {
  readonly plays: (vendor: Vendor, stream: boolean) => ScriptedAnswer | "nobody listens";
  /** What the client is told after the vendor's label. */
  readonly says: RegExp;
  /** A stream has shown content before: nobody else can take over. */
  readonly late?: boolean;
  /** It is one only when time passes. */
  readonly slow?: boolean;
}

const cutShort = (vendor: Vendor, stream: boolean): string =>
  stream ? vendor.opening([SHOWN]) : JSON.stringify(vendor.whole("A kettle.")).slice(0, 30);

const begins =
  (text: (vendor: Vendor, stream: boolean) => string, then: (end: () => void, reset: () => void) => void) =>
  (vendor: Vendor, stream: boolean): ScriptedAnswer =>
  (response) => {
    response.writeHead(200, { "content-type": stream ? vendor.streamType : "application/json" });
    response.write(text(vendor, stream), () =>
      then(
        () => response.end(),
        () => response.destroy(),
      ),
    );
  };

const FAULTS: Readonly<Record<string, Fault>> = {
  "refused connection": { plays: () => "nobody listens", says: /^unreachable$/ },
  "reset before head": { plays: () => hangUpAnswer(), says: /^unreachable$/ },
  "429": { plays: (v) => statusAnswer(429, v.errorBody(429, "slow down")), says: /^429: slow down$/ },
  "500": { plays: (v) => statusAnswer(500, v.errorBody(500, "oops")), says: /^500: oops$/ },
  "529": { plays: (v) => statusAnswer(529, v.errorBody(529, "full")), says: /^529: full$/ },
  "slow head": { plays: () => stallAnswer(), says: /^timed out after 20000 ms$/, slow: true },
  "stall midway": {
    plays: begins(cutShort, () => {}),
    says: /^timed out after 20000 ms$/,
    late: true,
    slow: true,
  },
  garbage: { plays: () => garbageAnswer(), says: /^answered with malformed HTTP$/ },
  truncated: {
    plays: begins(cutShort, (_end, reset) => reset()),
    says: /^200: connection lost before the answer was complete$/,
    late: true,
  },
  "error event in a 200 stream": {
    plays: begins(
      (v, stream) => (stream ? v.errorEvent("overloaded") : JSON.stringify(v.errorBody(500, "overloaded"))),
      (end) => end(),
    ),
    says: /^(?:200|503|500): (?:overloaded|the answer .+)$/,
  },
  "clean end without completion signal": {
    plays: begins(cutShort, (end) => end()),
    says: /^200: the answer (?:broke off|is not JSON)$/,
    late: true,
  },
};

interface Cell {
  readonly g: Harness;
  readonly upstream: FakeUpstream;
  readonly vendor: Vendor;
  readonly stream: boolean;
  readonly fault: Fault;
  /** Calls made to the upstream before. */
  readonly asked: number;
}

for (const vendor of VENDORS) {
  verifies(
    ["failover.on.failure", "failover.on.timeout", "failover.on.stream-error"],
    `${vendor.label}: each fault is told in its words, fails over where it may, and leaves nothing reserved`,
    async (t) => {
      const { g, upstream } = await gatewayOn(t, vendor);
      for (const stream of [false, true]) {
        for (const [name, fault] of Object.entries(FAULTS)) {
          const slug = fault.plays(vendor, stream) === "nobody listens" ? "gone" : "vendor";
          for (const safe of [false, true]) {
            const cell = { g, upstream, vendor, stream, fault, asked: upstream.requests.length };
            const outcome = await play(cell, safe ? `${slug}-safe` : slug);
            const label = `${name}, ${stream ? "stream" : "whole"}, ${safe ? "with" : "without"} failover`;
            const shows = stream && fault.late === true;
            if (safe && !shows) assert.equal(outcome.text, "From the other.", label);
            else assertFailed(outcome, vendor, fault, label);
            assert.equal(outcome.text, safe && !shows ? "From the other." : shows ? SHOWN : "", label);
            await nothingReserved(g);
          }
          // No fault leaves anything behind; and so the circuit stays closed.
          assert.equal((await whenGood(g, upstream, vendor, stream)).text, "A kettle.", name);
        }
      }
    },
  );
}

interface Outcome {
  readonly text: string;
  /** What the client was told, when it was an error. */
  readonly error: string | undefined;
}

async function gatewayOn(t: Closer, vendor: Vendor): Promise<{ g: Harness; upstream: FakeUpstream }> {
  const upstream = await fakeUpstream();
  t.after(() => upstream.close());
  const credential = (name: string, base_url: string): Readonly<Record<string, unknown>> => ({
    name,
    provider: vendor.key,
    api_key: "key-of-the-vendor",
    base_url,
  });
  const entry = {
    provider: vendor.key,
    model: "model-1",
    monthly_budget_usd: 100,
    estimated_cost_per_1k_tokens_usd: 1,
  };
  const failover = [{ credential: "main", model: "gpt-4o" }];
  const timeouts = {
    first_byte_timeout_ms: TIMEOUT_MS,
    stream_idle_timeout_ms: TIMEOUT_MS,
    timeout_ms: TIMEOUT_MS,
  };
  const g = await startGateway(t, {
    root: { providers: { [vendor.key]: timeouts, openai: timeouts } },
    // Port 9 of the loopback is nobody's.
    credentials: [credential("vendor", upstream.url), credential("gone", "http://127.0.0.1:9")],
    endpoints: ["vendor", "gone"].flatMap((name) => [
      { ...entry, name, credential: name },
      { ...entry, name: `${name}-safe`, credential: name, failover },
    ]),
  });
  g.provider.says("From the other.");
  return { g, upstream };
}

async function play(cell: Cell, slug: string): Promise<Outcome> {
  const { g, upstream, vendor, stream, fault } = cell;
  const played = fault.plays(vendor, stream);
  if (played !== "nobody listens") upstream.answer(played);
  const outcome = stream ? streamed(cell, slug) : whole(cell, slug);
  if (fault.slow === true && !(stream && fault.late === true)) {
    await upstream.received(cell.asked + 1);
    g.clock.advance(TIMEOUT_MS);
  }
  return outcome;
}

async function whole({ g }: Cell, slug: string): Promise<Outcome> {
  const answer = await g.call(ask, { slug });
  if (answer.status === 200) return { text: assertAnswered(answer), error: undefined };
  assertRefused(answer, 502, /^Provider call failed: /);
  return { text: "", error: String(at(answer.json, "error")) };
}

async function streamed({ g, fault }: Cell, slug: string): Promise<Outcome> {
  const events = await g.stream(ask, { slug });
  const seen: string[] = [];
  for (let event = await events.next(); event !== undefined; event = await events.next()) {
    seen.push(event);
    // Its first content is here, and nothing more will come by itself.
    if (fault.slow === true && event.includes(SHOWN)) g.clock.advance(TIMEOUT_MS);
  }
  if (events.status !== 200) {
    assert.equal(events.status, 502);
    return { text: "", error: String(at(JSON.parse(seen.join("") || events.remainder), "error")) };
  }
  assert.equal(seen.at(-1), "[DONE]");
  const failure = seen.find((event) => event.startsWith('{"ok":false'));
  const text = textOf(seen.filter((event) => event !== failure));
  return { text, error: failure === undefined ? undefined : String(at(JSON.parse(failure), "error")) };
}

function goodAnswer(vendor: Vendor, stream: boolean): ScriptedAnswer {
  const body = stream
    ? vendor.opening(["A ", "kettle."]) + vendor.ending()
    : JSON.stringify(vendor.whole("A kettle."));
  const type = stream ? vendor.streamType : "application/json";
  return (response) => void response.writeHead(200, { "content-type": type }).end(body);
}

async function whenGood(
  g: Harness,
  upstream: FakeUpstream,
  vendor: Vendor,
  stream: boolean,
): Promise<Outcome> {
  upstream.answer(goodAnswer(vendor, stream));
  const cell: Cell = {
    g,
    upstream,
    vendor,
    stream,
    fault: { plays: () => hangUpAnswer(), says: /./ },
    asked: 0,
  };
  return stream ? streamed(cell, "vendor") : whole(cell, "vendor");
}

function assertFailed({ error }: Outcome, { label }: Vendor, { says }: Fault, cell: string): void {
  assert.ok(error !== undefined, `${cell}: it should have failed`);
  const told = `Provider call failed: ${label} `;
  assert.ok(error.startsWith(told), `${cell}: ${error}`);
  assert.match(error.slice(told.length), says, cell);
}

async function nothingReserved(g: Harness): Promise<void> {
  for (const slug of ["vendor", "vendor-safe", "gone", "gone-safe"]) {
    const key = `spend:${PROJECT}/${slug}`;
    const month = monthOf(g.clock.nowMs());
    await until(
      async () => (await g.gateway.store.spending(key, month)).reservedNanoUsd === 0,
      `nothing reserved on ${slug}`,
    );
  }
}
