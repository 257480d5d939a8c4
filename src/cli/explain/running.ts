/** `sluice explain --running`: a past call, from the recent calls of a gateway. */
import { resolve } from "node:path";
import { load, pluginLoader } from "../../gateway/load.ts";
import type { Explanation } from "../../offline/explain/explanation.ts";
import { findObject } from "../../offline/explain/objects.ts";
import { Places, type Written } from "../../offline/explain/places.ts";
import {
  explainRecorded,
  type RecordedPlaces,
  type ShownCall,
  shownCall,
} from "../../offline/explain/recorded.ts";
import { type AdminClient, AdminError, adminClient } from "../admin-client.ts";
import { type CliIo, configPath } from "../command.ts";
import { conforms } from "../conforms.ts";

export interface RunningRequest {
  readonly url: string;
  readonly requestId: string;
  /** The configuration whose lines are shown, if the call ran on it. */
  readonly path: string | undefined;
  readonly overlays: readonly string[];
  readonly root: string | undefined;
  /** How places and written values are read of it. */
  readonly writtenOf: (loaded: Awaited<ReturnType<typeof load>>) => Written;
}

/** Rejects with AdminError. */
export async function explainRunning(request: RunningRequest, io: CliIo): Promise<Explanation> {
  const client = await adminClient({ url: request.url, overlay: [] }, io, pluginLoader);
  try {
    const call = await callOf(client, request.requestId);
    return explainRecorded(call, await placesOf(call, request, io));
  } finally {
    client.close();
  }
}

async function callOf(client: AdminClient, requestId: string): Promise<ShownCall> {
  const path = `/admin/v1/calls/${encodeURIComponent(requestId)}`;
  const { body, status } = await client.ask("GET", path).catch(async (thrown: unknown) => {
    if (!(thrown instanceof AdminError) || thrown.status !== 404) throw thrown;
    throw (await hasRecentCalls(client)) ? new AdminError(unknownCall(client.url, requestId), true) : thrown;
  });
  const fault = status === 200 ? conforms(body, shownCall) : `the status is ${status}`;
  if (fault !== undefined)
    throw new AdminError(`${client.url} answers something else than a call: ${fault}`, true);
  // Of the schema's shape, as far as its types say.
  return body as unknown as ShownCall;
}

/** 404 has two meanings: the call is not kept, or the gateway keeps none at all. */
async function hasRecentCalls(client: AdminClient): Promise<boolean> {
  try {
    return (await client.ask("GET", "/admin/v1/calls?limit=1")).status === 200;
  } catch {
    return false;
  }
}

function unknownCall(url: string, requestId: string): string {
  return `${url} has no call '${requestId}' among its recent ones; it keeps the last ones of each project (\`calls.keep\`), and those of other replicas are asked there`;
}

/** undefined: the configuration at hand is not the one that the call ran on. */
async function placesOf(
  call: ShownCall,
  { path, overlays, root, writtenOf }: RunningRequest,
  io: CliIo,
): Promise<RecordedPlaces | undefined> {
  const loaded = await load({
    path: resolve(io.cwd, configPath(path, io.env)),
    root: root === undefined ? undefined : resolve(io.cwd, root),
    overlays: overlays.map((one) => resolve(io.cwd, one)),
    ...{ env: io.env, secrets: "keep", shows: true, strict: false, plugins: "skip" },
  });
  const { config, registry, hash } = loaded;
  if (config === undefined || hash !== call.config.hash || call.endpoint === null) return undefined;
  const object = findObject(config, registry, `${call.project.id}/${call.endpoint.id}`);
  if (typeof object === "string") return undefined;
  const places = new Places(config, object, writtenOf(loaded));
  const uses = object.settings?.guardrails ?? [];
  const indexes = (side: "input" | "output"): number[] => {
    const found = uses.flatMap(({ on }, index) => (on.includes(side) ? [index] : []));
    return side === "input" ? found : found.reverse();
  };
  return {
    object: places.object,
    guardrail: (side, n) => places.key("guardrails", indexes(side)[n] ?? -1),
    key: (...key) => places.key(...key),
    token: (id) => {
      const index = object.project.tokens.findIndex((one) => one.id === id);
      return index < 0 ? null : places.token(index);
    },
  };
}
