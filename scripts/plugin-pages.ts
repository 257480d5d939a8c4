/**
 * The generated parts of plugins/<name>/README.md: each plugin's description, tables of its options or endpoint keys,
 * and its examples as YAML. The rest of a page is written by hand.
 */
import { readdirSync, readFileSync } from "node:fs";
import { stringify } from "yaml";
import { schemaWith } from "../src/config/schema/config.ts";
import type { Plugin } from "../src/plugin/contract.ts";
import { BUILT_IN } from "../src/plugins-host/builtin.ts";
import { Registry } from "../src/plugins-host/registry.ts";
import { keyRows, keyTable } from "./schema-table.ts";

const FOLDER = new URL("../plugins/", import.meta.url);

/** Every page of a plugin: path from the root of the repository, and text. */
export function pluginPages(): ReadonlyMap<string, string> {
  const names = BUILT_IN.filter(({ kind }) => kind === "stage" || kind === "guardrail").map((plugin) => {
    const path = `${plugin.name.replaceAll("_", "-")}/README.md`;
    return [`plugins/${path}`, filled(readFileSync(new URL(path, FOLDER), "utf8"), plugin)] as const;
  });
  return new Map(names);
}

/** Folders of plugins, other than `text/`, which holds what several of them share. */
export function pluginFolders(): readonly string[] {
  return readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "text")
    .map(({ name }) => name);
}

/** `<!-- NAME ARGUMENTS -->`, what is generated, `<!-- end -->`. */
const SECTION = /<!-- (description|options|keys|examples)([^\n]{0,2000}) -->\n.*?<!-- end -->/gs;

function filled(page: string, plugin: Plugin): string {
  return page.replace(SECTION, (_section, name: string, words: string) => {
    const text = name === "keys" ? keysTable(words.trim().split(" ")) : WRITERS[name]?.(plugin);
    return `<!-- ${name}${words} -->\n${text}\n<!-- end -->`;
  });
}

const WRITERS: Readonly<Record<string, (plugin: Plugin) => string>> = {
  description: ({ description }) => description,
  options: ({ schema }) => keyTable("Option", keyRows(schema)),
  examples: ({ name, examples }) =>
    `\`\`\`yaml\n${stringify({ guardrails: examples.map((options) => ({ use: name, ...Object(options) })) })}\`\`\``,
};

/** The rows of keys of the configuration. Keys of endpoints are given by their last part. */
function keysTable(wanted: readonly string[]): string {
  const all = keyRows(schemaWith(new Registry([]).stageKeys));
  const rows = wanted.flatMap((key) => {
    const path = /^(?:log|projects)\b/.test(key) ? key : `projects[].endpoints[].${key}`;
    const found = all.filter((row) => row.path === path);
    if (found.length === 0) throw new Error(`a page of plugins/ names a key that does not exist: ${key}`);
    return found.map(({ row }) => ({ path, row: row.replace("projects[].endpoints[].", "") }));
  });
  return keyTable("Key", rows);
}
