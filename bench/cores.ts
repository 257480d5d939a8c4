/** Which processor core is whose: the target gets one to itself, everything else of the bench shares the other. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

export interface Cores {
  /** Runs the process that is measured, and nothing else of ours. */
  readonly target: number;
  /** Runs the load, the mock upstream and this program. */
  readonly driver: number;
}

/** The two cores to use; none where processes cannot be pinned; a reason where measuring makes no sense. */
export function chooseCores(): { readonly cores: Cores | undefined } | { readonly refusal: string } {
  if (availableParallelism() < 2) {
    return {
      refusal: "two processor cores are needed: one for the target, one for the load and the upstream",
    };
  }
  if (process.platform !== "linux") return { cores: undefined };
  if (spawnSync("taskset", ["--version"]).error !== undefined) {
    return { refusal: "taskset is needed to pin processes to cores (package util-linux)" };
  }
  const [target = 0, driver = 1] = allowedCores(readFileSync("/proc/self/status", "utf8"));
  return { cores: { target, driver } };
}

/** Moves this process, with all its threads, to a core. Children begin there too. */
export function pinSelf(core: number): void {
  spawnSync("taskset", ["--all-tasks", "--cpu-list", "--pid", String(core), String(process.pid)]);
}

/** The command that runs `command` on these cores, in the same process; on any where none is named. */
export function pinned(cores: readonly number[], command: readonly string[]): readonly string[] {
  return cores.length === 0 ? command : ["taskset", "--cpu-list", cores.join(), ...command];
}

/** Reads `Cpus_allowed_list: 0-1,4`: a container's cores need not be 0 and 1. */
function allowedCores(status: string): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? "0-1";
  return list.split(",").flatMap((range) => {
    const [first = 0, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, n) => first + n);
  });
}
