/**
 * Loads a configuration: files -> parts -> one tree -> references -> schema -> defaults -> checks -> `ResolvedConfig`.
 * Reports everything that is wrong at once, and returns no configuration when anything is.
 */
import { dirname, resolve } from "node:path";
import type { ValueOf } from "../plugin/schema-type.ts";
import { AllowedReferences } from "./allowed-names.ts";
import { checkConfig } from "./check/config.ts";
import { validateTree } from "./check/validate.ts";
import type { ResolvedConfig } from "./model.ts";
import { type PluginLoader, type PluginLookup, pluginModules } from "./plugins.ts";
import { DISK, type Files, ReadShortage } from "./read/files.ts";
import { type PartReader, readMap, readParts } from "./read/merge.ts";
import { layOver } from "./read/overlay.ts";
import { resolveReferences } from "./read/references.ts";
import { ConfigRoot } from "./read/root.ts";
import { attachSchemaFiles } from "./read/schema-files.ts";
import { openSources } from "./read/source.ts";
import { type PlainMap, Tree } from "./read/tree.ts";
import type { Code } from "./report/codes.ts";
import {
  createReporter,
  type Diagnostic,
  inOrder,
  type Omitted,
  type Reporter,
} from "./report/diagnostic.ts";
import { resolveConfig } from "./resolve.ts";
import type { FilledConfig } from "./schema/config.ts";
import { type ConfigSchema, schemaWith } from "./schema/config.ts";
import { fillDefaults } from "./schema/defaults.ts";
import { type LoadedShown, shownConfig } from "./shown.ts";

export type { PluginKind, PluginLoader, PluginLookup } from "./plugins.ts";

export interface LoadRequest {
  /** See ReferenceReader. */
  readonly secretsAreLinked?: boolean;
  /** A file, or a directory whose YAML files are parts. Relative to the working directory. */
  readonly path: string;
  /**
   * The folder that everything the configuration names must stay inside, symbolic links resolved. Default: the folder
   * of `path`, or `path` itself when it is a folder.
   */
  readonly root?: string | undefined;
  /** Partial configurations laid over it, in order. */
  readonly overlays: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * "skip": a reference that cannot be resolved counts as given. "keep": so does every reference to a variable or to a
   * file that may hold a secret; no variable and no such file is read. "dummy": variables are those of `env`, any other and
   * every such file counts as given.
   */
  readonly secrets: "resolve" | "skip" | "keep" | "dummy";
  /** Where the files are. Default: on disk. */
  readonly files?: Files | undefined;
  /** "skip": no code of plugins is executed; what they register counts as known. Default: "load". */
  readonly plugins?: "load" | "skip" | undefined;
  /** Whether the outcome has the configuration as it may be shown. Default: false. */
  readonly shows?: boolean;
  /** Whether a hard-coded secret is an error. */
  readonly strict: boolean;
}

/** What a reload may come from. Paths are absolute. */
export interface WatchList {
  /** All files read or looked for. */
  readonly files: readonly string[];
  /** Those whose entries matter. */
  readonly directories: readonly string[];
  /** What all of them were when this load read them; see `fingerprintOf`. */
  readonly fingerprint: string;
  /** Of the files, those read for a field that holds a secret. */
  readonly secretFiles: readonly string[];
  /** The directories with the names that they had. */
  readonly directoryNames: readonly (readonly [string, readonly string[]])[];
  /** Folders where events of all of these can come from. For watching. */
  readonly eventFolders?: readonly string[];
}

export interface LoadOutcome {
  /** undefined when there are errors. */
  readonly config: ResolvedConfig | undefined;
  /** In the order of their places. */
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** How many more there were. */
  readonly omitted: Omitted;
  readonly watch: WatchList;
  /** `state.directory` as far as it could be read, even when there are errors. */
  readonly stateDirectory: string | undefined;
  /** `admin` likewise. */
  readonly admin: FilledConfig["admin"] | undefined;
  /** On request, when there are no errors. Holds all files' texts, and cannot be sent to another thread. */
  readonly shown?: LoadedShown;
  /**
   * Hex SHA-256 over the texts that make up the configuration, in the order read: references unresolved, and no file that
   * may hold a secret. Equal files have equal hashes wherever they are.
   */
  readonly hash: string;
  /** The same over all text read, secrets included: equal as long as a load would bring the same. */
  readonly digest: string;
}

/** `alive` is called between the steps, each of which may take seconds for a large configuration. */
export async function loadConfig(
  request: LoadRequest,
  loadPlugins: PluginLoader,
  alive: () => void = () => {},
): Promise<LoadOutcome> {
  const reader = readerFor(request);
  const { reporter, sources } = reader;
  let config: ResolvedConfig | undefined;
  let stateDirectory: string | undefined;
  let admin: LoadOutcome["admin"];
  let shown: LoadedShown | undefined;
  try {
    ({ config, stateDirectory, admin, shown } = await resolveAll(request, reader, loadPlugins, alive));
  } catch (thrown) {
    if (!(thrown instanceof ReadShortage)) throw thrown;
    reporter.reportFile("E0901", thrown.path, thrown.message, {
      help: "nothing in the file is to blame: try again",
    });
  }
  return {
    config,
    errors: inOrder(reporter.errors),
    warnings: inOrder(reporter.warnings),
    omitted: reporter.omitted,
    watch: {
      files: sources.files(),
      directories: sources.directories(),
      fingerprint: sources.fingerprint(),
      secretFiles: sources.secretFiles(),
      directoryNames: sources.directoryNames(),
    },
    ...{ stateDirectory, admin },
    ...(shown === undefined ? {} : { shown }),
    hash: sources.hash(),
    digest: sources.digest(),
  };
}

interface Resolved {
  readonly config: ResolvedConfig | undefined;
  readonly stateDirectory: string | undefined;
  readonly admin: LoadOutcome["admin"];
  readonly shown: LoadedShown | undefined;
}

/** What there is to serve, as far as the files allow; what is wrong is reported to the reader's reporter. */
async function resolveAll(
  request: LoadRequest,
  reader: PartReader,
  loadPlugins: PluginLoader,
  alive: () => void,
): Promise<Resolved> {
  const { tree, reporter } = reader;
  const root = readAll(request, reader, alive);
  let config: ResolvedConfig | undefined;
  let stateDirectory: string | undefined;
  let admin: LoadOutcome["admin"];
  let shown: LoadedShown | undefined;
  if (root !== undefined && hasKnownVersion(root, reader)) {
    const { isWhole } = reader.state;
    const builtIn = await loadPlugins([]);
    const schema = schemaWith(builtIn.stageKeys);
    validateTree(root, schema, undefined, { tree, reporter, isWhole });
    alive();
    const filled = fillDefaults(root, schema, tree);
    stateDirectory = filled.state.directory;
    admin = filled.admin;
    const modules = pluginModules(filled, reader);
    const skipsPlugins = request.plugins === "skip" && modules.length > 0;
    alive();
    const plugins = skipsPlugins || modules.length === 0 ? builtIn : await loadPlugins(modules);
    alive();
    if (skipsPlugins) reportSkipped(filled, reader);
    // What a part that cannot be read would bring is not missing: checks wait until it can.
    if (isWhole) check(filled, plugins, reader, !skipsPlugins && modules.length === filled.plugins.length);
    alive();
    // Without errors nothing that is required is missing, which is all that tells the two types apart.
    const valid = filled as ValueOf<ConfigSchema>;
    if (reporter.errors.length === 0) {
      config = resolveConfig({ config: valid, tree, plugins, modules });
      if (request.shows === true) shown = shownConfig(filled, tree);
    }
  }
  return { config, stateDirectory, admin, shown };
}

/** The plugins that a configuration names, whatever else is wrong with it. */
export async function lookUpPlugins(request: LoadRequest, loadPlugins: PluginLoader): Promise<PluginLookup> {
  const reader = readerFor(request);
  const root = readAll(request, reader);
  const builtIn = await loadPlugins([]);
  if (root === undefined) return builtIn;
  const { tree, reporter } = reader;
  const schema = schemaWith(builtIn.stageKeys);
  validateTree(root, schema, undefined, { tree, reporter, isWhole: false });
  return loadPlugins(pluginModules(fillDefaults(root, schema, tree), reader));
}

function readerFor(request: LoadRequest): PartReader {
  const tree = new Tree();
  const path = resolve(request.path);
  const { files = DISK } = request;
  const isFolder = new ConfigRoot(dirname(path), files).isFolder(path);
  const folder = request.root ?? (isFolder ? path : dirname(path));
  return {
    tree,
    reporter: createReporter(tree, new Set<Code>(request.strict ? ["W0101"] : [])),
    allowed: new AllowedReferences(),
    sources: openSources(new ConfigRoot(resolve(folder), files)),
    env: request.env,
    secrets: request.secrets,
    secretsAreLinked: request.secretsAreLinked ?? false,
    parsed: new Map(),
    state: { isWhole: true },
  };
}

function readAll(
  request: LoadRequest,
  reader: PartReader,
  alive: () => void = () => {},
): PlainMap | undefined {
  let root = readParts(resolve(request.path), reader);
  alive();
  for (const name of request.overlays) {
    const overlay = readMap(resolve(name), reader);
    if (root !== undefined && overlay !== undefined) root = layOver(root, overlay, reader);
  }
  if (root !== undefined) {
    resolveReferences(root, undefined, reader);
    alive();
    attachSchemaFiles(root, reader);
  }
  return root;
}

/** Nothing else can be said of a file in another layout. */
function hasKnownVersion(root: PlainMap, { reporter, tree }: PartReader): boolean {
  const { version } = root;
  if (version === undefined || version === 1) return true;
  const spot = { container: root, key: "version", parent: undefined };
  const written = tree.sourceText(spot) || "nothing";
  reporter.report("E0010", spot, `version ${written} is not supported: this program reads version 1`, {
    help: "write `version: 1`",
  });
  return false;
}

/** The output says what was not checked. */
function reportSkipped(config: FilledConfig, { reporter }: PartReader): void {
  const { plugins } = config;
  const parent = { container: config, key: "plugins", parent: undefined };
  for (const [key, name] of plugins.entries()) {
    if (name === null) continue;
    const spot = { container: plugins, key, parent };
    reporter.report("W0116", spot, `plugin \`${name}\` is not loaded: what it registers is not checked`);
  }
}

function check(
  config: FilledConfig,
  plugins: PluginLookup,
  { tree, reporter, sources }: PartReader,
  areLoaded: boolean,
): void {
  const pluginsAreWhole = areLoaded && plugins.failures.length === 0;
  const report: Reporter["report"] = (code, spot, message, details) => {
    if (tree.reference(spot.container, spot.key)?.isPlaceholder === true) return;
    reporter.report(code, spot, message, details);
  };
  checkConfig({ config, plugins, pluginsAreWhole, tree, reporter, report, sources, isWhole: true });
}
