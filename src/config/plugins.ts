/** Plugins as configuration sees them: names with schemas. Loading the modules is the caller's; see `PluginLoader`. */
import { dirname, resolve } from "node:path";
import type { JsonSchema } from "../plugin/chat.ts";
import type { GuardrailPlacement, GuardrailStrength, OptionError } from "../plugin/contract.ts";
import type { SettingConstraint } from "../provider-kit/index.ts";
import type { AllowedReferences } from "./allowed-names.ts";
import type { PluginModule } from "./model.ts";
import { pluginFiles } from "./read/plugin-files.ts";
import { OUTSIDE_HELP } from "./read/root.ts";
import { Source, type Sources } from "./read/source.ts";
import type { Tree } from "./read/tree.ts";
import type { Reporter } from "./report/diagnostic.ts";
import type { FilledConfig, StageKeys } from "./schema/config.ts";

export type PluginKind = "stage" | "guardrail" | "provider" | "store";

/** What the check of a configuration needs to know of one plugin. */
export interface KnownPlugin {
  readonly schema: JsonSchema;
  /** Providers only; default true. */
  readonly needsApiKey?: boolean;
  /** Providers only; false when a credential or `providers.<key>` must give `base_url`. Default true. */
  readonly hasBaseUrl?: boolean;
  /** Providers only: where requests go when the configuration does not say. */
  readonly defaultBaseUrl?: string | undefined;
  /** Providers only: settings that models refuse, for these options. May throw where the options are faulty. */
  readonly constraints?: (options: object) => readonly SettingConstraint[];
  /** Guardrails only: whether a streamed answer is held to its end, for these options. May throw, as `constraints`. */
  readonly buffersStream?: (options: object) => boolean;
  /** Guardrails only: what the schema cannot say of these options. May throw, as `constraints`. */
  readonly validateOptions?: (options: object, place: GuardrailPlacement) => readonly OptionError[];
  /** Guardrails only: which way its options change what it catches. */
  readonly strength?: GuardrailStrength;
}

/** All plugins, built in or registered by the configuration's modules. */
export interface PluginLookup {
  find(kind: PluginKind, name: string): KnownPlugin | undefined;
  names(kind: PluginKind): readonly string[];
  /** Of the built-in stages: the keys of endpoints that they declare. The same list in every lookup. */
  readonly stageKeys: readonly StageKeys[];
  /** Modules that could not be loaded. */
  readonly failures: readonly {
    readonly module: PluginModule;
    readonly message: string;
    /** Where in its files, when its code does not parse. */
    readonly at?: { readonly file: string; readonly line: number; readonly column: number };
  }[];
}

export type PluginLoader = (modules: readonly PluginModule[]) => Promise<PluginLookup>;

/** A package, or a file that it exports. Segments of dots would lead out of its folder. */
const PACKAGE_NAME =
  /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*$/i;

/** The modules that `plugins` names. One whose file cannot be read is reported and left out. */
export function pluginModules(
  config: Pick<FilledConfig, "plugins">,
  {
    tree,
    sources,
    reporter,
    allowed,
  }: {
    readonly tree: Tree;
    readonly sources: Sources;
    readonly reporter: Reporter;
    readonly allowed: AllowedReferences;
  },
): readonly PluginModule[] {
  const { plugins } = config;
  const modules: PluginModule[] = [];
  const parent = { container: config, key: "plugins", parent: undefined };
  for (const [key, name] of plugins.entries()) {
    const spot = { container: plugins, key, parent };
    const range = tree.valueRange(spot);
    if (name === null || range === undefined) continue; // Reported as no name at all.
    if (allowed.isRestricted(range.source)) {
      tree.markFault(plugins, key);
      const message = `a file whose include has \`secrets\` cannot name plugins: their code can read every secret`;
      reporter.report("E0205", spot, message, { help: "name the plugin in a file without that restriction" });
      continue;
    }
    const from = dirname(range.source.path);
    const at = { file: range.source.path, ...range.source.position(range.start) };
    if (!/^(?:\.{0,2}\/|[A-Za-z]:\\)/.test(name)) {
      if (!PACKAGE_NAME.test(name)) {
        tree.markFault(plugins, key);
        const help = "begin a path with `./`";
        reporter.report("E0316", spot, `plugin \`${name}\` is not a path or a package name`, { help });
        continue;
      }
      modules.push({ specifier: name, from, version: "", files: [], at });
      continue;
    }
    const specifier = resolve(from, name);
    const source = sources.read(specifier);
    if (source instanceof Source) {
      const outside: string[] = [];
      const { files, version } = pluginFiles(specifier, {
        read(path) {
          const file = sources.read(path);
          if (file instanceof Source) return file.text;
          if (file.isOutside) outside.push(path);
          return undefined;
        },
        isFile: (path) => sources.root.isFile(path),
      });
      modules.push({ specifier, from, version, files, at });
      for (const path of outside) {
        const message = `plugin \`${name}\` imports ${path}, which is outside the configuration's root`;
        reporter.report("E0011", spot, message, { help: OUTSIDE_HELP });
      }
    } else {
      tree.markFault(plugins, key);
      const code = source.isOutside ? "E0011" : "E0316";
      const help = source.isOutside ? OUTSIDE_HELP : "paths are relative to this file";
      reporter.report(code, spot, `plugin \`${name}\` ${source.unreadable}`, { help });
    }
  }
  return modules;
}
