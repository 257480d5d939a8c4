/** A template of `sluice init plugin`: the files of one kind of plugin, and the YAML that uses it. */

export interface Template {
  /** One line for the help. */
  readonly summary: string;
  /** The plugin, as TypeScript. */
  plugin(names: Names): string;
  /** Its test, which passes unchanged. */
  test(names: Names): string;
  /** To paste into the configuration, after `plugins:`. */
  yaml(names: Names): string;
}

export interface Names {
  /** As given: `acme-tone`. */
  readonly name: string;
  /** For code: `acmeTone`. */
  readonly variable: string;
  /** For error codes and metrics: `acme_tone`. */
  readonly code: string;
}

export function namesOf(name: string): Names {
  return {
    name,
    variable: name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    code: name.replaceAll("-", "_"),
  };
}
