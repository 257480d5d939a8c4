/** A strict reader of the XML that reports are written in, and what JUnit's schema says of their elements. */
import assert from "node:assert/strict";

export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Element[];
  readonly text: string;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function decoded(text: string): string {
  assert.ok(!text.includes("<"), `a bare < in ${text}`);
  return text.replace(/&([^;]*);?/g, (written, name: string) => {
    const number = /^#(\d+)$/.exec(name)?.[1];
    const character = number === undefined ? ENTITIES[name] : String.fromCodePoint(Number(number));
    assert.ok(character !== undefined && written.endsWith(";"), `unknown entity ${written}`);
    return character;
  });
}

/** Fails on anything that is not well-formed. */
export function parseXml(text: string): Element {
  const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
  assert.ok(text.startsWith(declaration));
  // Characters that XML 1.0 excludes.
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    assert.ok(code >= 0x20 || code === 9 || code === 10 || code === 13, `character ${code}`);
    assert.ok(!(code >= 0xd800 && code <= 0xdfff) && code < 0x110000 && code !== 0xfffe && code !== 0xffff);
  }
  const tokens = text.slice(declaration.length).split(/(<[^>]*>)/);
  let at = 0;
  const read = (): Element => {
    const tag = tokens[at++] ?? "";
    const [, name, attributeText = "", isEmpty] = /^<([a-z-]+)((?: [a-z]+="[^"<]*")*)(\/?)>$/.exec(tag) ?? [];
    assert.ok(name !== undefined, `not a start tag: ${tag}`);
    const attributes: Record<string, string> = {};
    for (const [, key = "", value = ""] of attributeText.matchAll(/ ([a-z]+)="([^"]*)"/g)) {
      assert.ok(!Object.hasOwn(attributes, key), `${name} has ${key} twice`);
      attributes[key] = decoded(value);
    }
    const children: Element[] = [];
    let content = "";
    if (isEmpty === "/") return { name, attributes, children, text: content };
    for (;;) {
      const next = tokens[at];
      assert.ok(next !== undefined, `${name} is not closed`);
      if (next === `</${name}>`) break;
      if (next.startsWith("<")) children.push(read());
      else {
        content += decoded(next);
        at++;
      }
    }
    at++;
    return { name, attributes, children, text: content };
  };
  assert.equal(tokens[at], "");
  at++;
  const root = read();
  assert.equal(tokens.slice(at).join("").trim(), "", "nothing may follow the root");
  return root;
}

type Type = RegExp;
const INTEGER: Type = /^-?\d+$/;
const DECIMAL: Type = /^-?\d+(?:\.\d+)?$/;
const WORD: Type = /\S/;
const TEXT: Type = /^/;
const MOMENT: Type = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/;

interface Rule {
  /** All of them are required. */
  readonly attributes: Readonly<Record<string, Type>>;
  /** In their order. */
  readonly children: readonly { readonly name: string; readonly min: number; readonly max: number }[];
  readonly hasText?: true;
}

const one = (name: string) => ({ name, min: 1, max: 1 });

const RULES: Readonly<Record<string, Rule>> = {
  testsuites: { attributes: {}, children: [{ name: "testsuite", min: 0, max: Number.POSITIVE_INFINITY }] },
  testsuite: {
    attributes: {
      ...{ name: WORD, package: TEXT, id: INTEGER, timestamp: MOMENT, hostname: WORD, tests: INTEGER },
      ...{ failures: INTEGER, errors: INTEGER, skipped: INTEGER, time: DECIMAL },
    },
    children: [
      one("properties"),
      { name: "testcase", min: 0, max: Number.POSITIVE_INFINITY },
      ...[one("system-out"), one("system-err")],
    ],
  },
  properties: { attributes: {}, children: [] },
  testcase: {
    attributes: { name: WORD, classname: WORD, time: DECIMAL },
    children: [{ name: "failure", min: 0, max: 1 }],
  },
  failure: { attributes: { message: TEXT, type: TEXT }, children: [], hasText: true },
  "system-out": { attributes: {}, children: [], hasText: true },
  "system-err": { attributes: {}, children: [], hasText: true },
};

/** Fails where an element is not as junit.xsd has it; counts of suites must be those of their cases. */
export function assertJunit(element: Element): void {
  const rule = RULES[element.name];
  assert.ok(rule !== undefined, `unknown element ${element.name}`);
  const { name, attributes, children, text } = element;
  assert.deepEqual(Object.keys(attributes).toSorted(), Object.keys(rule.attributes).toSorted(), name);
  for (const [key, type] of Object.entries(rule.attributes))
    assert.match(attributes[key] ?? "", type, `${name}/@${key}`);
  if (rule.hasText !== true) assert.match(text, /^\s*$/, `${name} holds text`);
  const names = children.map((child) => child.name);
  const expected = rule.children.flatMap(({ name: child, min, max }) => {
    const count = names.filter((other) => other === child).length;
    assert.ok(count >= min && count <= max, `${name} has ${count} ${child}`);
    return Array.from({ length: count }, () => child);
  });
  assert.deepEqual(names, expected, `order of the children of ${name}`);
  if (name === "testsuite") {
    const cases = children.filter((child) => child.name === "testcase");
    assert.equal(attributes["tests"], String(cases.length));
    const failed = cases.filter((child) => child.children.length > 0).length;
    assert.equal(attributes["failures"], String(failed));
  }
  for (const child of children) assertJunit(child);
}
