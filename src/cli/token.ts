/** `sluice token`: creates tokens and their hashes. A token is printed once and never stored. */

import { parseArgs } from "node:util";
import { TOKEN_SCOPES } from "../base/scopes.ts";
import { newToken, tokenHash } from "../base/token.ts";
import { type CliIo, type Command, EXIT, expectedSubcommand, expectedValue, usageError } from "./command.ts";

const HELP = `Usage: sluice token new [--name NAME] [--scopes LIST] [--test] [--output text|json]
       sluice token hash < FILE

new   creates a token and prints it once, with the YAML to commit. The configuration holds only its hash.
hash  reads a token from standard input, never from the arguments, and prints its hash.

  --name NAME     the name of the client (default: client)
  --scopes LIST   comma-separated scopes: chat, models, admin, mcp, proxy (default: chat)
  --test          use the prefix gw_test_ instead of gw_live_
  --output json   for scripts: {token, hash, name, scopes}

Examples:
  sluice token new --name web --scopes chat,models
  sluice token hash < token.txt

Exit status: 0 done, 1 standard input is not a token, 64 usage error.`;

const TOKEN = /^gw_(?:live|test)_\S+$/;
/** After the prefix. Tokens of `token new` are much longer. */
const TOKEN_CHARACTERS_MIN = 16;
const PREFIX_CHARACTERS = "gw_live_".length;

export const command: Command = {
  name: "token",
  summary: "create a client token, or hash one",
  help: HELP,
  async run([action, ...args], io) {
    if (action === "new") return createToken(args, io);
    if (action === "hash") return hashToken(args, io);
    return usageError(io, "token", expectedSubcommand(action, ["new", "hash"]));
  },
};

function createToken(args: readonly string[], io: CliIo): number {
  const { values } = parseArgs({
    args: [...args],
    options: {
      name: { type: "string", default: "client" },
      scopes: { type: "string", default: "chat" },
      test: { type: "boolean", default: false },
      output: { type: "string", default: "text" },
    },
  });
  const { name, output } = values;
  const scopes = values.scopes.split(",").map((scope) => scope.trim());
  const unknown = scopes.find((scope) => !TOKEN_SCOPES.some((known) => known === scope));
  if (unknown !== undefined)
    return usageError(io, "token", `unknown scope '${unknown}'; expected ${TOKEN_SCOPES.join(", ")}`);
  if (output !== "text" && output !== "json")
    return usageError(io, "token", expectedValue("--output", output, ["text", "json"]));
  const token = newToken(values.test ? "test" : "live");
  const hash = tokenHash(token);
  if (output === "json") {
    io.stdout(`${JSON.stringify({ token, hash, name, scopes })}\n`);
    return EXIT.ok;
  }
  io.stdout(`The token (shown only once):

  ${token}

Add this to the project's tokens and commit it:

  - name: ${JSON.stringify(name)}
    hash: "${hash}"
    scopes: [${scopes.join(", ")}]
`);
  return EXIT.ok;
}

async function hashToken(args: readonly string[], io: CliIo): Promise<number> {
  if (args.length > 0) {
    const reason = "arguments are visible in shell histories and process lists";
    return usageError(
      io,
      "token",
      `hash takes no arguments; pass the token on standard input, since ${reason}`,
    );
  }
  const token = (await io.stdin()).replace(/\r?\n$/, "");
  if (!TOKEN.test(token)) {
    io.stderr("sluice token: standard input is not a token; tokens begin with gw_live_ or gw_test_\n");
    return EXIT.failed;
  }
  if (token.length < PREFIX_CHARACTERS + TOKEN_CHARACTERS_MIN) {
    const length = `at least ${TOKEN_CHARACTERS_MIN} characters after its prefix`;
    io.stderr(
      `sluice token: the token is too short; expected ${length}. Create one with: sluice token new\n`,
    );
    return EXIT.failed;
  }
  io.stdout(`${tokenHash(token)}\n`);
  return EXIT.ok;
}
