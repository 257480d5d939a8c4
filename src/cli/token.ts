/** `sluice token`: makes tokens and their hashes. A token is printed once and kept nowhere. */
import { parseArgs } from "node:util";
import { newToken, tokenHash } from "../base/token.ts";
import { type CliIo, type Command, EXIT, misused } from "./command.ts";

const HELP = `Usage: sluice token new [--name NAME] [--scopes LIST] [--test] [--output text|json]
       sluice token hash < FILE

new   makes a token, prints it once, and prints the YAML to commit: the configuration holds hashes only.
hash  reads a token from standard input, never from its arguments, and prints its hash.

  --name NAME     whose token it is (default: client)
  --scopes LIST   what it may do: chat, models, admin, mcp, proxy, separated by commas (default: chat)
  --test          a token that begins with gw_test_ instead of gw_live_
  --output json   for scripts: {token, hash, name, scopes}

Examples:
  sluice token new --name web --scopes chat,models
  sluice token hash < token.txt`;

const SCOPES = ["chat", "models", "admin", "mcp", "proxy"];
const TOKEN = /^gw_(?:live|test)_\S+$/;
/** After the prefix. `token new` makes far longer ones. */
const TOKEN_CHARACTERS_MIN = 16;
const PREFIX_CHARACTERS = "gw_live_".length;

export const command: Command = {
  name: "token",
  summary: "make a token, or the hash of one",
  help: HELP,
  async run([action, ...args], io) {
    if (action === "new") return makeToken(args, io);
    if (action === "hash") return hashToken(args, io);
    return misused(
      io,
      "token",
      action === undefined ? "say `new` or `hash`" : `there is no '${action}' here`,
    );
  },
};

function makeToken(args: readonly string[], io: CliIo): number {
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
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined)
    return misused(io, "token", `unknown scope '${unknown}'; scopes are ${SCOPES.join(", ")}`);
  if (output !== "text" && output !== "json")
    return misused(io, "token", `--output takes text or json, not '${output}'`);
  const token = newToken(values.test ? "test" : "live");
  const hash = tokenHash(token);
  if (output === "json") {
    io.stdout(`${JSON.stringify({ token, hash, name, scopes })}\n`);
    return EXIT.fine;
  }
  io.stdout(`The token, shown this once:

  ${token}

Commit this under the project's tokens:

  - name: ${JSON.stringify(name)}
    hash: "${hash}"
    scopes: [${scopes.join(", ")}]
`);
  return EXIT.fine;
}

async function hashToken(args: readonly string[], io: CliIo): Promise<number> {
  if (args.length > 0) {
    const reason = "arguments end up in shell histories and process lists";
    return misused(io, "token", `hash reads the token from standard input, since ${reason}`);
  }
  const token = (await io.stdin()).replace(/\r?\n$/, "");
  if (!TOKEN.test(token)) {
    io.stderr("sluice token: standard input is not a token: a token begins with gw_live_ or gw_test_\n");
    return EXIT.failed;
  }
  if (token.length < PREFIX_CHARACTERS + TOKEN_CHARACTERS_MIN) {
    const form = `at least ${TOKEN_CHARACTERS_MIN} characters after its prefix`;
    io.stderr(
      `sluice token: the token is too short: it must have ${form}. Make one with: sluice token new\n`,
    );
    return EXIT.failed;
  }
  io.stdout(`${tokenHash(token)}\n`);
  return EXIT.fine;
}
