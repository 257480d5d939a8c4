/** Seeded changes to texts and JSON: what fuzzers do to something valid. Knows nothing of what reads the result. */
import type { SeededRandom } from "./target.ts";

/** JSON texts that readers stumble over. */
const ODD_VALUES: readonly string[] = [
  ...["null", "true", "[]", "{}", '""', "0", "-1", "1.5", "1e999", "9007199254740991", "-9007199254740993"],
  ...[
    '"__proto__"',
    '{"__proto__":{"a":1}}',
    '{"constructor":null}',
    '"\\u0000"',
    '"\\ud800"',
    "[[]]",
    "[null]",
  ],
  ...['{"error":{}}', '{"object":"error"}', '{"message":null}', '"data: [DONE]\\n\\n"', '"[DONE]"'],
  ...["[".repeat(6_000), `${"[".repeat(500)}${"]".repeat(500)}`, `${'{"a":'.repeat(500)}1${"}".repeat(500)}`],
];

/** Pieces of protocols and encodings. */
const ODD_PIECES: readonly string[] = [
  ...["\r", "\n", "\r\n", "\n\n", "\0", "\x7f", " ", "\t", ":", ",", ";", '"', "\\", "{", "}", "[", "]"],
  ...[
    "data",
    "data:",
    "data: \n\n",
    "data: [DONE]\n\n",
    "event: error\n",
    "\u20ac",
    "\ufeff",
    "\u2028",
    "\x80",
  ],
];

/** The text with up to `max` pieces cut, doubled, moved or put in. */
export function mutateText(random: SeededRandom, text: string, max = 3): string {
  let changed = text;
  for (let n = random.below(max + 1); n > 0; n--) {
    const from = random.below(changed.length + 1);
    const to = Math.min(changed.length, from + 1 + random.below(random.chance(0.2) ? 200 : 8));
    const piece = changed.slice(from, to);
    switch (random.below(5)) {
      case 0:
        changed = changed.slice(0, from) + changed.slice(to);
        break;
      case 1:
        changed = changed.slice(0, to) + piece + changed.slice(to);
        break;
      case 2:
        changed = changed.slice(0, from);
        break;
      default:
        changed =
          changed.slice(0, from) + random.pick(ODD_PIECES) + changed.slice(random.chance(0.5) ? to : from);
    }
  }
  return changed;
}

/** JSON in which up to `max` members or items are replaced, removed, renamed or doubled. */
export function mutateJson(random: SeededRandom, json: string, max = 3): string {
  let changed = json;
  for (let n = random.below(max + 1); n > 0; n--) changed = changedOnce(random, changed);
  return changed;
}

/** A number, a literal, a string, or an empty list or object, with the key before it. */
const MEMBER = /(?:"[\w-]*":)?(?:-?\d[\d.]*|true|false|null|"(?:[^"\\]|\\.)*"|\[\]|\{\})/g;

function changedOnce(random: SeededRandom, json: string): string {
  const members = [...json.matchAll(MEMBER)];
  if (members.length === 0) return json;
  const { 0: member, index } = random.pick(members);
  const colon = member.startsWith('"') ? member.indexOf('":') + 1 : 0;
  const key = colon > 0 ? member.slice(0, colon + 1) : "";
  const put = [
    () => key + random.pick(ODD_VALUES),
    () =>
      key === ""
        ? ""
        : `"${random.pick(["error", "__proto__", "id", "type", "x"])}":${member.slice(colon + 1)}`,
    () => `${member},${member}`,
  ];
  return json.slice(0, index) + random.pick(put)() + json.slice(index + member.length);
}
