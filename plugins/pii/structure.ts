/**
 * Words and signs near a number that show that it is not personal data: a part number, a version, a
 * count, an amount of money.
 */

/** Characters before and after a number that are searched for its context. */
export const STRUCTURE_CHARACTERS = 40;

/** `part no.`, `SKU:`, `order #`, `art.-nr` and the like at the end of the text before a number. */
const PART =
  /(?:^|[^a-z])(?:p\/n|s\/n|pn|sku|mpn|parts?|item|model|serial|catalog|catalogue|cat|product|article|artikel|art|teil|bestell|order|invoice|isbn|issn|batch|lot|stock|drawing|spec|replaces|pi[eè]ce|r[eé]f[eé]rence|ref|pieza|codice|ticket|tracking|doi|rfc|bolt|gasket|bearing|filter|valve|kit|assembly|assy|oem)[a-z]?[ \t.:#_-]{0,3}(?:numbers?|numbering|nummern?|nos?|nr|num|codes?|ids?|is|was|n°|№)?[ \t.:#="'`(-]{0,4}$/i;

/** True when the words before a number show that it names a part, an order or the like. */
export function namesPart(before: string): boolean {
  return PART.test(before);
}

const VERSION =
  /(?:^|[^a-z])(?:v|ver|versions?|release[sd]?|build|revision|rev|upgrad(?:e|ed|ing)|updat(?:e|ed|ing)|downgrad(?:e|ed)|framework|runtime|sdk|assembly\w{0,24}|fileversion|productversion|packageversion|nuget|firmware|driver|dll|package|library|patch|hotfix|chrome|edge|safari|firefox|oracle|\.net(?: core)?)(?:[ \t]{1,2}(?:to|from|is|was|than|of|number|no))?[ \t.:#=<>"'`([^~-]{0,4}$/i;
/** `Newtonsoft.Json 13.0.3.1`, `System.Memory@4.5.5.0`, `Foo.Bar, 4.5.5.0`: a dotted name of capitals. */
const DOTTED_NAME = /[A-Z]\w{0,40}\.[A-Z]\w{0,40}[ \t,:@/"'(=-]{1,3}$/;
/** Another version directly before: `4.8.1.0 -> `, `1.2.3.4 to `. */
const AFTER_VERSION = /\d\.\d{1,5}[ \t]{0,2}(?:->|=>|→|to|through|until|\.\.)[ \t]{0,2}$/;
/** The tail of an assembly's full name, a file's ending, a range's sign. */
const BEHIND_VERSION =
  /^["']?(?:,[ \t]?(?:Culture|PublicKeyToken|processorArchitecture)=|\.(?:nupkg|dll|exe|msi|zip|tar|deb|rpm|jar|whl|gem)\b|[ \t](?:release|build|runtime|sdk|update|hotfix)\b|-(?:alpha|beta|rc|preview|dev)\b)/i;

/** True when the text around four numbers with dots shows that they are a version. */
export function namesVersion(before: string, behind: string): boolean {
  return (
    VERSION.test(before) ||
    DOTTED_NAME.test(before) ||
    AFTER_VERSION.test(before) ||
    BEHIND_VERSION.test(behind)
  );
}

const MONEY_BEFORE = /[$€£¥₹₩₽%#][ \t\u00a0]?$/;
const COUNT_BEHIND =
  /^[ \t\u00a0]?(?:%|[$€£¥₹°]|(?:times|calls|requests?|items?|units?|users?|people|customers?|rows?|records?|lines?|bytes?|[kmgt]i?b|tokens?|messages|results?|hits|views|steps?|years?|days?|hours?|minutes|seconds|ms|usd|eur|gbp|euros?|dollars|km|kg|meters|miles|downloads|subscribers|inhabitants)(?![a-z]))/i;

/** True when a sign or word next to a number shows that it is an amount or a count. */
export function isAmount(before: string, behind: string): boolean {
  return MONEY_BEFORE.test(before) || COUNT_BEHIND.test(behind);
}
