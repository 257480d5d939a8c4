// Prints the structure of the sources in figures: folders, files, lines, imports between folders, cycles. src/README.md
// quotes them.
//   npm run structure                      npm run structure -- --tree ../other   (another checkout)
import { readdirSync, readFileSync } from "node:fs";
import { join, posix, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { importCycles, importsOf } from "../test/tidy/walls.ts";

export interface Folder {
  readonly name: string;
  readonly files: number;
  readonly lines: number;
}

export interface Structure {
  /** Folders of src, with their subfolders, then `plugins` and `providers`. */
  readonly folders: readonly Folder[];
  /** Pairs of folders of src where one imports the other, by value or for types. */
  readonly arrows: number;
  /** Groups of files that import each other in a circle. */
  readonly cycles: readonly (readonly string[])[];
}

/** Reads `tree`, a checkout of this repository. */
export function structureOf(tree: string): Structure {
  const sources = new Map<string, string>();
  for (const top of ["src", "plugins", "providers"]) {
    for (const name of readdirSync(join(tree, top), { recursive: true, encoding: "utf8" })) {
      if (name.endsWith(".ts"))
        sources.set(`${top}/${name.replaceAll("\\", "/")}`, readFileSync(join(tree, top, name), "utf8"));
    }
  }
  const imports = new Map(
    [...sources].map(([path, text]) => [
      path,
      importsOf(text)
        .filter(({ from }) => from.startsWith("."))
        .map(({ from }) => posix.join(posix.dirname(path), from)),
    ]),
  );
  return {
    folders: foldersOf(sources),
    arrows: arrowsOf(imports),
    cycles: importCycles([...sources].map(([path, text]) => ({ path, text }))),
  };
}

function foldersOf(sources: ReadonlyMap<string, string>): readonly Folder[] {
  const folders = new Map<string, Folder>();
  for (const [path, text] of sources) {
    const name = folderOf(path);
    const { files, lines } = folders.get(name) ?? { files: 0, lines: 0 };
    folders.set(name, { name, files: files + 1, lines: lines + text.split("\n").length - 1 });
  }
  return [...folders.values()].sort((a, b) => a.name.localeCompare(b.name));
}

/** `src/state`, `src` for main and index, `plugins`, `providers`. */
function folderOf(path: string): string {
  const [top = "", folder = ""] = path.split("/");
  return top === "src" && !folder.endsWith(".ts") ? `src/${folder}` : top;
}

function arrowsOf(imports: ReadonlyMap<string, readonly string[]>): number {
  const arrows = new Set<string>();
  for (const [path, targets] of imports) {
    for (const target of targets) {
      const [from, to] = [folderOf(path), folderOf(target)];
      if (from !== to && from.startsWith("src/") && to.startsWith("src/")) arrows.add(`${from} ${to}`);
    }
  }
  return arrows.size;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { tree: { type: "string" } } });
  const { folders, arrows, cycles } = structureOf(
    resolve(values.tree ?? fileURLToPath(new URL("..", import.meta.url))),
  );
  const total = (count: (folder: Folder) => number) =>
    folders.reduce((sum, folder) => sum + count(folder), 0);
  const rows = [
    ...folders.map(({ name, files, lines }) => [name, files, lines] as const),
    ["all", total(({ files }) => files), total(({ lines }) => lines)] as const,
  ];
  for (const [name, files, lines] of rows)
    process.stdout.write(
      `${name.padEnd(20)} ${String(files).padStart(5)} files ${String(lines).padStart(7)} lines\n`,
    );
  process.stdout.write(`imports between folders of src: ${arrows}\nimport cycles: ${cycles.length}\n`);
  for (const group of cycles) process.stdout.write(`  ${group.join(", ")}\n`);
}
