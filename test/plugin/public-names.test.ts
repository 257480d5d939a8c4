/** Names of the public packages: each is documented, says since when it exists, and there are not more than needed. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Most names of each package: a new one should be worth what authors have to read. */
const PACKAGES = {
  "sluice/plugin": ["src/plugin/index.ts", 58],
  "sluice/provider": ["src/provider-kit/index.ts", 84],
  "sluice/testing": ["src/testing/index.ts", 44],
} as const;
const EXPORTED = /^export (type )?\{([^}]*)\} from "([^"]+)";$/gm;

interface PublicName {
  readonly name: string;
  readonly file: string;
}

function publicNames(index: string): readonly PublicName[] {
  const text = readFileSync(join(ROOT, index), "utf8");
  assert.doesNotMatch(text, /^export \*/m, "each name is listed");
  return [...text.matchAll(EXPORTED)].flatMap(([, , names = "", from = ""]) =>
    names
      .split(",")
      .map((name) => name.trim().replace(/^type /, ""))
      .filter((name) => name !== "")
      .map((name) => ({ name, file: join(dirname(index), from) })),
  );
}

/** The comment right before the declaration; "" where there is none. */
function docOf({ name, file }: PublicName): string {
  const text = readFileSync(join(ROOT, file), "utf8");
  const declared = new RegExp(`^export (?:async )?(?:interface|type|function|const|class) ${name}\\b`, "m");
  const at = text.search(declared);
  assert.ok(at >= 0, `${name} is not declared in ${file}`);
  const before = text.slice(0, at);
  return before.endsWith("*/\n") ? before.slice(before.lastIndexOf("/**")) : "";
}

for (const [pack, [index, most]] of Object.entries(PACKAGES)) {
  test(`every name of ${pack} is documented and says since when it exists`, () => {
    const names = publicNames(index);
    assert.ok(names.length > 30);
    for (const one of names) {
      const doc = docOf(one);
      assert.match(doc, /\w{2,}/, `${one.name} has a comment`);
      assert.match(doc, /@since \d+\.\d+\.\d+\b/, `${one.name} says since when it exists`);
      const words = doc.replace(/@since \S+|@experimental|[/*\s]/g, "");
      assert.ok(words.length >= 5, `the comment of ${one.name} says what it is`);
    }
    assert.ok(names.length <= most, `${pack} has ${names.length} names`);
  });
}
