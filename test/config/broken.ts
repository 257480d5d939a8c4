/**
 * Broken configurations (fixtures/broken/*.txt), each with `»` before the piece that is wrong, and the messages that
 * they get, with grades (fixtures/broken/messages.md).
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DEMO_TOKEN_HASH } from "../../src/config/check/demo-token.ts";

export const BROKEN = fileURLToPath(new URL("fixtures/broken/", import.meta.url));
export const MESSAGES = `${BROKEN}messages.md`;
const MARK = "»";

export interface BrokenCase {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly hasOverlay: boolean;
  /** The piece that is wrong. */
  readonly at: { readonly file: string; readonly line: number; readonly column: number };
}

const PROJECT = `version: 1
projects:
  - uuid: 3e2f6c1a-58d4-4b5e-9a07-6f1d2c8b4e90
    name: Support
    type: ai_gateway
`;
const ENDPOINT = `${PROJECT}    credentials:
      - { name: main, provider: openai, api_key: "\${env:KEY}" }
    endpoints:
      - name: A
        provider: openai
        model: gpt-5-mini
        credential: main
`;
/** What stands above a case's text, by its kind. */
const HEADS: Readonly<Record<string, string>> = { endpoint: ENDPOINT, project: PROJECT, file: "" };

export function brokenCases(): readonly BrokenCase[] {
  const texts = readdirSync(BROKEN).filter((name) => name.endsWith(".txt"));
  return texts.sort().flatMap((name) =>
    readFileSync(BROKEN + name, "utf8")
      .split(/^=== /m)
      .slice(1)
      .map(caseOf),
  );
}

function caseOf(text: string): BrokenCase {
  const [title = "", ...lines] = text.split("\n");
  const [name = "", kind = "", overlay] = title.split(" ");
  const [main = "", ...others] = lines.join("\n").split(/^--- /m);
  const marked: Record<string, string> = { "gateway.config.yaml": (HEADS[kind] ?? "") + main };
  for (const other of others) {
    const end = other.indexOf("\n");
    marked[other.slice(0, end)] = other.slice(end + 1);
  }
  let at: BrokenCase["at"] | undefined;
  const files: Record<string, string> = {};
  for (const [file, content] of Object.entries(marked)) {
    const offset = content.indexOf(MARK);
    if (offset >= 0) {
      const before = content.slice(0, offset).split("\n");
      at = { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
    }
    const clean = content.replace(MARK, "").replace("sha256:DEMO", DEMO_TOKEN_HASH);
    files[file] = name === "empty-file" ? "" : clean;
  }
  if (at === undefined) throw new Error(`${name} has no ${MARK}`);
  return { name, files, hasOverlay: overlay === "overlay", at };
}

/** One case of messages.md. */
export interface GradedMessage {
  readonly grade: number;
  /** Why: position, cause, what to do, suggestion. */
  readonly reasons: string;
  readonly text: string;
}

/** By name. Each is a heading, a line `Grade 3: reasons`, and the messages in a code block. */
export function gradedMessages(): ReadonlyMap<string, GradedMessage> {
  const graded = new Map<string, GradedMessage>();
  for (const section of readFileSync(MESSAGES, "utf8").split(/^## /m).slice(1)) {
    const [, name = "", grade = "", reasons = "", text = ""] =
      /^(\S+)\n\nGrade (\d): (.*)\n\n~~~\n([\s\S]*?)~~~\n/.exec(section) ?? [];
    graded.set(name, { grade: Number(grade), reasons, text });
  }
  return graded;
}
