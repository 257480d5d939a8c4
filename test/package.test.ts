/**
 * The package that `npm pack` makes, used from a folder outside: its contents, and for every kind of plugin that what
 * `sluice init plugin` writes there type-checks against the packed declarations, passes its tests and can be configured.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { pluginFolders } from "../scripts/plugin-pages.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
/** What may be in the package: of the sources only declarations. */
const PACKED =
  /^(?:dist\/(?:\.built|[a-z-]+(?:-[A-Z0-9]{8})?\.js)$|dist\/types\/.*\.d\.ts$|deploy\/|docs\/.*\.(?:md|svg)$|examples\/|plugins\/[a-z-]+\/README\.md$|(?:plugins|providers)\/README\.md$|[^/]+$)/;
/** Of the guides' links: what is read in the repository. */
const REPOSITORY_ONLY = /^test\//;
/** What is not copied to the place where the package is built. */
const NOT_PACKED = new Set([".git", "bench", "dist", "node_modules", "test"]);
const KINDS = ["guardrail", "stage", "provider", "store"];
/** Of an author who checks everything, the declarations of the package included. */
const STRICT = {
  ...{ target: "es2023", lib: ["es2023"], module: "nodenext", types: ["node"], noEmit: true },
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
  ...{ erasableSyntaxOnly: true, verbatimModuleSyntax: true, allowImportingTsExtensions: true },
};

const CONFIGURATION = `version: 1
plugins: [./plugins/acme-guardrail-2.ts, ./plugins/acme-stage-2.ts, ./plugins/acme-provider-2.ts, ./plugins/acme-store-2.ts]
state: { driver: acme-store-2 }
projects:
  - id: 1
    name: Tea
    type: ai_gateway
    uuid: 8f14e45f-ceea-467f-9575-2b8a2d3f1c55
    stages: [{ use: acme-stage-2 }]
    credentials: [{ name: main, provider: acme-provider-2, api_key: "\${env:TEA_KEY}", options: { region: eu } }]
    endpoints:
      - { name: Ask, provider: acme-provider-2, model: large-1, credential: main, guardrails: [{ use: acme-guardrail-2 }] }
`;

/** Compiles only where the packed types know the options. */
const MISTAKE = `import { definePlugin } from "sluice/plugin";

export default definePlugin({
  name: "acme-mistake",
  stage: "validate",
  description: "Uses an option wrongly.",
  schema: { type: "object", properties: { slow_ms: { type: "integer", default: 5 } } },
  examples: [],
  setup({ slow_ms }) {
    const rightly: number = slow_ms;
    // @ts-expect-error It is a number.
    const wrongly: string = slow_ms;
    return { finish: () => void [rightly, wrongly] };
  },
});
`;

interface Outside {
  /** A folder with the package installed and a plugin of each kind in `plugins`. */
  readonly folder: string;
  /** Paths in the package. */
  readonly paths: readonly string[];
}

let outside: Outside | undefined;
const temporary = mkdtempSync(join(tmpdir(), "sluice-package-"));
after(() => rmSync(temporary, { recursive: true, force: true }));

/**
 * Packs a copy of the sources, as other tests may be running what a build replaces, installs the result, and writes a
 * plugin of each kind there.
 */
function installed(): Outside {
  if (outside !== undefined) return outside;
  const copy = join(temporary, "copy");
  for (const name of readdirSync(root)) {
    if (!NOT_PACKED.has(name)) cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  run(copy, "npm", "pack", "--pack-destination", temporary);
  const [tarball = ""] = readdirSync(temporary).filter((name) => name.endsWith(".tgz"));
  const folder = join(temporary, "outside");
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "sluice"), { recursive: true });
  run(folder, "tar", "-xzf", join(temporary, tarball), "--strip-components=1", "-C", join(modules, "sluice"));
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const name of [...Object.keys(dependencies), "@types"]) {
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: STRICT, include: ["plugins"] }),
  );
  const paths = readdirSync(join(modules, "sluice"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(modules, "sluice/").length));
  for (const kind of KINDS) {
    const written = sluice(folder, "init", "plugin", `acme-${kind}-2`, "--kind", kind);
    assert.match(written, new RegExp(`wrote plugins/acme-${kind}-2\\.test\\.ts`));
  }
  outside = { folder, paths };
  return outside;
}

/** Standard output; fails the test with all output if the command fails. */
function run(cwd: string, program: string, ...args: readonly string[]): string {
  // Of the test runner around it, a test in a child process must know nothing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    env,
    encoding: "utf8",
    timeout: 240_000,
  });
  assert.equal(status, 0, `${program} ${args.join(" ")}\n${stdout}\n${stderr}`);
  return stdout;
}

const sluice = (cwd: string, ...args: readonly string[]): string =>
  run(cwd, process.execPath, "node_modules/sluice/dist/main.js", ...args);

test("the package contains the guides of plugin and provider authors, and what they link to", () => {
  const { paths } = installed();
  const docs = readdirSync(join(root, "docs"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)));
  const pages = pluginFolders().map((name) => `plugins/${name}/README.md`);
  const guides = ["plugins/README.md", "providers/README.md", ...pages, ...docs];
  assert.deepEqual(
    guides.filter((path) => !paths.includes(path)),
    [],
  );
  for (const guide of guides) {
    const text = readFileSync(join(root, guide), "utf8");
    for (const [, link = ""] of text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
      const target = join(dirname(guide), link);
      if (REPOSITORY_ONLY.test(target)) continue;
      assert.ok(
        paths.some((path) => path === target || path.startsWith(target)),
        `${guide} links to ${link}, which is not in the package`,
      );
    }
  }
});

test("the package contains no sources and no tests", () => {
  const { paths } = installed();
  assert.deepEqual(
    paths.filter((path) => !PACKED.test(path)),
    [],
  );
});

test("plugins of every kind type-check against the package, and their tests pass", () => {
  const { folder } = installed();
  const guide = readFileSync(join(root, "plugins/README.md"), "utf8");
  const blocks = [...guide.matchAll(/```ts\n\/\/ (plugins\/\S+)\n(.*?)```/gs)];
  assert.equal(blocks.length, 2);
  for (const [, path = "", text = ""] of blocks) writeFileSync(join(folder, path), text);
  writeFileSync(join(folder, "plugins/acme-mistake.ts"), MISTAKE);
  const tests = readdirSync(join(folder, "plugins")).filter((name) => name.endsWith(".test.ts"));
  assert.equal(tests.length, KINDS.length + 1);
  const require = createRequire(import.meta.url);
  run(
    folder,
    process.execPath,
    join(dirname(require.resolve("typescript/package.json")), "bin/tsc"),
    "-p",
    ".",
  );
  const files = tests.map((name) => `plugins/${name}`);
  const output = run(folder, process.execPath, "--import", "tsx", "--test", ...files);
  assert.ok(Number(/^. pass (\d+)$/m.exec(output)?.[1]) >= 19, output);
});

test("the packed gateway loads plugins of every kind from outside", () => {
  const { folder } = installed();
  writeFileSync(join(folder, "gateway.config.yaml"), CONFIGURATION);
  assert.match(sluice(folder, "validate", "--no-secrets"), /^ok: 5 files, 1 project, 1 endpoint/);
});
