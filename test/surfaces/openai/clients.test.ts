/**
 * Unmodified clients against an alias on each provider, behind which stands an imitation of the providers that is not
 * ours. What works is printed as docs/clients.md, with the results of the Python clients (`npm run clients`).
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { InternalServerError } from "openai";
import { at } from "../../spec/kit/at.ts";
import { PROVIDERS, startForClients } from "./client-gateway.ts";
import {
  type ClientResults,
  gaps,
  type MatrixParts,
  matrixPage,
  PYTHON_CLIENTS,
  PYTHON_RESULTS,
} from "./client-matrix.ts";
import {
  ask,
  type Cell,
  type Check,
  type Checks,
  countingFetch,
  failure,
  VendorLacks,
} from "./clients/client-check.ts";
import { instructor } from "./clients/instructor.ts";
import { langchain } from "./clients/langchain.ts";
import { llamaIndex } from "./clients/llamaindex.ts";
import { openai, sdk } from "./clients/openai.ts";
import { vercelAi } from "./clients/vercel-ai.ts";

const CLIENTS: Readonly<Record<string, Checks>> = {
  "OpenAI SDK": openai,
  "Vercel AI SDK": vercelAi,
  LangChain: langchain,
  LlamaIndex: llamaIndex,
  Instructor: instructor,
};

const jobFor = await startJobs();
const live: ClientResults = {};

async function startJobs() {
  const closers: (() => Promise<void>)[] = [];
  after(async () => {
    for (const close of closers.reverse()) await close();
  });
  return startForClients({ after: (close) => closers.push(close) }, Object.keys(CLIENTS));
}

function cellsOf(client: string): Cell[] {
  const { providers, ...job } = jobFor(client);
  return providers.map(({ name, ...alias }) => ({ ...job, ...alias, model: name }));
}

for (const [client, checks] of Object.entries(CLIENTS)) {
  for (const cell of cellsOf(client)) {
    test(`${client} on ${cell.model}`, async (t) => {
      for (const [feature, check] of Object.entries(checks))
        await t.test(feature, async () => {
          const results = ((live[client] ??= {})[cell.model] ??= {});
          results[feature] = await resultOf(check, cell);
        });
    });
  }
}

async function resultOf(check: Check, cell: Cell): Promise<string> {
  try {
    await check(cell);
    return "yes";
  } catch (error) {
    if (error instanceof VendorLacks) return "none";
    throw error;
  }
}

test("OpenAI's SDK sends again what may work later", async () => {
  const counting = countingFetch();
  const [cell] = cellsOf("OpenAI SDK");
  assert.ok(cell !== undefined);
  const { completions } = sdk(cell, { fetch: counting.fetch, maxRetries: 1 }).chat;
  const call = () => completions.create({ model: cell.model, messages: ask("fail here") });
  assert.equal((await failure(InternalServerError, call)).status, 502);
  assert.equal(counting.count(), 2);
});

test("a client's list of models is the aliases", async () => {
  const [cell] = cellsOf("OpenAI SDK");
  assert.ok(cell !== undefined);
  const ids = (await sdk(cell).models.list()).data.map(({ id }) => id);
  assert.deepEqual(
    ids.filter((id) => !id.includes("-limited-")),
    PROVIDERS,
  );
});

/** With the results that `npm run clients` wrote. */
function matrix(): MatrixParts {
  const python: unknown = JSON.parse(readFileSync(PYTHON_RESULTS, "utf8"));
  const results: ClientResults = { ...live };
  for (const client of PYTHON_CLIENTS) {
    const byProvider: Record<string, Record<string, string>> = (results[client] = {});
    for (const provider of PROVIDERS) {
      const cells = Object.entries(at(python, client, provider) ?? {});
      byProvider[provider] = Object.fromEntries(cells.map(([feature, result]) => [feature, String(result)]));
    }
  }
  return {
    providers: PROVIDERS,
    clients: [...Object.keys(CLIENTS), ...PYTHON_CLIENTS],
    results,
    lacks: {
      Instructor: {
        streamedTools: "Instructor reads one object from an answer.",
        embeddings: "Instructor has no embeddings.",
      },
    },
    vendorLacks: {
      anthropic: { embeddings: "Anthropic has no embeddings." },
      groq: { embeddings: "Groq has no embeddings." },
      ollama: { forced: "Ollama has no `tool_choice`; `none` and a named tool work, `required` does not." },
    },
  };
}

test("every client works with every provider, but for what the vendor does not have", () => {
  assert.deepEqual(gaps(matrix()), []);
});

test("docs/clients.md is what has been tried", () => {
  const path = new URL("../../../docs/clients.md", import.meta.url);
  const page = matrixPage(matrix());
  if (process.env["SLUICE_WRITE_DOCS"] === "1") writeFileSync(path, page);
  assert.equal(readFileSync(path, "utf8"), page);
});
