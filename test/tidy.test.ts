/** The house rules, held: every file is checked, and every check is shown to fail where it should. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  type Check,
  castsWithReason,
  depthChecked,
  exportedNames,
  fileLength,
  fileName,
  functionSize,
  headersSafe,
  noLeftovers,
  noMachine,
  opensWithComment,
  plainWords,
  type SourceFile,
} from "./tidy/checks.ts";
import { codeOf } from "./tidy/code.ts";
import { functionsOf } from "./tidy/functions.ts";
import { importCycles, importsOf, importWalls, KNOWN_CYCLES } from "./tidy/walls.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDERS = ["src", "plugins", "providers", "examples", "test", "bench", "scripts"];

function filesIn(folder: string): SourceFile[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return names
    .filter(
      (name) =>
        !/(?:^|\/)(?:node_modules|results)\//.test(name) && /\.(?:ts|mjs|json|yaml|md|txt)$/.test(name),
    )
    .map((name) => ({ path: `${folder}/${name}`, text: readFileSync(join(ROOT, folder, name), "utf8") }));
}

const files = FOLDERS.filter((folder) => existsSync(join(ROOT, folder))).flatMap(filesIn);
const sources = files.filter(({ path }) => /\.(?:ts|mjs)$/.test(path));
/** Broken on purpose, for the tests of diagnostics. */
const isFixture = ({ path }: SourceFile): boolean => /\/(?:fixtures|broken)\//.test(path);

function every(check: Check, among: readonly SourceFile[]): void {
  const wrong = among.filter((file) => !isFixture(file)).flatMap(check);
  assert.deepEqual(wrong, []);
}

/** The checks say what is wrong with a file of this text; with `fine` nothing. */
function shows(check: Check, path: string, wrong: string, fine: string): void {
  assert.notDeepEqual(check({ path, text: wrong }), [], `lets pass: ${wrong}`);
  assert.deepEqual(check({ path, text: fine }), [], `refuses: ${fine}`);
}

test("there is something to check", () => {
  assert.ok(sources.length > 50);
});

test("layers import only what they may", () => every(importWalls, sources));
test("no files import each other in a circle, other than those listed for removal", () => {
  assert.deepEqual(importCycles(sources), KNOWN_CYCLES);
});
test("no file is too long", () => every(fileLength, sources));
test("no function is too long or takes too many parameters", () => every(functionSize, sources));
test("files are named in kebab-case, without banned words", () => every(fileName, files));
test("what is exported has no banned word in its name", () => every(exportedNames, sources));
test("every file opens by saying what it is for", () => every(opensWithComment, sources));
test("every cast has its reason beside it", () => every(castsWithReason, sources));
test("nothing is left to do, and no control character is in any file", () => every(noLeftovers, files));
test("no file names a machine", () => every(noMachine, files));

test("code and tests use plain words, and cite requirements instead of papers", () => {
  every(plainWords, sources);
  shows(plainWords, "src/a.ts", `// who${"ever"} asks`, "// the caller");
  shows(plainWords, "src/a.ts", `// see CONT${"RACT"} section 5`, "// the contract of a plugin");
});

test("JSON from outside is parsed with a check of its depth", () => {
  every(depthChecked, sources);
  shows(depthChecked, "providers/a.ts", "JSON.parse(text)", "parseJson(text) // not JSON.parse(text)");
});

test("headers are not read by the getters that a header can make throw", () => {
  every(headersSafe, sources);
  shows(
    headersSafe,
    "src/http/a.ts",
    "req.headersDistinct.host",
    "req.rawHeaders // not req.headersDistinct",
  );
});

test("README, CHANGELOG and LICENSE are there", () => {
  for (const name of ["README.md", "CHANGELOG.md", "LICENSE"]) assert.ok(existsSync(join(ROOT, name)), name);
});

test("the lock file names no registry", () => {
  assert.doesNotMatch(readFileSync(join(ROOT, "package-lock.json"), "utf8"), /"resolved": "https?:/);
});

test("the check of walls sees what crosses them", () => {
  const type = 'import type { A } from "../config/model.ts";';
  shows(importWalls, "src/plugin/a.ts", 'import { b } from "../base/b.ts";', 'import { b } from "./b.ts";');
  shows(
    importWalls,
    "src/base/a.ts",
    'import { b } from "../plugin/b.ts";',
    'import type { B } from "../plugin/b.ts";',
  );
  shows(importWalls, "src/state/a.ts", type, 'import { b } from "../base/b.ts";');
  shows(importWalls, "src/state/a.ts", 'const a = await import("../config/a.ts");', 'import "node:fs";');
  shows(
    importWalls,
    "src/surfaces/chat/chat.ts",
    'export { a } from "../proxy/proxy.ts";',
    'export { a } from "./arrival.ts";',
  );
  shows(
    importWalls,
    "src/surfaces/chat/chat.ts",
    'import { a } from "../../config/model.ts";',
    type.replace("..", "../.."),
  );
  shows(importWalls, "src/gateway/a.ts", 'import a from "../../plugins/a.ts";', type);
  shows(
    importWalls,
    "plugins/a.ts",
    'import { a } from "../src/plugin/a.ts";',
    'import { a } from "sluice/plugin";',
  );
  shows(importWalls, "plugins/a.ts", 'import { a } from "node:fs";', 'import { a } from "./a-words.ts";');
  shows(importWalls, "providers/a.ts", 'import { a } from "./b.ts";', 'import { a } from "./wire/b.ts";');
  shows(importWalls, "providers/a.ts", "const now = Date.now();", "// not Date.now()");
});

test("the check of cycles sees imports of types, long ways around and a file that imports itself", () => {
  const file = (name: string, ...targets: string[]) => ({
    path: `src/base/${name}.ts`,
    text: targets.map((target) => `import type { A } from "./${target}.ts";\n`).join(""),
  });
  const found = (...files: SourceFile[]) =>
    importCycles(files).map((cycle) => cycle.map((path) => path.slice("src/base/".length, -".ts".length)));
  assert.deepEqual(found(file("a", "b"), file("b", "c"), file("c")), []);
  assert.deepEqual(found(file("a", "b"), file("b", "c"), file("c", "a", "d"), file("d")), [["a", "b", "c"]]);
  assert.deepEqual(found(file("a", "a"), file("c", "b"), file("b", "c")), [["a"], ["b", "c"]]);
});

test("imports are read from statements of one line and of many", () => {
  const text = 'import {\n  a,\n  b,\n} from "./a.ts";\nexport type { C } from "./c.ts";\nimport "./d.ts";\n';
  assert.deepEqual(importsOf(text), [
    { from: "./a.ts", typesOnly: false },
    { from: "./c.ts", typesOnly: true },
    { from: "./d.ts", typesOnly: false },
  ]);
});

test("the check of lengths counts lines, and spares tables", () => {
  const long = "a\n".repeat(401);
  shows(fileLength, "src/base/a.ts", long, "a\n".repeat(400));
  assert.deepEqual(fileLength({ path: "src/config/schema/a.ts", text: long }), []);
  assert.deepEqual(fileLength({ path: "test/a.test.ts", text: long }), []);
});

test("code is what is left of a text without comments, strings and patterns", () => {
  const source = 'a("{", `${b({ c: `d}` })} {`, /[/{]/g) // {\n/* { */ + 1 / 2 / 3;';
  const code = codeOf(source);
  assert.equal(code.length, source.length);
  assert.equal(code.replace(/\s+/g, " "), "a( , b({ c: }) , ) + 1 / 2 / 3;");
});

test("functions are found in all their forms, and nothing else is taken for one", () => {
  const source = `
    function one(a: Map<string, number>, b = [1, 2]): Promise<{ c: string }> { if (a) { b; } }
    const two = async (a: number): Promise<void> => { for (const x of y) { x; } };
    class Three extends Four<Five> { six(a: (b: number, c: number) => void, d: string,) { switch (a) { } } }
    interface Seven { eight: { nine: string } }
    const ten = { eleven(a, b, c, d, e) { } };
  `;
  assert.deepEqual(
    functionsOf(source).map(({ parameters }) => parameters),
    [2, 1, 2, 5],
  );
});

test("the check of functions sees long ones and wide ones", () => {
  const lines = (count: number): string => `function a() {\n${"b;\n".repeat(count - 2)}}`;
  shows(functionSize, "src/a.ts", lines(71), lines(70));
  shows(functionSize, "src/a.ts", "const a = (b, c, d, e, f) => { };", "const a = (b, c, d, e) => { };");
});

test("the checks of names see banned words wherever they stand", () => {
  assert.notDeepEqual(fileName({ path: "src/string-utils.ts", text: "" }), []);
  assert.notDeepEqual(fileName({ path: "src/camelCase.ts", text: "" }), []);
  assert.deepEqual(fileName({ path: "src/rate-window.test.ts", text: "" }), []);
  shows(exportedNames, "src/a.ts", "export class SessionManager {}", "export class SessionTable {}");
  shows(
    exportedNames,
    "src/a.ts",
    "export const USER_DATA = 1;",
    "const data = 1; export const dataset = 2;",
  );
});

test("the check of openings wants a comment first", () => {
  shows(opensWithComment, "src/a.ts", 'import "a";', '/** Says it. */\nimport "a";');
});

test("the check of casts wants a reason beside them", () => {
  const reason = "// The parser gives nothing else.\nconst a = b as C;";
  shows(castsWithReason, "src/a.ts", "const a = b as C;", reason);
  shows(castsWithReason, "src/a.ts", "const a: any = 1;", "const many: Company = 1;");
  shows(castsWithReason, "src/a.ts", "f(a as unknown)", 'import { a as b } from "c"; export { d as e };');
  shows(castsWithReason, "src/a.ts", "x = [y as Z]", "x = [1] as const; // not: as Z");
});

test("the check of leftovers sees work not done and characters not seen", () => {
  shows(noLeftovers, "src/a.ts", "// TO" + "DO: later", "// to do is a verb");
  shows(noLeftovers, "src/a.ts", `"${String.fromCharCode(0x200b)}"`, '"\\u200b"');
});

test("the check of machines sees paths of one", () => {
  shows(noMachine, "docs/a.md", `cd /${"home"}/ada`, "cd ~/ada and GET /homes/1");
});
