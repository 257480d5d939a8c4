/**
 * The files that a plugin consists of: its module and what that imports by relative paths, over and over. Their texts
 * together are the plugin's version, so that a changed helper reloads the plugin whole. Packages are not followed.
 */
import { createHash } from "node:crypto";
import { dirname, relative, resolve } from "node:path";

export interface PluginFiles {
  /** Absolute, the module first. */
  readonly files: readonly string[];
  /** Hash of all paths and texts. */
  readonly version: string;
}

/** More files than that are not looked at: they would be a generated folder, not helpers. */
const FILES_MAX = 500;

/** `import "./x"`, `… from "./x"`, `import("./x")`, `require("./x")`, `new URL("./x", …)`. */
const RELATIVE = /\b(?:from|import|require|URL)\s*(?:\(\s*)?(["'`])(\.{1,2}(?:\/[^"'`\n]*)?)\1/g;

/** What a specifier may leave out. */
const ENDINGS = [".ts", ".js", ".mts", ".mjs", ".cts", ".cjs", ".tsx", ".json"];
/** TypeScript's imports name the file that would be compiled from theirs. */
const COMPILED: readonly (readonly [from: RegExp, to: string])[] = [
  [/\.js$/, ".ts"],
  [/\.js$/, ".tsx"],
  [/\.mjs$/, ".mts"],
  [/\.cjs$/, ".cts"],
];

/** Access to the files of a plugin. */
export interface PluginReader {
  /** A file's text; undefined for what cannot be read, which is then no part of the plugin. */
  read(path: string): string | undefined;
  isFile(path: string): boolean;
}

export function pluginFiles(module: string, { read, isFile }: PluginReader): PluginFiles {
  const files = [module];
  const seen = new Set(files);
  const hash = createHash("sha256");
  const take = (file: string): readonly string[] => {
    const text = read(file);
    if (text === undefined) return [];
    hash.update(`${relative(dirname(module), file)}\0${Buffer.byteLength(text)}\0${text}`);
    return importsOf(file, text, isFile);
  };
  for (let at = 0; at < files.length && at < FILES_MAX; at++) {
    for (const imported of take(files[at] ?? "")) {
      if (seen.has(imported)) continue;
      seen.add(imported);
      files.push(imported);
    }
  }
  return { files, version: hash.digest("hex") };
}

/** Files that a text imports, in its order. What only looks like an import, in a comment, does no harm. */
function importsOf(file: string, text: string, isFile: PluginReader["isFile"]): readonly string[] {
  if (file.endsWith(".json")) return [];
  const found: string[] = [];
  for (const [, , specifier = ""] of text.matchAll(RELATIVE)) {
    const path = resolved(resolve(dirname(file), specifier.split(/[?#]/, 1)[0] ?? ""), isFile);
    if (path !== undefined && !path.includes("/node_modules/")) found.push(path);
  }
  return found;
}

function resolved(path: string, isFile: PluginReader["isFile"]): string | undefined {
  const compiled = COMPILED.filter(([from]) => from.test(path)).map(([from, to]) => path.replace(from, to));
  const candidates = [
    path,
    ...compiled,
    ...ENDINGS.map((ending) => path + ending),
    ...ENDINGS.map((ending) => resolve(path, `index${ending}`)),
  ];
  return candidates.find(isFile);
}
