/** What `sluice doctor` finds: one line each, with what to do about it. */
import type { ResolvedConfig } from "../../config/model.ts";
import type { CliIo } from "../command.ts";

/** In the order in which they are printed. */
export const CHECKS = {
  node: "Node",
  configuration: "Configuration",
  secrets: "Secrets",
  ports: "Ports",
  state: "State",
  watching: "File watching",
  clock: "Clock",
  network: "Network",
} as const;

export type Check = keyof typeof CHECKS;

export interface Finding {
  readonly check: Check;
  /** `error`: it would keep the gateway from serving. `skipped`: it could not be looked at. */
  readonly level: "ok" | "warning" | "error" | "skipped";
  /** What was looked at; empty where the check has one subject only. */
  readonly subject: string;
  /** No value of a secret. */
  readonly message: string;
  /** What to do about it. */
  readonly advice?: string;
}

/** What every check is given. */
export interface Subject {
  readonly io: CliIo;
  readonly config: ResolvedConfig;
}

export function finding(check: Check, level: Finding["level"], subject: string, message: string): Finding {
  return { check, level, subject, message };
}

export function advised(one: Finding, advice: string): Finding {
  return { ...one, advice };
}

/** `EACCES` of a system error; "" of anything else. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
