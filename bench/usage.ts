/** What a process has used, as the kernel counts it: CPU time of all its threads, and resident memory. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** The unit of /proc/PID/stat, the same on every Linux a Node runs on. */
const TICKS_PER_SECOND = 100;

/** User and system time since the process began, in microseconds; steps of 10 ms. */
export function cpuUs(pid: number): number {
  return process.platform === "linux" ? statCpuUs(`/proc/${pid}/stat`) : psCpuUs(pid);
}

/** Of its first thread alone, which runs the JavaScript that answers calls; outside Linux NaN. */
export function mainThreadUs(pid: number): number {
  return process.platform === "linux" ? statCpuUs(`/proc/${pid}/task/${pid}/stat`) : Number.NaN;
}

function statCpuUs(file: string): number {
  const stat = readFileSync(file, "utf8");
  // Fields are counted from behind the name, which may hold spaces: utime is the 12th from there, stime the 13th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
}

/** Resident memory in megabytes of 2^20 bytes, as `top` shows them. */
export function rssMb(pid: number): number {
  const kibibytes =
    process.platform === "linux"
      ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
      : ps(pid, "rss=");
  return Number(kibibytes) / 1024;
}

/** Busy time of all cores of the machine since it started, by all processes, in microseconds. */
export function machineCpuUs(): number {
  return cpus().reduce((sum, { times }) => sum + (times.user + times.nice + times.sys + times.irq) * 1000, 0);
}

function ps(pid: number, field: string): string {
  return spawnSync("ps", ["-o", field, "-p", String(pid)], { encoding: "utf8" }).stdout.trim();
}

/** `ps` prints [[dd-]hh:]mm:ss.cc. */
function psCpuUs(pid: number): number {
  return ps(pid, "time=")
    .split(/[-:]/)
    .reduce((sum, part) => sum * 60 + Number(part) * 1e6, 0);
}
