/** `sluice test --init`: writes a first test file, never over an existing one. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { renderText } from "../../config/report/render.ts";
import { nameOf } from "../../config-tests/coverage.ts";
import { folderOfConfig, isTestFile, nearestConfig } from "../../config-tests/discover.ts";
import { shortPath } from "../../config-tests/reports/paths.ts";
import { secretsOf } from "../../config-tests/secret-values.ts";
import { starterCases } from "../../config-tests/starter/starter.ts";
import { starterText } from "../../config-tests/starter/text.ts";
import { middleOfMonth } from "../../config-tests/suite.ts";
import { openWorld, requestFor } from "../../config-tests/world.ts";
import { type CliIo, configPath, EXIT, hasColors, usageError } from "../command.ts";
import { columnsOf, printable, styleOf, table } from "../terminal.ts";
import type { TestOptions } from "./options.ts";

export async function writeStarter(options: TestOptions, io: CliIo): Promise<number> {
  const config = resolve(io.cwd, configPath(undefined, io.env));
  const [named] = options.paths;
  const file =
    named === undefined ? join(folderOfConfig(config), "gateway.test.yaml") : resolve(io.cwd, named);
  if (!isTestFile(file))
    return usageError(
      io,
      "test",
      `the name of a test file ends in .test.yaml or .test.yml, not '${named ?? ""}'`,
    );
  const shown = shortPath(io.cwd, file);
  if (existsSync(file)) {
    io.stderr(
      `sluice test: ${shown} exists already and is not overwritten; name another file: sluice test --init FILE\n`,
    );
    return EXIT.failed;
  }
  const world = await openWorld(
    requestFor({ path: config, overlays: options.overlays, root: options.root, env: {} }),
  );
  if (!("offline" in world)) {
    io.stdout(renderText([...world.errors, ...world.warnings], hasColors(io, "stdout"), io.cwd));
    return EXIT.failed;
  }
  try {
    const { cases, left } = await starterCases(world, middleOfMonth(Date.now()));
    const head = {
      config: configName(file, config),
      overlays: options.overlays.map((path) => nameFrom(file, path)),
    };
    const scrub = secretsOf([world.config]);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, scrub(starterText(cases, head)), { flag: "wx" });
    const uncovered = world.offline.protections
      .filter(({ id }) => left.has(id))
      .map((one) => ({ ...one, name: nameOf(one) }));
    io.stdout(report({ shown, cases: cases.length, uncovered }, io));
    return EXIT.ok;
  } finally {
    await world.offline.close();
  }
}

interface Written {
  readonly shown: string;
  readonly cases: number;
  readonly uncovered: readonly {
    readonly name: string;
    readonly at: { readonly file: string; readonly line: number };
  }[];
}

/** Protections listed; the rest is counted. */
const LISTED_MAX = 20;

function report({ shown, cases, uncovered }: Written, io: CliIo): string {
  const style = styleOf(io, "stdout");
  const lines = [
    `${style.green("written")} ${shown}: ${cases} ${cases === 1 ? "case" : "cases"}, all of which pass`,
  ];
  if (uncovered.length > 0) {
    const rows = uncovered
      .slice(0, LISTED_MAX)
      .map(({ name, at }) => [style.blue(`${shortPath(io.cwd, at.file)}:${at.line}`), printable(name)]);
    const more = uncovered.length - LISTED_MAX;
    lines.push("", "No case could be derived for:", table(rows, { indent: 2, max: columnsOf(io) }));
    if (more > 0) lines.push(`  and ${more} more: sluice test --coverage`);
  }
  return `${lines.join("\n")}\n`;
}

/** As the file must name its configuration; undefined: it is the nearest above. */
function configName(file: string, config: string): string | undefined {
  return nearestConfig(file) === config ? undefined : nameFrom(file, config);
}

function nameFrom(file: string, path: string): string {
  const way = relative(dirname(file), path).split(sep).join("/");
  if (way === "") return ".";
  return way.startsWith(".") ? way : `./${way}`;
}
