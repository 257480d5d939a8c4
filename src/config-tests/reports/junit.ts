/** A run in JUnit's XML, as CI servers read it: one suite for each test file, one case for each case. */
import {
  type CaseResult,
  failureText,
  mutationsOf,
  type RunResults,
  survivorText,
  uncoveredText,
} from "../results.ts";
import { placeText, shortPath } from "./paths.ts";

/** `startedAt`: of the run, for the suites' time stamps. */
export function renderJunit(results: RunResults, cwd: string, startedAt: Date): string {
  const byFile = new Map<string, CaseResult[]>();
  for (const one of results.cases) {
    const cases = byFile.get(one.file) ?? [];
    cases.push(one);
    byFile.set(one.file, cases);
  }
  const extra = protectionCases(results, cwd);
  const suites: Suite[] = [...byFile].map(([file, cases]) => ({
    name: shortPath(cwd, file),
    cases: cases.map((one) => testCase(one, cwd)),
    durationMs: cases.reduce((sum, { durationMs }) => sum + durationMs, 0),
  }));
  for (const [name, cases] of extra) suites.push({ name, cases, durationMs: 0 });
  const body = suites.map((one, id) => suite(one, id, startedAt)).join("");
  // Without attributes: the schemas of Ant and of Jenkins agree on that.
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${body}</testsuites>\n`;
}

interface Written {
  readonly xml: string;
  readonly failed: boolean;
}

interface Suite {
  readonly name: string;
  readonly cases: readonly Written[];
  readonly durationMs: number;
}

function suite({ name, cases, durationMs }: Suite, id: number, startedAt: Date): string {
  const failures = cases.filter(({ failed }) => failed).length;
  const head = attributes({
    ...{ name, package: "sluice", id, tests: cases.length, failures },
    ...{ errors: 0, skipped: 0, hostname: "localhost", time: seconds(durationMs) },
    timestamp: startedAt.toISOString().slice(0, 19),
  });
  const body = cases.map(({ xml }) => xml).join("");
  return `  <testsuite${head}>\n    <properties/>\n${body}    <system-out/>\n    <system-err/>\n  </testsuite>\n`;
}

function testCase({ name, file, place, failures, durationMs, trace }: CaseResult, cwd: string): Written {
  const head = attributes({ name, classname: shortPath(cwd, file), time: seconds(durationMs) });
  const [first] = failures;
  if (first === undefined) return { xml: `    <testcase${head}/>\n`, failed: false };
  const text = [
    placeText(cwd, place),
    ...failures.map((failure) => `${placeText(cwd, failure.place)} ${failureText(failure)}`),
    ...trace,
  ];
  return { xml: failedCase(head, failureText(first), "expectation", text), failed: true };
}

function failedCase(head: string, message: string, type: string, text: readonly string[]): string {
  const failure = `<failure${attributes({ message, type })}>${escaped(text.join("\n"))}</failure>`;
  return `    <testcase${head}>\n      ${failure}\n    </testcase>\n`;
}

/** Uncovered and surviving protections are failed cases of suites of their own. */
function protectionCases(results: RunResults, cwd: string): ReadonlyMap<string, readonly Written[]> {
  const { coverage } = results;
  const mutations = mutationsOf(results);
  const found = new Map<string, readonly Written[]>();
  const written = (classname: string, name: string, message: string, place: string): Written => ({
    xml: failedCase(attributes({ name, classname, time: "0.000" }), message, classname, [
      `${place} ${message}`,
    ]),
    failed: true,
  });
  if (coverage !== undefined && coverage.uncovered.length > 0)
    found.set(
      "coverage",
      coverage.uncovered.map((one) =>
        written("coverage", one.protection, uncoveredText(one), placeText(cwd, one.place)),
      ),
    );
  if (mutations !== undefined && mutations.survived.length > 0)
    found.set(
      "mutations",
      mutations.survived.map((one) =>
        written("mutations", one.protection, survivorText(one), placeText(cwd, one.place)),
      ),
    );
  return found;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(
      ([name, value]) =>
        ` ${name}="${escaped(String(value)).replaceAll('"', "&quot;").replaceAll("\n", "&#10;")}"`,
    )
    .join("");
}

/** XML 1.0 has no way to write control characters but these, nor halves of surrogate pairs. */
function isWritable(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return code === 0x09 || code === 0x0a || code === 0x0d;
  return !(code >= 0xd800 && code <= 0xdfff) && code !== 0xfffe && code !== 0xffff;
}

function escaped(text: string): string {
  return [...text]
    .map((character) => (isWritable(character) ? character : "\ufffd"))
    .join("")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("\r", "&#13;");
}
