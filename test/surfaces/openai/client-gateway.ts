/** A gateway before the imitation, with aliases for each provider, and what a client is to find there. */
import { hashOf, PROJECT } from "../../spec/kit/config.ts";
import { type Closer, startGateway } from "../../spec/kit/gateway.ts";
import {
  aliasFor,
  credentialsFor,
  type Imitated,
  KETTLE,
  STOVE,
  startImitation,
  USED,
  VECTOR,
} from "./imitation.ts";

export const PROVIDERS: readonly Imitated[] = [
  ...(["openai", "anthropic", "google", "mistral"] as const),
  ...(["groq", "together", "ollama", "cohere"] as const),
];

const TOKEN = "gw_live_client0Of0Wrapper";

/** One provider as a client sees it. */
export interface ProviderAlias {
  /** The provider's name, and its alias. */
  readonly name: string;
  /** An alias on the same provider that admits one call of this client. */
  readonly limited: string;
  readonly used: number;
  readonly usedStreaming: number;
}

/** Everything that a client's checks need. */
export interface ClientJob {
  readonly baseUrl: string;
  readonly token: string;
  readonly answer: string;
  readonly stove: typeof STOVE;
  readonly vector: readonly number[];
  readonly providers: readonly ProviderAlias[];
}

/** Starts the gateway; returns the job of each client by the client's name. */
export async function startForClients(
  closer: Closer,
  clients: readonly string[],
): Promise<(client: string) => ClientJob> {
  const url = await startImitation(closer);
  const limitedFor = clients.map((client) => clients.indexOf(client));
  const aliases = PROVIDERS.flatMap((provider) => {
    const target = { credential: provider, ...aliasFor(provider) };
    const limited = limitedFor.map((n) => ({
      alias: limitedAlias(provider, n),
      ...target,
      rate_limit_per_minute: 1,
    }));
    return [{ alias: provider, ...target }, ...limited];
  });
  const g = await startGateway(closer, {
    project: {
      type: "ai_wrapper",
      endpoints: [],
      tokens: [{ name: "client", hash: hashOf(TOKEN), scopes: ["chat", "models"] }],
      credentials: credentialsFor(PROVIDERS, url),
      aliases,
    },
  });
  return (client) => ({
    baseUrl: `${g.client.origin}/api/${PROJECT}/v1`,
    token: TOKEN,
    answer: KETTLE,
    stove: STOVE,
    vector: VECTOR,
    providers: PROVIDERS.map((name) => ({
      name,
      limited: limitedAlias(name, clients.indexOf(client)),
      used: used(name),
      usedStreaming: usedStreaming(name),
    })),
  });
}

function limitedAlias(provider: string, client: number): string {
  return `${provider}-limited-${client}`;
}

/** 15 for the texts, and what the models' chat templates add. */
const ESTIMATED: ReadonlyMap<Imitated, number> = new Map([
  ["mistral", 15 + 17],
  ["groq", 15 + 9],
  ["together", 15 + 34],
] as const);

/** Of Ollama the imitation counts nothing, and of the streams of three nothing unless it is asked: that is estimated. */
function used(provider: Imitated): number {
  return provider === "ollama" ? 0 : USED;
}

function usedStreaming(provider: Imitated): number {
  return ESTIMATED.get(provider) ?? used(provider);
}
