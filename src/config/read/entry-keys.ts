/**
 * Keys of a configuration's many entries (endpoints and aliases), by which two loads are compared without comparing
 * their values: made where an entry is loaded, remembered with the object.
 */
import { hash } from "node:crypto";
import type { AliasConfig, EndpointConfig } from "../model.ts";

export interface EntryKeys {
  /** Equal when everything is, places included: the objects can replace each other. */
  readonly exact: string;
  /** Equal when all values are, wherever they are written. */
  readonly content: string;
}

export type Entry = EndpointConfig | AliasConfig;

const known = new WeakMap<Entry, EntryKeys>();

/** Computed when the entry has none yet. */
export function entryKeys(entry: Entry): EntryKeys {
  let keys = known.get(entry);
  if (keys === undefined) known.set(entry, (keys = computed(entry)));
  return keys;
}

/** For an entry that another thread sent with its keys. */
export function rememberKeys(entry: Entry, keys: EntryKeys): void {
  known.set(entry, keys);
}

function computed(entry: Entry): EntryKeys {
  const content = digest(JSON.stringify(withoutPlaces(entry)));
  return { exact: digest(JSON.stringify([content, placesOf(entry)])), content };
}

/** A change of lines alone is not a change of values. */
export function withoutPlaces(entry: Entry): Readonly<Record<string, unknown>> {
  const { at: _at, ...fields } = entry;
  const guardrails = fields.guardrails.map((use) => ({ ...use, at: undefined }));
  if (!("stages" in fields)) return { ...fields, guardrails };
  return { ...fields, guardrails, stages: fields.stages.map((use) => ({ ...use, at: undefined })) };
}

function placesOf(entry: Entry): readonly unknown[] {
  const stages = "stages" in entry ? entry.stages : [];
  return [entry.at, ...entry.guardrails.map(({ at }) => at), ...stages.map(({ at }) => at)];
}

function digest(text: string): string {
  return hash("sha256", text, "base64");
}
