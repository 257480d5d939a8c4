/** Mutated answers and streams of all eight providers, through the gateway and its wrapper, whole and streamed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type ConfigParts, endpointEntry, hashOf, PROJECT, TOKENS } from "../spec/kit/config.ts";
import { ANSWER_SHAPES, type AnswerShape, streamText } from "./answer-shapes.ts";
import { fuzzGateway } from "./fuzz-gateway.ts";
import { mutateJson, mutateText } from "./mutations.ts";
import type { FuzzSession, FuzzTarget, SeededRandom } from "./target.ts";

const WRAPPER = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f703";
const WRAPPER_TOKEN = "gw_live_wrapper0Fuzzer6";
const MONEY = { estimated_cost_per_1k_tokens_usd: 0.01, monthly_budget_usd: 1_000_000 };

export const providerAnswers: FuzzTarget = {
  name: "provider-answers",
  description:
    "mutated answers and streams of eight providers end each call once, with no 500 and no money held",
  start,
};

async function start(): Promise<FuzzSession> {
  let play: (response: ServerResponse) => void = (response) => response.end();
  const server = createServer((request, response) => {
    request.resume().on("end", () => play(response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const gateway = await fuzzGateway(partsFor(url), async () => {
    server.closeAllConnections();
    server.close();
  });
  const { g } = gateway;
  const paths = ANSWER_SHAPES.flatMap(({ provider }) => [
    `${PROJECT}/${provider}`,
    `${WRAPPER}/${provider}`,
    `${WRAPPER}/${provider}-spare`,
  ]);
  return {
    async run(random) {
      const shape = random.pick(ANSWER_SHAPES);
      const stream = random.chance(0.6);
      play = answerOf(random, shape, stream);
      const { path, token, body } = random.chance(0.5) ? chatCall(shape) : wrapperCall(random, shape, stream);
      const { status, text } = await g.client.send(path, { token, body: { ...body, stream } });
      if (stream && status === 200) {
        const ends = text.split("\n\n").filter((event) => event === "data: [DONE]").length;
        assert.equal(ends, 1, `${ends} [DONE] in one stream`);
      } else assert.doesNotThrow(() => JSON.parse(text), "an answer that is not JSON");
      assert.ok(status === 200 || status === 502, `status ${status}: ${text.slice(0, 300)}`);
      await gateway.settled(status, 1);
    },
    close: () => gateway.close(paths.map((path) => `spend:${path}`)),
  };
}

function partsFor(url: string): ConfigParts {
  const credentials = ANSWER_SHAPES.map(({ provider }) => ({
    ...{ name: provider, provider, api_key: `key-of-${provider}`, base_url: url },
  }));
  const targets = ANSWER_SHAPES.map(({ provider, model }) => ({
    provider,
    target: { provider, model, credential: provider, ...MONEY },
  }));
  const failover = [{ model: "echo", credential: "echo" }];
  const wrapper = {
    ...{ uuid: WRAPPER, name: "Wrapper", type: "ai_wrapper" },
    credentials: [...credentials, { name: "echo", provider: "mock", options: { reply: "{{input}}" } }],
    tokens: [{ name: "fuzzer", hash: hashOf(WRAPPER_TOKEN), scopes: ["chat"] }],
    aliases: targets.flatMap(({ provider, target }) => [
      endpointEntry({ alias: provider, ...target }),
      endpointEntry({ alias: `${provider}-spare`, ...target, failover }),
    ]),
  };
  return {
    credentials,
    endpoints: targets.map(({ provider, target }) => endpointEntry({ name: provider, ...target })),
    projects: [wrapper],
  };
}

interface Sent {
  readonly path: string;
  readonly token: string;
  readonly body: object;
}

function chatCall({ provider }: AnswerShape): Sent {
  return { path: `/api/${PROJECT}/${provider}`, token: TOKENS.web, body: { message: "Tide?" } };
}

function wrapperCall(random: SeededRandom, { provider }: AnswerShape, stream: boolean): Sent {
  const messages = [{ role: "user", content: "Tide?" }];
  const model = random.chance(0.3) ? `${provider}-spare` : provider;
  return {
    ...{ path: `/api/${WRAPPER}/v1/chat/completions`, token: WRAPPER_TOKEN },
    body: {
      model,
      messages,
      ...(stream && random.chance(0.5) && { stream_options: { include_usage: true } }),
    },
  };
}

/** One answer, changed as JSON and as text, in random pieces, perhaps cut off or with another status. */
function answerOf(
  random: SeededRandom,
  shape: AnswerShape,
  stream: boolean,
): (response: ServerResponse) => void {
  // Now and then the kind that was not asked for.
  const streams = random.chance(0.05) ? !stream : stream;
  const events = [...shape.events];
  if (random.chance(0.2)) {
    const [moved] = events.splice(random.below(events.length), 1);
    if (moved !== undefined) events.splice(random.below(events.length + 1), random.below(2), moved);
  }
  const changed = random.below(events.length);
  const valid = streams
    ? streamText({ ...shape, events }, (json, n) => (n === changed ? mutateJson(random, json) : json))
    : mutateJson(random, JSON.stringify(shape.whole));
  const bytes = Buffer.from(mutateText(random, valid, random.chance(0.5) ? 0 : 3));
  const status = random.chance(0.9) ? 200 : random.pick([201, 204, 301, 400, 401, 429, 500, 503]);
  const type = random.chance(0.9) ? (streams ? shape.streamType : "application/json") : "text/html";
  const breaks = random.chance(0.05);
  const cuts = Array.from({ length: random.below(5) }, () => random.below(bytes.length + 1));
  return (response) => {
    response.writeHead(status, { "content-type": type });
    let from = 0;
    for (const to of [...cuts.sort((one, other) => one - other), bytes.length]) {
      response.write(bytes.subarray(from, to));
      from = to;
    }
    if (breaks) response.destroy();
    else response.end();
  };
}
