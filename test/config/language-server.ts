/** Speaks to the YAML language server that editors run, over its standard input and output. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { pathToFileURL } from "node:url";

export interface EditorDiagnostic {
  readonly message: string;
  readonly range: { readonly start: Position; readonly end: Position };
}

/** Both from 0. */
interface Position {
  readonly line: number;
  readonly character: number;
}

export interface LanguageServer {
  /** Shows a file to the server and returns what it finds wrong. */
  open(path: string, text: string): Promise<readonly EditorDiagnostic[]>;
  /** Labels offered at a position of an open file; both count from 1. */
  completions(path: string, line: number, column: number): Promise<readonly string[]>;
  hover(path: string, line: number, column: number): Promise<string>;
}

/** The protocol's messages are not checked: a test that reads what is not there fails. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params: { readonly uri: string; readonly diagnostics: readonly EditorDiagnostic[] };
  readonly result: {
    readonly items: readonly { readonly label: string }[];
    readonly contents: unknown;
  } | null;
}

type Answer = (result: Message["result"]) => void;

const SERVER = createRequire(import.meta.url).resolve("yaml-language-server/package.json");

/** Ends with the test. */
export async function startLanguageServer(t: TestContext): Promise<LanguageServer> {
  const child = spawn(process.execPath, [join(dirname(SERVER), "bin/yaml-language-server"), "--stdio"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => child.kill());
  const answers = new Map<number, Answer>();
  const findings = new Map<string, (found: readonly EditorDiagnostic[]) => void>();
  let lastId = 0;

  const send = (message: object): void => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  const ask = (method: string, params: object): Promise<Message["result"]> =>
    new Promise((resolve) => {
      lastId += 1;
      answers.set(lastId, resolve);
      send({ id: lastId, method, params });
    });

  readMessages(child.stdout, (message) => {
    const { id, method, params, result } = message;
    if (method === "textDocument/publishDiagnostics") findings.get(params.uri)?.(params.diagnostics);
    else if (method !== undefined && id !== undefined) send({ id, result: null });
    else if (id !== undefined) answers.get(id)?.(result);
  });

  await ask("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
  send({ method: "initialized", params: {} });
  const yaml = { validate: true, hover: true, completion: true, schemaStore: { enable: false } };
  send({ method: "workspace/didChangeConfiguration", params: { settings: { yaml } } });

  const at = (path: string, line: number, column: number): object => ({
    textDocument: { uri: pathToFileURL(path).href },
    position: { line: line - 1, character: column - 1 },
  });
  return {
    open(path, text) {
      const uri = pathToFileURL(path).href;
      const found = new Promise<readonly EditorDiagnostic[]>((resolve) => findings.set(uri, resolve));
      send({
        method: "textDocument/didOpen",
        params: { textDocument: { uri, languageId: "yaml", version: 1, text } },
      });
      return found;
    },
    async completions(path, line, column) {
      const completion = await ask("textDocument/completion", at(path, line, column));
      return (completion?.items ?? []).map(({ label }) => label);
    },
    async hover(path, line, column) {
      const hover = await ask("textDocument/hover", at(path, line, column));
      return JSON.stringify(hover?.contents ?? "");
    },
  };
}

/** Messages with a head of their length, as they arrive. */
function readMessages(stream: NodeJS.ReadableStream, onMessage: (message: Message) => void): void {
  let buffered = Buffer.alloc(0);
  stream.on("data", (piece: Buffer) => {
    buffered = Buffer.concat([buffered, piece]);
    for (;;) {
      const head = buffered.indexOf("\r\n\r\n");
      const length = Number(
        /Content-Length: (\d+)/i.exec(buffered.toString("latin1", 0, Math.max(0, head)))?.[1],
      );
      const end = head + 4 + length;
      if (head < 0 || buffered.length < end) return;
      const message = buffered.toString("utf8", head + 4, end);
      buffered = buffered.subarray(end);
      onMessage(JSON.parse(message));
    }
  });
}
