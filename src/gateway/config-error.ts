/** What makes a configuration unusable, in the shape of every other fault of one. */
import type { CompileError } from "../compile/context.ts";
import type { Diagnostic } from "../config/report/diagnostic.ts";

/** The configuration cannot be used; `errors` say why, with their places. */
export class ConfigError extends Error {
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];

  constructor(errors: readonly Diagnostic[], warnings: readonly Diagnostic[]) {
    super(`the configuration has ${errors.length === 1 ? "an error" : `${errors.length} errors`}`);
    this.errors = errors;
    this.warnings = warnings;
  }
}

/** Loading itself failed (its thread died, or it took too long): nothing of the configuration is to blame. */
export function loadDiagnostic(file: string): Diagnostic {
  const message = "the configuration could not be loaded; the log says why";
  return { code: "E0901", severity: "error", message, file, line: 1, column: 1, path: "" };
}

/** No load saw one revision of the files. */
export function unsteadyDiagnostic(file: string, attempts: number): Diagnostic {
  const message = `the files changed while they were read, ${attempts} times in a row`;
  const help = "change them at once: with git, by renaming a folder or link into place, or by a ConfigMap";
  return { code: "E0902", severity: "error", message, file, line: 1, column: 1, path: "", help };
}

/** The demo token is public: no reload makes it work beyond loopback, as no start does. */
export function demoDiagnostic(file: string, host: string): Diagnostic {
  const message = `the configuration has the demo token, which is public, and the gateway listens on ${host}`;
  const help = "remove the token (make one with: sluice token new), or listen on 127.0.0.1";
  return { code: "E0903", severity: "error", message, file, line: 1, column: 1, path: "", help };
}

/** A plugin's setup failed at load. */
export function setupDiagnostic({ at, message }: CompileError): Diagnostic {
  return {
    code: "E0900",
    severity: "error",
    message: `the plugin could not be set up: ${message}`,
    file: at.file,
    line: at.line,
    column: at.column,
    path: "",
  };
}
