/** `sluice import`: makes a configuration from that of another gateway, and says of each key what became of it. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type CliIo, type Command, EXIT, expectedSubcommand, expectedValue, usageError } from "./command.ts";
import { convert, type Imported, PRODUCTS } from "./import/convert.ts";
import { needsPerson } from "./import/findings.ts";
import { type Report, renderJson, renderSarif, renderText } from "./import/print.ts";
import { SOURCE_BYTES_MAX, SourceError } from "./import/source.ts";
import type { Product } from "./import/upstreams.ts";

const HELP = `Usage: sluice import litellm|portkey|bifrost FILE [--out FOLDER] [--output FORMAT]

Makes a configuration from that of another gateway, with tests that prove the mapping, and reports for each key of FILE
what became of it: exact, approximate, manual, unsupported, or no effect for keys that the other gateway does not read
either. Secrets in FILE are neither printed nor written: the configuration refers to environment variables instead.

  litellm          a proxy configuration (config.yaml)
  portkey          a gateway config, an export of one, or a list of them (JSON)
  bifrost          config.json
  --out FOLDER     where gateway.config.yaml and gateway.test.yaml are written (default: sluice); existing files are
                   never overwritten
  --output FORMAT  text, json ({findings, files}) or sarif (code scanning)

docs/importing.md lists what each key becomes.

Examples:
  sluice import litellm config.yaml
  sluice import bifrost config.json --out gateway --output json
  sluice validate --no-secrets --strict sluice/gateway.config.yaml

Exit status: 0 everything was carried over, 1 something needs a person or FILE cannot be imported, 64 usage error.`;

type Renderer = (report: Report, io: CliIo) => string;

const RENDERERS: Readonly<Record<string, Renderer>> = {
  text: renderText,
  json: renderJson,
  sarif: renderSarif,
};

export const command: Command = {
  name: "import",
  summary: "make a configuration from LiteLLM's, Portkey's or Bifrost's",
  help: HELP,
  async run(args, io) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        out: { type: "string", default: "sluice" },
        output: { type: "string", default: "text" },
      },
    });
    const [name, file, ...rest] = positionals;
    const product = productNamed(name);
    if (product === undefined)
      return usageError(io, "import", expectedSubcommand(name, Object.keys(PRODUCTS)));
    if (file === undefined || rest.length > 0) return usageError(io, "import", "expected exactly one FILE");
    const render = Object.hasOwn(RENDERERS, values.output) ? RENDERERS[values.output] : undefined;
    if (render === undefined) {
      return usageError(io, "import", expectedValue("--output", values.output, Object.keys(RENDERERS)));
    }
    const imported = importFile(io, product, file);
    if (typeof imported === "string") return failed(io, imported);
    const folder = resolve(io.cwd, values.out);
    const written = write(io, folder, imported);
    if (typeof written === "string") return failed(io, written);
    const { findings, aliases, projectUuid } = imported;
    const { label } = PRODUCTS[product];
    io.stdout(render({ label, findings, files: written, aliases, projectUuid }, io));
    return findings.some(needsPerson) ? EXIT.failed : EXIT.ok;
  },
};

function productNamed(name: string | undefined): Product | undefined {
  const products: readonly Product[] = ["litellm", "portkey", "bifrost"];
  return products.find((product) => product === name);
}

/** A text says why it failed. */
function importFile(io: CliIo, product: Product, file: string): Imported | string {
  const path = resolve(io.cwd, file);
  const shown = shownPath(io, path);
  let text: string;
  try {
    const { size } = statSync(path);
    if (size > SOURCE_BYTES_MAX) return `${shown} is larger than ${SOURCE_BYTES_MAX / 1024 / 1024} MiB`;
    text = readFileSync(path, "utf8");
  } catch {
    return `${shown} cannot be read`;
  }
  try {
    return convert(product, shown, text);
  } catch (error) {
    if (error instanceof SourceError) return error.message;
    throw error;
  }
}

/** The paths of what was written. A text says why nothing was. */
function write(io: CliIo, folder: string, { files }: Imported): readonly string[] | string {
  const paths = Object.keys(files).map((name) => join(folder, name));
  const existing = paths.filter((path) => existsSync(path));
  if (existing.length > 0) {
    const shown = existing.map((path) => shownPath(io, path)).join(", ");
    const verb = existing.length === 1 ? "exists" : "exist";
    return `${shown} ${verb} already; nothing was written. Name another folder with --out`;
  }
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { flag: "wx" });
  return paths.map((path) => shownPath(io, path));
}

function shownPath({ cwd }: CliIo, path: string): string {
  const near = relative(cwd, path);
  return near === "" || near.startsWith("..") || isAbsolute(near) ? path : near;
}

function failed(io: CliIo, message: string): number {
  io.stderr(`sluice import: ${message}\n`);
  return EXIT.failed;
}
