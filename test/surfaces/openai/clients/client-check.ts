/** What a client's checks are: one function a feature, which throws where the feature does not work. */
import assert from "node:assert/strict";
import type { ClientJob, ProviderAlias } from "../client-gateway.ts";
import type { Feature } from "../client-matrix.ts";
import { PORT, TIDE } from "../imitation.ts";

/** One provider's alias, and what the client is to find there. */
export interface Cell extends Omit<ClientJob, "providers">, Omit<ProviderAlias, "name"> {
  /** The alias. */
  readonly model: string;
}

export type Check = (cell: Cell) => Promise<void>;
export type Checks = Readonly<Partial<Record<Feature, Check>>>;

/** The gateway answered 400 and named the field that the vendor does not have. */
export class VendorLacks extends Error {}

/** A valid token's form, and nobody's token. */
export const STRANGER = "gw_live_nobody0Knows1It";

/** A pixel. */
export const IMAGE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const parameters = {
  type: "object",
  properties: { port: { type: "string" } },
  required: ["port"],
  additionalProperties: false,
} as const;

export const tools = [TIDE, PORT].map(({ name }) => ({
  type: "function" as const,
  function: { name, description: "Looks up a port.", parameters },
}));

export const stoveSchema = {
  type: "object" as const,
  properties: { kettle: { type: "boolean" as const }, pans: { type: "integer" as const } },
  required: ["kettle", "pans"],
  additionalProperties: false,
};

/** Names and arguments of the calls that "tide and wind?" brings; the first alone for "the tide?". */
export const CALLS: readonly (readonly [name: string, input: unknown])[] = [TIDE, PORT].map(
  (call) => [call.name, JSON.parse(call.arguments)] as const,
);

export const ask = (content: string) => [{ role: "user" as const, content }];

/** A system text and earlier turns, all of which the imitation looks for. */
export const TURNS = [
  { role: "system" as const, content: "Be brief." },
  { role: "user" as const, content: "Hello" },
  { role: "assistant" as const, content: "Tea or coffee?" },
  { role: "user" as const, content: "all turns?" },
];

/** The error that a call fails with, which must be one of `type`. */
export async function failure<T extends Error>(
  type: abstract new (...parts: never[]) => T,
  call: () => PromiseLike<unknown>,
): Promise<T> {
  const error: unknown = await Promise.resolve(call()).then(
    (answer) => assert.fail(`expected ${type.name}, got ${JSON.stringify(answer)}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof type, `expected ${type.name}, got ${String(error)}`);
  return error;
}

/** The same for a class that cannot be imported, by its name. */
export async function failureNamed(name: string, call: () => PromiseLike<unknown>): Promise<Error> {
  const error = await failure(Error, call);
  assert.equal(error.constructor.name, name, String(error));
  return error;
}

/** A fetch that counts. */
export function countingFetch(): { readonly fetch: typeof fetch; readonly count: () => number } {
  let calls = 0;
  return {
    fetch: (...request) => {
      calls++;
      return fetch(...request);
    },
    count: () => calls,
  };
}
